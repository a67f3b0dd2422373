package conformance

import (
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// rebootedMachine: a machine is switched off and on, stays off as long as that is remembered, and
// is the same machine all the while.
func rebootedMachine(t testing.TB, o Options) {
	b := newBench(t, o)
	r := providers.AbilitiesOf(b.p).Rebooter
	if !b.can("Rebooter", r != nil) {
		return
	}
	b.ensure(b.c)
	b.create(b.c, "m-0")
	b.create(b.c, "m-1")
	b.settle()
	before := b.powered("m-0", fleet.HostOn)
	b.powered("m-1", fleet.HostOn)
	power := func(name fleet.MachineName, id fleet.ProviderID, to fleet.HostPower) {
		t.Helper()
		if err := r.SwitchMachine(t.Context(), "op-switch", b.c, name, id, to); err != nil {
			t.Errorf("SwitchMachine(%s, %s, %s) = %v, want no error", name, id, to, err)
		}
	}
	power("m-0", "none-of-its", fleet.HostOff)
	power("m-9", before.ProviderID, fleet.HostOff)
	b.settle()
	b.powered("m-0", fleet.HostOn)

	b.c.Rebooting = []fleet.Reboot{{Machine: "m-0", ProviderID: before.ProviderID, Off: true}}
	power("m-0", before.ProviderID, fleet.HostOff)
	b.powered("m-0", fleet.HostOff)
	power("m-0", before.ProviderID, fleet.HostOff) // again is success
	if err := b.p.EnsureInfrastructure(t.Context(), "op-infra", b.c); err != nil {
		t.Errorf("EnsureInfrastructure = %v, want no error", err)
	}
	b.settle()
	off := b.machine("m-0")
	if off.Power != fleet.HostOff {
		t.Errorf("while it is to be off, its power is %q", off.Power)
	}
	if off.ProviderID != before.ProviderID || off.Template != before.Template || off.State == fleet.MachineDeleting || off.State == fleet.MachineFailed {
		t.Errorf("off it is %+v, want the machine that it was: %+v", off, before)
	}
	if other := b.machine("m-1"); other.Power != fleet.HostOn {
		t.Errorf("another machine has the power %q", other.Power)
	}

	b.c.Rebooting[0].Off = false
	power("m-0", before.ProviderID, fleet.HostOn)
	if on := b.powered("m-0", fleet.HostOn); on.ProviderID != before.ProviderID || on.State != fleet.MachineRunning {
		t.Errorf("on again it is %+v, want the machine that it was: %+v", on, before)
	}
	power("m-0", before.ProviderID, fleet.HostOn)
	b.wantMachines(b.c, "both were there all the while", "m-0", "m-1")
	b.c.Rebooting = nil
	b.remove("m-0")
	power("m-0", before.ProviderID, fleet.HostOff)
	b.wantMachines(b.c, "one that is gone was switched off", "m-1")
}

// powered waits until a machine runs, with a power, and returns it.
func (b *bench) powered(name fleet.MachineName, want fleet.HostPower) fleet.Machine {
	b.t.Helper()
	var got fleet.Machine
	for range rounds {
		if got = b.machine(name); got.Power == want {
			return got
		}
		b.settle()
	}
	b.t.Fatalf("machine %s has the power %q after %d settle windows, want %q: %+v", name, got.Power, rounds, want, got)
	return got
}
