package conformance

import (
	"slices"
	"testing"

	"fairlead.dev/fleet"
)

// mostChanges is more than any call asks for of a cloud.
const mostChanges = 40

// losing makes call with the answer to its first change lost, then to its second, and
// so on, until it makes no further change. check follows each of them.
func (b *bench) losing(what string, prepare func(nth int), call func(nth int) error, check func(nth int)) {
	b.t.Helper()
	for nth := 1; nth <= mostChanges; nth++ {
		prepare(nth)
		end := b.o.LoseAnswer(b.t, b.p, nth)
		err := call(nth)
		if lost := end(); !lost {
			if nth == 1 {
				b.t.Fatalf("%s asks for no change", what)
			}
			return
		}
		// A step that is no part of the whole may fail without a word: later calls
		// make it again.
		if err != nil && fleet.KindOf(err) != fleet.Unanswered {
			b.t.Errorf("%s with answer %d lost = %v (kind %s), want kind Unanswered", what, nth, err, fleet.KindOf(err))
		}
		check(nth)
	}
	b.t.Errorf("%s asks for more than %d changes", what, mostChanges)
}

func nthName(nth int) fleet.MachineName {
	return fleet.MachineName("m-" + string(rune('a'+nth/26)) + string(rune('a'+nth%26)))
}

// lostAnswerOfCreate: a machine whose creation got no answer is there or is not, and
// the call that is repeated makes it one.
func lostAnswerOfCreate(t testing.TB, o Options) {
	b := newBench(t, o)
	if !b.has("LoseAnswer", o.LoseAnswer != nil) {
		return
	}
	b.ensure(b.c)
	b.losing("CreateMachine", func(int) {}, func(nth int) error {
		name := nthName(nth)
		return b.p.CreateMachine(t.Context(), operation(name), b.request(b.c, name))
	}, func(nth int) {
		name := nthName(nth)
		b.settle()
		if got, _ := b.machines(b.c); len(got) > 1 || len(got) == 1 && got[0] != name {
			t.Errorf("machines after answer %d was lost = %q, want %q or none", nth, got, name)
		}
		b.create(b.c, name)
		b.settle()
		b.wantMachines(b.c, "it is made once", name)
		b.remove(name)
	})
}

// remove deletes the machine called name of b's cluster, asking again as the planner
// does, until it is not there.
func (b *bench) remove(name fleet.MachineName) {
	b.t.Helper()
	there := func(m fleet.Machine) bool { return m.Name == name && m.State != fleet.MachineReleased }
	for range rounds {
		if err := b.p.DeleteMachine(b.t.Context(), "op-delete", b.c, name, ""); err != nil {
			b.t.Fatalf("DeleteMachine(%s) = %v, want no error", name, err)
		}
		b.settle()
		if !slices.ContainsFunc(b.observe(b.c).Machines, there) {
			return
		}
	}
	b.t.Fatalf("machine %s is there after %d settle windows", name, rounds)
}

// lostAnswerOfDelete: the call that is repeated finishes what the first began.
func lostAnswerOfDelete(t testing.TB, o Options) {
	b := newBench(t, o)
	if !b.has("LoseAnswer", o.LoseAnswer != nil) {
		return
	}
	b.ensure(b.c)
	b.losing("DeleteMachine", func(nth int) {
		b.create(b.c, nthName(nth))
		b.settle()
	}, func(nth int) error {
		return b.p.DeleteMachine(t.Context(), "op-delete", b.c, nthName(nth), "")
	}, func(nth int) {
		b.settle()
		b.remove(nthName(nth))
		b.wantMachines(b.c, "it was deleted")
	})
}

// lostAnswerOfInfrastructure: whichever answer is lost, it is made once.
func lostAnswerOfInfrastructure(t testing.TB, o Options) {
	b := newBench(t, o)
	if !b.has("LoseAnswer", o.LoseAnswer != nil) || !b.has("Contents", o.Contents != nil) {
		return
	}
	b.ensure(b.c)
	want := kinds(o.Contents(t, b.p))
	b.losing("EnsureInfrastructure", func(int) { b.dismantle(b.c) }, func(int) error {
		return b.p.EnsureInfrastructure(t.Context(), "op-infra", b.c)
	}, func(nth int) {
		b.settle()
		b.ensure(b.c)
		for range 3 { // what is one too many goes in time
			if slices.Equal(kinds(o.Contents(t, b.p)), want) {
				break
			}
			b.ensure(b.c)
		}
		if got := kinds(o.Contents(t, b.p)); !slices.Equal(got, want) {
			t.Errorf("with answer %d lost there is %q, want %q as without", nth, got, want)
		}
	})
}

// settleIsKept: what was asked for shows when the settle window is over.
func settleIsKept(t testing.TB, o Options) {
	b := newBench(t, o)
	b.ensure(b.c)
	b.create(b.c, "m-0")
	b.settle()
	b.wantMachines(b.c, "its creation has shown by now", "m-0")
	if err := b.p.DeleteMachine(t.Context(), "op-delete", b.c, "m-0", ""); err != nil {
		t.Errorf("DeleteMachine = %v, want no error", err)
	}
	b.settle()
	b.wantMachines(b.c, "its deletion has shown by now")
}
