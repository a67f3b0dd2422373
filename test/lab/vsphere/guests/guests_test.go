package guests_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
	"fairlead.dev/test/lab/kubernetes/lab"
	"fairlead.dev/test/lab/vsphere/guests"
)

func TestMain(m *testing.M) {
	lab.Hook()
	os.Exit(m.Run())
}

const userData = `## template: jinja
#cloud-config
write_files:
- path: /etc/told
  content: "{{ ds.meta_data['provider-id'] }} {{ v1.local_hostname }}"
runcmd:
- date +%N > /etc/ran
`

const metadata = `instance-id: "i-1"
local-hostname: "eu-1-md-0-x7k"
provider-id: "vsphere://42"
network:
  version: 2
  ethernets:
    id0: {match: {macaddress: "00:50:56:80:00:01"}, set-name: eth0, dhcp4: true}
`

// TestLife: cloud-init of a machine reads the guestinfo of the VM that it is; its disk stays
// while the VM is off, and is another's when the VM is gone.
func TestLife(t *testing.T) {
	if os.Getenv("FAIRLEAD_TEST_LAB") == "" {
		t.Skip("it needs root and images of the lab: `make test-lab-vsphere` runs it")
	}
	ctx := t.Context()
	l, err := lab.Up(ctx, lab.Options{Name: "vsphere", Machines: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Down(); err != nil {
			t.Error(err)
		}
	})
	g, err := guests.New(l.Machines(), func(s string) { t.Log(s) })
	if err != nil {
		t.Fatal(err)
	}
	v := vspheretest.New(t, vspheretest.Options{Datacenters: 1, Power: g.Power})
	t.Cleanup(g.Close)
	g.Attach(v)
	vm := v.AddMachine("/DC0/vm/fleet", "m1")
	v.SetExtraConfig(vm.Ref, map[string]string{"guestinfo.userdata": userData, "guestinfo.metadata": metadata})

	m := l.Machines()[0]
	v.Power(vm.Ref, true)
	reported(t, v, "m1", m.Address)
	run := func(args ...string) string {
		t.Helper()
		out, err := m.Exec(ctx, args...)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out)
	}
	if out := run("cloud-init", "status", "--wait"); !strings.Contains(out, "status: done") {
		t.Errorf("cloud-init says %s", out)
	}
	if got := run("cat", "/etc/told"); got != "vsphere://42 eu-1-md-0-x7k" {
		t.Errorf("it was told %q", got)
	}
	if got := run("hostname"); got != "eu-1-md-0-x7k" {
		t.Errorf("it is called %q", got)
	}
	ran := run("cat", "/etc/ran")

	v.Power(vm.Ref, false)
	wait(t, "it is off", func() bool { return !m.On() })
	if now, _ := v.Machine("m1"); len(now.Addresses) != 0 {
		t.Errorf("it is off and has %v", now.Addresses)
	}
	v.Power(vm.Ref, true)
	reported(t, v, "m1", m.Address)
	run("cloud-init", "status", "--wait")
	if again := run("cat", "/etc/ran"); again != ran {
		t.Error("commands of its first boot ran again")
	}

	v.Destroy(vm.Ref)
	wait(t, "its machine is free", func() bool { return g.Machine("m1") == nil && !m.On() })
	second := v.AddMachine("/DC0/vm/fleet", "m2")
	v.Power(second.Ref, true)
	reported(t, v, "m2", m.Address)
	if _, err := m.Exec(ctx, "cat", "/etc/ran"); err == nil {
		t.Error("the disk is that of a VM that is gone")
	}
}

// reported waits until a VM tells its address.
func reported(t *testing.T, v *vspheretest.VCenter, name, address string) {
	t.Helper()
	wait(t, name+" reports "+address, func() bool {
		m, _ := v.Machine(name)
		return len(m.Addresses) == 1 && m.Addresses[0] == address
	})
}

func wait(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for !is() {
		select {
		case <-ctx.Done():
			t.Fatalf("it never came to it that %s", what)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
