package conformance

import (
	"slices"
	"testing"

	"fairlead.dev/fleet"
)

// ensureKeepsMachines: EnsureInfrastructure deletes no machine, whatever Git says by now of its pool.
// Which machines go is for the planner, which drains them and asks for the quorum.
func ensureKeepsMachines(t testing.TB, o Options) {
	b := newBench(t, o)
	b.ensure(b.c)
	b.createOf(b.c, b.c.ControlPlane, "cp-0", "")
	b.create(b.c, "m-0")
	b.create(b.c, "m-0") // makes a second one where creates take time to show
	b.settle()
	if o.FailBoot != nil {
		o.FailBoot(t, b.p)
		b.create(b.c, "m-1")
		b.settle()
	}
	_, before := b.machines(b.c)
	for _, git := range []struct {
		reason string
		change func(c *fleet.Cluster)
	}{
		{"nothing changed", func(*fleet.Cluster) {}},
		{"no machine is wanted", func(c *fleet.Cluster) { c.Workers[0].Replicas = 0 }},
		{"the pools have other templates", func(c *fleet.Cluster) {
			c.Workers[0].Template, c.ControlPlane.Template = "1-next", "1-next"
		}},
		{"the pool of workers left Git", func(c *fleet.Cluster) { c.Workers = nil }},
	} {
		c := *b.c
		c.Workers = slices.Clone(b.c.Workers)
		git.change(&c)
		for range 2 {
			if err := b.p.EnsureInfrastructure(t.Context(), "op-infra", &c); err != nil {
				wantKind(t, "EnsureInfrastructure where "+git.reason, err, fleet.Conflict)
			}
			b.settle()
		}
		if _, after := b.machines(&c); !equal(after, before) {
			t.Errorf("machines after EnsureInfrastructure where %s = %q, want %q", git.reason, after, before)
		}
	}
}
