package guests_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"fairlead.dev/providers/infrastructure/maas/maastest"
	"fairlead.dev/providers/infrastructure/maas/region"
	"fairlead.dev/test/lab/doubles/maas/guests"
	"fairlead.dev/test/lab/kubernetes/lab"
	"fairlead.dev/test/run/waits"
)

func TestMain(m *testing.M) {
	lab.Hook()
	os.Exit(m.Run())
}

const userData = `## template: jinja
#cloud-config
write_files:
- path: /etc/told
  content: "{{ v1.instance_id }} {{ v1.local_hostname }}"
`

// TestLife: a host that is deployed boots with its user data; while it is off it keeps its disk, and a release ends both.
func TestLife(t *testing.T) {
	if os.Getenv("FAIRLEAD_TEST_LAB") == "" {
		t.Skip("it needs root and images of the lab: `make test-lab` runs it")
	}
	ctx := t.Context()
	l, err := lab.Up(ctx, lab.Options{Name: "maas", Machines: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Down(); err != nil {
			t.Error(err)
		}
	})
	r := maastest.NewRegion()
	g, err := guests.New(r, l.Machines(), nil, func(s string) { t.Log(s) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	credential, err := region.ReadCredential("Secret", maastest.URL, r.AddUser("fleet", false).Key(), "")
	if err != nil {
		t.Fatal(err)
	}
	c, err := region.New(credential, region.Options{Base: r})
	if err != nil {
		t.Fatal(err)
	}
	id, m := r.Machines()[0].SystemID, l.Machines()[0]
	do := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	deploy := func() {
		t.Helper()
		do("deploy", c.Deploy(ctx, id, "ubuntu/jammy", []byte(userData), false))
		wait(t, "it answers", func() bool {
			out, err := m.Exec(ctx, "cloud-init", "status", "--wait")
			return err == nil && strings.Contains(out, "status: done")
		})
	}
	deploy()
	if now, _ := r.Machine(id); now.IP != m.Address {
		t.Errorf("MAAS says that it is at %s, and it is at %s", now.IP, m.Address)
	}
	if got, err := m.Exec(ctx, "cat", "/etc/told"); err != nil || got != id+" host-0" {
		t.Errorf("it was told %q, %v", got, err)
	}
	if _, err := m.Exec(ctx, "touch", "/etc/ours"); err != nil {
		t.Error(err)
	}
	r.Change(id, func(m *maastest.Machine, h *maastest.Host) { m.Power, h.On = "off", false })
	do("power on", c.PowerOn(ctx, id))
	wait(t, "it keeps its disk", func() bool {
		_, err := m.Exec(ctx, "cat", "/etc/ours")
		return err == nil
	})
	do("release", c.Release(ctx, id, region.Erasure{Erase: true}))
	wait(t, "it is off", func() bool {
		now, _ := r.Machine(id)
		return now.Status == maastest.Ready && !m.On()
	})
	deploy()
	if _, err := m.Exec(ctx, "cat", "/etc/ours"); err == nil {
		t.Error("the disk is that of a machine that was released")
	}
}

// wait polls until ok.
func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(waits.Limit); !ok(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come about", what)
		}
	}
}
