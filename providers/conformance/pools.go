package conformance

import (
	"maps"
	"slices"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// keeper is a bench with a pool that the cloud keeps.
type keeper struct {
	*bench
	k    providers.PoolKeeper
	next string // version of Kubernetes that the pool may be upgraded to
}

// newKeeper returns a keeper with the infrastructure of its cluster; nil where the provider keeps no pools.
func newKeeper(t testing.TB, o Options) *keeper {
	b := newBench(t, o)
	k := providers.AbilitiesOf(b.p).PoolKeeper
	if k == nil || !b.has("KeptPool", o.KeptPool != nil) {
		return nil
	}
	out := &keeper{bench: b, k: k}
	b.c, out.next = o.KeptPool(t, b.p, b.c)
	b.ensure(b.c)
	return out
}

// with returns the cluster of k with its pool changed.
func (k *keeper) with(change func(*fleet.KeptPool)) *fleet.Cluster {
	c := *k.c
	c.KeptPools = slices.Clone(c.KeptPools)
	change(&c.KeptPools[0])
	return &c
}

// operationOf is an operation that depends on what is asked for.
func (k *keeper) operationOf(c *fleet.Cluster) fleet.OperationID {
	return fleet.NewOperationID(c.Key, fleet.EnsurePool, fleet.DigestOf(c.KeptPools[0]))
}

// bring has the cloud keep the pool of c, asking again as the planner does, until it is as good says.
func (k *keeper) bring(c *fleet.Cluster, what string, good func(fleet.KeptPoolSeen) bool) fleet.KeptPoolSeen {
	k.t.Helper()
	var got []fleet.KeptPoolSeen
	for range rounds {
		if got = k.observe(c).Pools; len(got) == 1 && got[0].State == fleet.KeptActive && good(got[0]) {
			return got[0]
		}
		if len(got) == 0 || got[0].State == fleet.KeptActive {
			if err := k.k.EnsurePool(k.t.Context(), k.operationOf(c), c, c.KeptPools[0]); err != nil {
				k.t.Fatalf("EnsurePool (%s) = %v, want no error", what, err)
			}
		}
		k.settle()
	}
	k.t.Fatalf("%s: after %d settle windows there is %+v", what, rounds, got)
	return fleet.KeptPoolSeen{}
}

// whole reports whether a pool is as c says.
func whole(c *fleet.Cluster) func(fleet.KeptPoolSeen) bool {
	p := c.KeptPools[0]
	return func(s fleet.KeptPoolSeen) bool {
		return s.Name == p.Name && s.Count == p.Count && s.Range.Is(p.Range) && s.Version == p.Version && len(s.Drift)+len(s.Fixed) == 0 && len(s.Machines) == s.Count
	}
}

// poolIsKept: a pool is made once, with several requests. Its machines are the cloud's: they are counted, and
// are in no list of machines.
func poolIsKept(t testing.TB, o Options) {
	k := newKeeper(t, o)
	if k == nil {
		return
	}
	other := k.cluster(testFleet, fleet.Key{Namespace: "prod", Name: "us-1"})
	for range 2 {
		if err := k.k.EnsurePool(t.Context(), "op-pool", k.c, k.c.KeptPools[0]); err != nil && fleet.KindOf(err) != fleet.Conflict {
			t.Errorf("EnsurePool = %v, want no error, or that the pool accepts no change now", err)
		}
		k.settle()
	}
	seen := k.bring(k.c, "a new pool", whole(k.c))
	if seen.Damaged != "" || seen.Created.IsZero() || !slices.IsSorted(seen.Machines) || len(slices.Compact(slices.Clone(seen.Machines))) != len(seen.Machines) {
		t.Errorf("the new pool is %+v", seen)
	}
	got := k.observe(k.c)
	if len(got.Machines) > 0 {
		t.Errorf("its machines are %+v: they are the cloud's", got.Machines)
	}
	if theirs := k.observe(other).Pools; len(theirs) > 0 {
		t.Errorf("another cluster has the pools %+v", theirs)
	}
	if o.Changes != nil {
		before := o.Changes(t, k.p)
		if err := k.k.EnsurePool(t.Context(), "op-pool", k.c, k.c.KeptPools[0]); err != nil {
			t.Errorf("EnsurePool of what is there = %v, want no error", err)
		}
		if after := o.Changes(t, k.p); after != before {
			t.Errorf("EnsurePool of what is there changes something: %s", after)
		}
	}
	wantKind(t, "DeleteInfrastructure with a pool on it", k.p.DeleteInfrastructure(t.Context(), "op-delete", k.c), fleet.Conflict)
	k.settle()
	if again := k.bring(k.c, "what was refused", whole(k.c)); !slices.Equal(again.Machines, seen.Machines) {
		t.Errorf("machines %q, and before %q", again.Machines, seen.Machines)
	}
}

// poolChanges: number, labels and version of a pool change on request. The number of one with a
// range is the cloud's, and a version does not go back.
func poolChanges(t testing.TB, o Options) {
	k := newKeeper(t, o)
	if k == nil {
		return
	}
	k.bring(k.c, "a new pool", whole(k.c))
	more := k.with(func(p *fleet.KeptPool) { p.Count++ })
	k.bring(more, "one machine more", whole(more))
	k.bring(k.c, "one machine fewer", whole(k.c))
	labelled := k.with(func(p *fleet.KeptPool) {
		p.NodeLabels = map[string]string{"node-role.kubernetes.io/web": ""}
		maps.Copy(p.NodeLabels, k.c.KeptPools[0].NodeLabels)
	})
	if s := k.observe(labelled).Pools; len(s) != 1 || len(s[0].Drift) == 0 {
		t.Errorf("labels that the pool does not have are no drift of %+v", s)
	}
	k.bring(labelled, "labels", whole(labelled))
	count := k.c.KeptPools[0].Count
	ranged := k.with(func(p *fleet.KeptPool) { p.Count, p.Range = count+2, &fleet.PoolRange{Min: 1, Max: count + 3} })
	k.bring(ranged, "a range", func(s fleet.KeptPoolSeen) bool {
		return s.Range.Is(ranged.KeptPools[0].Range) && s.Count == count && len(s.Machines) == count
	})
	k.bring(k.c, "no range", whole(k.c))
	old := k.observe(k.c).Pools[0].Machines
	newer := k.with(func(p *fleet.KeptPool) { p.Version = k.next })
	if now := k.bring(newer, "an upgrade", whole(newer)); slices.ContainsFunc(now.Machines, func(id fleet.ProviderID) bool { return slices.Contains(old, id) }) {
		t.Logf("machines of the pool were upgraded in place: %q", now.Machines)
	}
	if err := k.k.EnsurePool(t.Context(), k.operationOf(k.c), k.c, k.c.KeptPools[0]); err != nil {
		t.Errorf("EnsurePool with an older version = %v, want no error", err)
	}
	k.settle()
	k.bring(newer, "what an older version left", whole(newer))
}

// poolGoes: only the pool of the cluster goes, with its machines, however often that is asked for.
func poolGoes(t testing.TB, o Options) {
	k := newKeeper(t, o)
	if k == nil {
		return
	}
	name := k.c.KeptPools[0].Name
	remove := func(c *fleet.Cluster, name fleet.PoolName) {
		t.Helper()
		if err := k.k.DeletePool(t.Context(), "op-delete-pool", c, name); err != nil {
			t.Errorf("DeletePool(%s of %s in %s) = %v, want no error", name, c.Key, c.Fleet, err)
		}
		k.settle()
	}
	remove(k.c, name)
	before := k.bring(k.c, "a new pool", whole(k.c))
	theirs := *k.c
	theirs.Fleet = "another"
	remove(&theirs, name)
	remove(k.c, "another")
	if now := k.observe(k.c).Pools; len(now) != 1 || now[0].State != fleet.KeptActive || !slices.Equal(now[0].Machines, before.Machines) {
		t.Errorf("after others deleted theirs there is %+v, want %+v", now, before)
	}
	gone := func() bool { return len(k.observe(k.c).Pools) == 0 }
	for range rounds {
		if gone() {
			break
		}
		remove(k.c, name)
	}
	if !gone() {
		t.Fatalf("the pool is there after %d settle windows: %+v", rounds, k.observe(k.c).Pools)
	}
	remove(k.c, name)
	k.dismantle(k.c)
}

// lostAnswerOfPool: a pool whose creation got no answer is there or is not, and the call that is repeated
// makes it one.
func lostAnswerOfPool(t testing.TB, o Options) {
	k := newKeeper(t, o)
	if k == nil || !k.has("LoseAnswer", o.LoseAnswer != nil) {
		return
	}
	name := k.c.KeptPools[0].Name
	k.losing("EnsurePool", func(int) {}, func(int) error {
		return k.k.EnsurePool(t.Context(), "op-pool", k.c, k.c.KeptPools[0])
	}, func(int) {
		k.settle()
		k.bring(k.c, "after a lost answer", whole(k.c))
		for range rounds {
			if len(k.observe(k.c).Pools) == 0 {
				return
			}
			if err := k.k.DeletePool(t.Context(), "op-delete-pool", k.c, name); err != nil {
				t.Fatalf("DeletePool = %v, want no error", err)
			}
			k.settle()
		}
		t.Fatalf("the pool stays: %+v", k.observe(k.c).Pools)
	})
}
