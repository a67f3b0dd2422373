package conformance

import (
	"context"
	"slices"
	"testing"

	"fairlead.dev/fleet"
)

func equal[T comparable](a, b []T) bool { return slices.Equal(a, b) }

// wantKind fails unless err is of kind.
func wantKind(t testing.TB, call string, err error, kind fleet.ErrorKind) {
	t.Helper()
	if err == nil || fleet.KindOf(err) != kind {
		t.Errorf("%s = %v (kind %s), want kind %s", call, err, fleet.KindOf(err), kind)
	}
}

func observeEmpty(t testing.TB, o Options) {
	b := newBench(t, o)
	got := b.observe(b.c)
	if got.Exists || got.Ready || !got.Endpoint.IsZero() || len(got.Machines) > 0 {
		t.Errorf("Observe of nothing = %+v, want nothing", got)
	}
}

// observeWithoutContext: an interrupted look is an error, never an empty answer.
func observeWithoutContext(t testing.TB, o Options) {
	b := newBench(t, o)
	b.ensure(b.c)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := b.p.Observe(ctx, b.c); err == nil {
		t.Errorf("Observe with a cancelled context = %+v, want an error", got)
	}
}

// observePartOfIt: whichever listing fails, Observe fails.
func observePartOfIt(t testing.TB, o Options) {
	b := newBench(t, o)
	if !b.has("FailListing", o.FailListing != nil) {
		return
	}
	b.ensure(b.c)
	b.create(b.c, "m-0")
	b.settle()
	const most = 50
	for nth := 1; nth <= most; nth++ {
		o.FailListing(t, b.p, nth)
		got, err := b.p.Observe(t.Context(), b.c)
		whole := got.Ready && len(got.Machines) == 1
		if err == nil && whole && nth > 1 {
			return // the failing listing was not reached: all were tried
		}
		if err == nil {
			t.Fatalf("Observe with its listing %d failing = %+v, want an error", nth, got)
		}
	}
	t.Errorf("Observe makes more than %d listings of two things", most)
}

func infrastructureGetsReady(t testing.TB, o Options) {
	b := newBench(t, o)
	got := b.ensure(b.c)
	if !got.Exists || got.Endpoint.Host == "" || got.Endpoint.Port == 0 {
		t.Errorf("ready infrastructure = %+v, want it to exist with an endpoint", got)
	}
	if len(got.Machines) > 0 {
		t.Errorf("new infrastructure has machines: %+v", got.Machines)
	}
}

// ensureTwice: a repeated call changes nothing, and leaves nothing behind.
func ensureTwice(t testing.TB, o Options) {
	b := newBench(t, o)
	b.ensure(b.c)
	once := b.dismantle(b.c)
	first := b.ensure(b.c)
	if second := b.ensure(b.c); second.Endpoint != first.Endpoint {
		t.Errorf("endpoint after the second EnsureInfrastructure = %v, want the first, %v", second.Endpoint, first.Endpoint)
	}
	if twice := b.dismantle(b.c); twice > once {
		t.Errorf("infrastructure that was ensured twice took %d calls to remove, want %d as before", twice, once)
	}
}

func deleteInfrastructureTwice(t testing.TB, o Options) {
	b := newBench(t, o)
	remove := func(when string) {
		t.Helper()
		if err := b.p.DeleteInfrastructure(t.Context(), "op-delete", b.c); err != nil {
			t.Errorf("DeleteInfrastructure %s = %v, want no error", when, err)
		}
	}
	remove("of nothing")
	b.ensure(b.c)
	b.dismantle(b.c)
	remove("a second time")
	if got := b.observe(b.c); got.Exists || got.Ready {
		t.Errorf("infrastructure after its deletion = %+v, want none", got)
	}
}

func deleteInfrastructureWithMachines(t testing.TB, o Options) {
	b := newBench(t, o)
	b.ensure(b.c)
	b.create(b.c, "m-0")
	b.settle()
	wantKind(t, "DeleteInfrastructure with a machine on it",
		b.p.DeleteInfrastructure(t.Context(), "op-delete", b.c), fleet.Conflict)
	b.settle()
	if got := b.observe(b.c); !got.Ready || len(got.Machines) != 1 {
		t.Errorf("after a refused DeleteInfrastructure = %+v, want everything as it was", got)
	}
}
