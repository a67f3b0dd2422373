package conformance

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// createKeepsIdentity: what the tags must carry comes back.
func createKeepsIdentity(t testing.TB, o Options) {
	b := newBench(t, o)
	b.ensure(b.c)
	b.create(b.c, "m-0")
	b.settle()
	got := b.observe(b.c).Machines
	if len(got) != 1 {
		t.Fatalf("machines = %+v, want one", got)
	}
	pool := b.c.Workers[0]
	want := fleet.Machine{
		Name: "m-0", Pool: pool.Name, Role: fleet.RoleWorker, Template: pool.Template, Version: pool.Version, Operation: "op-m-0", Origin: origin(),
	}
	is := got[0]
	have := fleet.Machine{
		Name: is.Name, Pool: is.Pool, Role: is.Role, Template: is.Template, Version: is.Version, Operation: is.Operation, Origin: is.Origin, Damaged: is.Damaged,
	}
	if fmt.Sprint(have) != fmt.Sprint(want) {
		t.Errorf("identity of the machine = %+v, want %+v", have, want)
	}
	if is.ProviderID == "" || is.Created.IsZero() || is.State == "" {
		t.Errorf("machine = %+v, want an id, a time of creation and a state", is)
	}
}

// createTwiceAdopts: the same request again is the same machine.
func createTwiceAdopts(t testing.TB, o Options) {
	b := newBench(t, o)
	b.ensure(b.c)
	b.create(b.c, "m-0")
	b.settle()
	_, first := b.machines(b.c)
	b.create(b.c, "m-0")
	b.settle()
	if _, second := b.machines(b.c); len(first) != 1 || !equal(first, second) {
		t.Errorf("machines after the second CreateMachine = %q, want those of the first, %q", second, first)
	}
}

// createOfAnotherTemplate: a machine that differs is not taken for the one asked for.
func createOfAnotherTemplate(t testing.TB, o Options) {
	b := newBench(t, o)
	b.ensure(b.c)
	b.create(b.c, "m-0")
	b.settle()
	_, first := b.machines(b.c)
	r := b.request(b.c, "m-0")
	r.Pool.Template = "1-another"
	wantKind(t, "CreateMachine of a name that is there with another template",
		b.p.CreateMachine(t.Context(), "op-other", r), fleet.Conflict)
	b.settle()
	if _, second := b.machines(b.c); !equal(first, second) {
		t.Errorf("machines after a refused CreateMachine = %q, want %q", second, first)
	}
}

// createOfAFormerName: a name that is free again, and with it its operation id, is that
// of a new machine. What went is no answer.
func createOfAFormerName(t testing.TB, o Options) {
	b := newBench(t, o)
	b.ensure(b.c)
	b.create(b.c, "m-0")
	b.settle()
	_, first := b.machines(b.c)
	b.remove("m-0")
	b.create(b.c, "m-0")
	b.settle()
	if _, second := b.machines(b.c); len(first) != 1 || len(second) != 1 {
		t.Errorf("machines in the second life of a name = %q, want one, as in its first, %q", second, first)
	}
}

