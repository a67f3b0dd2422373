package conformance

import (
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// placeIsShared: a provider names the place of a cluster before anything was asked there, and
// clusters of one place get one name. What limits a silent place uses that name.
func placeIsShared(t testing.TB, o Options) {
	b := newBench(t, o)
	p := providers.AbilitiesOf(b.p).Placer
	if !b.can("Placer", p != nil) {
		return
	}
	name := func(c *fleet.Cluster) string {
		t.Helper()
		got, err := p.PlaceOf(t.Context(), c)
		if err != nil || got == "" {
			t.Errorf("PlaceOf %s = %q, %v, want a name", c.Key, got, err)
		}
		return got
	}
	first := name(b.c)
	if other := name(b.cluster(testFleet, fleet.Key{Namespace: b.c.Key.Namespace, Name: "other"})); other != first {
		t.Errorf("two clusters of one place are in %q and %q, want one name", first, other)
	}
	b.ensure(b.c)
	if later := name(b.c); later != first {
		t.Errorf("PlaceOf = %q once something is there, want %q as before", later, first)
	}
}
