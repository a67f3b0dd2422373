package guests_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"fairlead.dev/providers/infrastructure/metal3/metal3test"
	"fairlead.dev/test/lab/kubernetes/lab"
	"fairlead.dev/test/lab/metal/guests"
)

func TestMain(m *testing.M) {
	lab.Hook()
	os.Exit(m.Run())
}

const userData = `## template: jinja
#cloud-config
write_files:
- path: /etc/told
  content: "{{ ds.meta_data.providerid }} {{ ds.meta_data.name }}"
runcmd:
- date +%N > /etc/ran
`

// disk is what a deployment leaves on a host.
func disk(t *testing.T, id, name string) metal3test.Disk {
	t.Helper()
	meta, err := json.Marshal(map[string]string{
		"uuid": id, "name": name, "local-hostname": name, "local_hostname": name, "hostname": name, "providerid": "metal3://metal/host-0/" + name,
	})
	if err != nil {
		t.Fatal(err)
	}
	return metal3test.Disk{ID: id, Image: "http://127.0.0.1/image", Drive: map[string]string{
		"meta_data.json": string(meta), "user_data": userData, "network_data.json": `{"links":[{"id":"none","type":"phy","ethernet_mac_address":"52:54:00:00:00:01"}],"networks":[]}`,
	}}
}

// TestLife: cloud-init of a machine reads the config drive of the host that it is; its disk
// stays while the host is off, and is another's after a deployment.
func TestLife(t *testing.T) {
	if os.Getenv("FAIRLEAD_TEST_LAB") == "" {
		t.Skip("it needs root and images of the lab: `make test-lab` runs it")
	}
	ctx := t.Context()
	l, err := lab.Up(ctx, lab.Options{Name: "metal", Machines: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Down(); err != nil {
			t.Error(err)
		}
	})
	g, err := guests.New(l.Machines(), []string{"host-0"}, func(s string) { t.Log(s) })
	if err != nil {
		t.Fatal(err)
	}
	m := g.Machine("host-0")
	on := func(d metal3test.Disk) {
		t.Helper()
		if err := g.PowerOn(ctx, "host-0", d); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		t.Helper()
		out, err := m.Exec(ctx, args...)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out)
	}
	on(disk(t, "d-1", "eu-1-md-0-x7k"))
	if out := run("cloud-init", "status", "--wait"); !strings.Contains(out, "status: done") {
		t.Errorf("cloud-init says %s", out)
	}
	if got := run("cat", "/etc/told"); got != "metal3://metal/host-0/eu-1-md-0-x7k eu-1-md-0-x7k" {
		t.Errorf("it was told %q", got)
	}
	if got := run("hostname"); got != "eu-1-md-0-x7k" {
		t.Errorf("it is called %q", got)
	}
	ran := run("cat", "/etc/ran")

	if err := g.PowerOff(ctx, "host-0"); err != nil || m.On() {
		t.Fatalf("switched off: %v, on %t", err, m.On())
	}
	on(disk(t, "d-1", "eu-1-md-0-x7k"))
	run("cloud-init", "status", "--wait")
	if again := run("cat", "/etc/ran"); again != ran {
		t.Error("commands of its first boot ran again")
	}

	if err := g.PowerOff(ctx, "host-0"); err != nil {
		t.Fatal(err)
	}
	on(disk(t, "d-2", "eu-1-md-0-new"))
	run("cloud-init", "status", "--wait")
	if again := run("cat", "/etc/ran"); again == ran {
		t.Error("what was deployed did not get a new disk")
	}
	if got := run("hostname"); got != "eu-1-md-0-new" {
		t.Errorf("it is called %q", got)
	}
}

func TestTooFewMachines(t *testing.T) {
	t.Parallel()
	_, err := guests.New(nil, []string{"host-0", "host-1"}, func(string) {})
	if err == nil || !strings.Contains(err.Error(), "make lab-up N=2") {
		t.Errorf("%v", err)
	}
}