// createAtOnce: a provider is safe for concurrent use, and its answer is sorted.
func createAtOnce(t testing.TB, o Options) {
	b := newBench(t, o)
	b.ensure(b.c)
	const n = 10
	var want []fleet.MachineName
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		name := fleet.MachineName(fmt.Sprintf("m-%d", i))
		want = append(want, name)
		wg.Go(func() {
			errs[i] = b.p.CreateMachine(t.Context(), operation(name), b.request(b.c, name))
			if _, err := b.p.Observe(t.Context(), b.c); err != nil && errs[i] == nil {
				errs[i] = err
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			t.Errorf("CreateMachine and Observe at once = %v, want no error", err)
		}
	}
	b.settle()
	b.wantMachines(b.c, "each machine once, sorted by name", want...)
}

func deleteTwice(t testing.TB, o Options) {
	b := newBench(t, o)
	b.ensure(b.c)
	b.create(b.c, "m-0")
	b.create(b.c, "m-1")
	b.settle()
	for range 2 {
		if err := b.p.DeleteMachine(t.Context(), "op-delete", b.c, "m-0", ""); err != nil {
			t.Errorf("DeleteMachine = %v, want no error", err)
		}
		b.settle()
		b.wantMachines(b.c, "the one that was named is gone, the other stays", "m-1")
	}
}

func deleteNothing(t testing.TB, o Options) {
	b := newBench(t, o)
	remove := func(name fleet.MachineName, id fleet.ProviderID) {
		t.Helper()
		if err := b.p.DeleteMachine(t.Context(), "op-delete", b.c, name, id); err != nil {
			t.Errorf("DeleteMachine(%q, %q) that is not there = %v, want no error", name, id, err)
		}
	}
	remove("m-0", "")
	b.ensure(b.c)
	b.create(b.c, "m-01")
	b.settle()
	remove("m-0", "")
	b.settle()
	b.wantMachines(b.c, "a name is not a prefix", "m-01")
}

// deleteByID: of two machines with one name, the one with the id goes.
func deleteByID(t testing.TB, o Options) {
	b := newBench(t, o)
	b.ensure(b.c)
	b.create(b.c, "m-0")
	b.create(b.c, "m-0") // makes a second one where creates take time to show
	b.create(b.c, "m-1")
	b.settle()
	names, ids := b.machines(b.c)
	remove := func(name fleet.MachineName, id fleet.ProviderID) {
		t.Helper()
		if err := b.p.DeleteMachine(t.Context(), "op-delete", b.c, name, id); err != nil {
			t.Errorf("DeleteMachine(%q, %q) = %v, want no error", name, id, err)
		}
		b.settle()
	}
	remove("m-0", ids[len(ids)-1]) // the id is that of m-1
	b.wantMachines(b.c, "name and id must both fit", names...)
	remove("m-0", ids[0])
	if _, left := b.machines(b.c); !equal(left, ids[1:]) {
		t.Errorf("machines after the deletion of %s = %q, want %q", ids[0], left, ids[1:])
	}
}

func clustersAreListed(t testing.TB, o Options) {
	b := newBench(t, o)
	l := providers.AbilitiesOf(b.p).Lister
	if !b.can("Lister", l != nil) {
		return
	}
	second := b.cluster(testFleet, fleet.Key{Namespace: "test", Name: "eu-1"})
	for _, c := range []*fleet.Cluster{second, b.c, b.cluster("another", fleet.Key{Namespace: "x", Name: "y"})} {
		b.ensure(c)
	}
	b.create(b.c, "m-0")
	b.settle()
	got, err := l.Clusters(t.Context(), testFleet)
	if want := []fleet.Key{b.c.Key, second.Key}; err != nil || !slices.Equal(got, want) {
		t.Errorf("Clusters = %v, %v, want %v", got, err, want)
	}
}

func changesAreTold(t testing.TB, o Options) {
	b := newBench(t, o)
	w := providers.AbilitiesOf(b.p).Watcher
	if !b.can("Watcher", w != nil) {
		return
	}
	b.ensure(b.c)
	ctx, cancel := context.WithCancel(t.Context())
	told := make(chan fleet.Key, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = w.Watch(ctx, func(k fleet.Key) {
			select {
			case told <- k:
			default:
			}
		})
	})
	defer wg.Wait()
	defer cancel()
	b.settle() // the watch stands
	late := time.NewTimer(rounds * max(b.p.Settle(), time.Second))
	defer late.Stop()
	b.create(b.c, "m-0")
	select {
	case k := <-told:
		if k != b.c.Key {
			t.Errorf("Watch told of %s, want %s", k, b.c.Key)
		}
	case <-late.C:
		t.Error("Watch told nothing of a new machine")
	}
}
