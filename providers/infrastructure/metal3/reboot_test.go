package metal3_test

import (
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// TestReboot: a machine is switched off, stays off as long as that is remembered, and is switched
// on again with what is on its disk.
func TestReboot(t *testing.T) {
	t.Parallel()
	each(t, false, func(t *testing.T, w *world) {
		c := &w.c
		m := w.create(c, worker)
		disk := w.hosts["m1"].State().Disk
		if m.Power != fleet.HostOn {
			t.Fatalf("the machine is %+v", m)
		}
		power := func(to fleet.HostPower) {
			t.Helper()
			if err := w.p.SwitchMachine(t.Context(), "op-3", c, worker, m.ProviderID, to); err != nil {
				t.Fatal(err)
			}
		}
		power(fleet.HostOff)
		c.Rebooting = []fleet.Reboot{{Machine: worker, ProviderID: m.ProviderID, Off: true}}
		got := w.until(c, "off", func(i fleet.Infrastructure) bool { return machineOf(i, worker).Power == fleet.HostOff })
		if len(got.Upkeep) > 0 || w.hosts["m1"].State().On {
			t.Errorf("off, upkeep %q, the host is %+v", got.Upkeep, w.hosts["m1"].State())
		}
		power(fleet.HostOff)
		c.Rebooting = nil
		if got := w.observe(c); len(got.Upkeep) != 1 || !strings.HasPrefix(got.Upkeep[0], "switch it on: host ") {
			t.Errorf("nobody remembers the reboot, upkeep %q", got.Upkeep)
		}
		power(fleet.HostOn)
		got = w.until(c, "on", func(i fleet.Infrastructure) bool { return machineOf(i, worker).Power == fleet.HostOn })
		if s := w.hosts["m1"].State(); machineOf(got, worker).State != fleet.MachineRunning || s.Running != metal3test.OnDisk || s.Disk != disk {
			t.Errorf("on again: %+v, the host is %+v", machineOf(got, worker), s)
		}
		w.remove(c, worker)
	}, "m1")
}

// TestRebootRefused: what is not certain, silent, or people's is not switched.
func TestRebootRefused(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c := &w.c
	m := w.create(c, worker)
	silent := w.FailHosts(metal3test.HostFault{Host: w.hosts["m1"].Name(), At: metal3test.AtRequest})
	w.until(c, "silent", func(i fleet.Infrastructure) bool { return machineOf(i, worker).Silent })
	if err := w.p.SwitchMachine(t.Context(), "op", c, worker, m.ProviderID, fleet.HostOff); fleet.KindOf(err) != fleet.Unavailable || !strings.Contains(err.Error(), "BMC") {
		t.Errorf("while its BMC is silent: %v", err)
	}
	if m := machineOf(w.observe(c), worker); m.Power != fleet.HostPowerUnknown {
		t.Errorf("while its BMC is silent its power is %q", m.Power)
	}
	silent.End()
	w.until(c, "heard", func(i fleet.Infrastructure) bool { return machineOf(i, worker).Power == fleet.HostOn })
	w.ResetCalls()
	for _, id := range []fleet.ProviderID{"", "metal3://x/y/z"} {
		if err := w.p.SwitchMachine(t.Context(), "op", c, worker, id, fleet.HostOff); err != nil || len(w.changes()) > 0 {
			t.Errorf("a machine with the id %q: %v, %q", id, err, w.changes())
		}
	}
	spec, err := api.ReadHost(c.Companions[0])
	if err != nil {
		t.Fatal(err)
	}
	spec.Online = false
	old := c.Companions[0]
	c.Companions[0] = newObject(t, "metal3.io", "BareMetalHost", w.namespace, "m1", spec)
	c.Companions[0].Labels, c.Companions[0].Secrets = old.Labels, old.Secrets
	if m := machineOf(w.observe(c), worker); m.Power != fleet.HostPowerUnknown {
		t.Errorf("a host that Git keeps off may be rebooted: %+v", m)
	}
}

// TestGivenUp: the host of a machine that no reboot helped is tried last.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1", "m2")
	c := &w.c
	m := w.create(c, worker)
	c.Rebooting = []fleet.Reboot{{Machine: worker, ProviderID: m.ProviderID, GivenUp: true}}
	w.remove(c, worker)
	c.Rebooting = nil
	w.until(c, "available", allFree)
	if m := w.create(c, worker); !strings.Contains(string(m.ProviderID), "/m2/") {
		t.Errorf("the next one is %s", m.ProviderID)
	}
}
