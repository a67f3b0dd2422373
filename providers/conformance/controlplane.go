package conformance

import (
	"testing"

	"fairlead.dev/fleet"
)

// createOf makes a machine of a pool of c, in a failure domain or in any.
func (b *bench) createOf(c *fleet.Cluster, p fleet.Pool, name fleet.MachineName, domain string) {
	b.t.Helper()
	r := b.request(c, name)
	r.Pool, r.FailureDomain = p, domain
	if err := b.p.CreateMachine(b.t.Context(), operation(name), r); err != nil {
		b.t.Fatalf("CreateMachine(%s of pool %s of %s) = %v, want no error", name, p.Name, c.Key, err)
	}
}

// machine returns what is seen of the machine called name of b's cluster.
func (b *bench) machine(name fleet.MachineName) fleet.Machine {
	b.t.Helper()
	seen := b.observe(b.c)
	for _, m := range seen.Machines {
		if m.Name == name {
			return m
		}
	}
	b.t.Fatalf("machine %s is not there: %+v", name, seen.Machines)
	return fleet.Machine{}
}

// controlPlaneMachines: they differ from workers, and one goes without the other.
func controlPlaneMachines(t testing.TB, o Options) {
	b := newBench(t, o)
	b.ensure(b.c)
	b.createOf(b.c, b.c.ControlPlane, "cp-0", "")
	b.create(b.c, "m-0")
	b.settle()
	b.wantMachines(b.c, "one of each", "cp-0", "m-0")
	for name, p := range map[fleet.MachineName]fleet.Pool{"cp-0": b.c.ControlPlane, "m-0": b.c.Workers[0]} {
		if m := b.machine(name); m.Role != p.Role || m.Pool != p.Name || m.Template != p.Template {
			t.Errorf("machine %s = %+v, want one of %+v", name, m, p)
		}
	}
	if err := b.p.DeleteMachine(t.Context(), "op-delete", b.c, "cp-0", ""); err != nil {
		t.Errorf("DeleteMachine = %v, want no error", err)
	}
	b.settle()
	b.wantMachines(b.c, "the worker stays", "m-0")
}

// endpointStays: while control-plane machines come and go the API server is found
// where it was.
func endpointStays(t testing.TB, o Options) {
	b := newBench(t, o)
	want := b.ensure(b.c).Endpoint
	look := func(when string) {
		t.Helper()
		b.settle()
		if got := b.observe(b.c).Endpoint; got != want {
			t.Errorf("endpoint %s = %v, want still %v", when, got, want)
		}
	}
	for _, step := range []struct {
		when   string
		create fleet.MachineName
		remove fleet.MachineName
	}{
		{when: "with the first machine", create: "cp-0"},
		{when: "with a second machine", create: "cp-1"},
		{when: "without the first machine", remove: "cp-0"},
		{when: "without any machine", remove: "cp-1"},
	} {
		if step.create != "" {
			b.createOf(b.c, b.c.ControlPlane, step.create, "")
		} else if err := b.p.DeleteMachine(t.Context(), "op-delete", b.c, step.remove, ""); err != nil {
			t.Errorf("DeleteMachine = %v, want no error", err)
		}
		look(step.when)
		if err := b.p.EnsureInfrastructure(t.Context(), "op-infra", b.c); err != nil {
			t.Errorf("EnsureInfrastructure %s = %v, want no error", step.when, err)
		}
		look(step.when + ", after EnsureInfrastructure")
	}
}

// failureDomainIsKept: a machine shows where it was put, and those there are, are listed.
func failureDomainIsKept(t testing.TB, o Options) {
	b := newBench(t, o)
	if !b.has("FailureDomain", o.FailureDomain != "") {
		return
	}
	seen := b.ensure(b.c)
	for i, d := range seen.FailureDomains {
		if i > 0 && seen.FailureDomains[i-1].Name >= d.Name || d.Name == "" {
			t.Errorf("failure domains = %+v, want names, each once, sorted", seen.FailureDomains)
		}
	}
	b.createOf(b.c, b.c.ControlPlane, "cp-0", o.FailureDomain)
	b.createOf(b.c, b.c.Workers[0], "m-0", o.FailureDomain)
	for range rounds { // a machine may have to be placed first
		if b.settle(); b.machine("m-0").State == fleet.MachineRunning && b.machine("cp-0").State == fleet.MachineRunning {
			break
		}
	}
	for _, name := range []fleet.MachineName{"cp-0", "m-0"} {
		if got := b.machine(name).FailureDomain; got != o.FailureDomain {
			t.Errorf("failure domain of %s = %q, want %q", name, got, o.FailureDomain)
		}
	}
}
