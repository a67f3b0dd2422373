package conformance

import (
	"fmt"
	"testing"

	"fairlead.dev/fleet"
)

// refusalsAreTold: where Git asks for what cannot be done, an observation shows it, or the request for the next
// machine fails with a reason. A refusal that nothing shows reaches no headline, since the planner requests nothing
// for what looks in order.
func refusalsAreTold(t testing.TB, o Options) {
	b := newBench(t, o)
	if !b.has("Mistaken", o.Mistaken != nil) {
		return
	}
	b.ensure(b.c)
	b.createOf(b.c, b.c.ControlPlane, "cp-0", "")
	b.settle()
	b.inLine()
	for i, c := range o.Mistaken(t, b.p, b.c) {
		what := fmt.Sprintf("mistake %d", i)
		if b.shown(what, c) {
			continue
		}
		err := b.p.CreateMachine(t.Context(), operation("m-0"), b.request(c, "m-0"))
		if kind := fleet.KindOf(err); err == nil || kind == fleet.Unavailable || kind == fleet.Unanswered {
			t.Errorf("%s: CreateMachine = %v (kind %s), and no observation shows the mistake", what, err, kind)
		}
	}
}

// shown asks for the infrastructure of c, which has a mistake, and reports whether an observation shows that. It
// fails if only the request says so.
func (b *bench) shown(what string, c *fleet.Cluster) bool {
	b.t.Helper()
	refused := b.p.EnsureInfrastructure(b.t.Context(), "op-infra", c)
	b.settle()
	seen, err := b.p.Observe(b.t.Context(), c)
	if err != nil || len(seen.Drift) > 0 || !seen.Ready && seen.Message != "" {
		return true
	}
	if refused != nil {
		b.t.Errorf("%s: EnsureInfrastructure = %v, and the observation is in order: %+v", what, refused, seen)
	}
	return false
}

// inLine does for the cluster what the planner does, until there is nothing to do.
func (b *bench) inLine() {
	b.t.Helper()
	var seen fleet.Infrastructure
	for range rounds {
		if seen = b.observe(b.c); seen.Ready && len(seen.Drift) == 0 {
			return
		}
		_ = b.p.EnsureInfrastructure(b.t.Context(), "op-infra", b.c) // what follows tells
		b.settle()
	}
	b.t.Fatalf("%s is not in order after %d settle windows: %+v", b.c.Key, rounds, seen)
}
