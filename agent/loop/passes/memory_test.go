package passes

import (
	"testing"
	"time"

	"fairlead.dev/agent/loop/decisions"
	"fairlead.dev/agent/loop/reports"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// TestReminded: what only the last report tells comes with the cluster to the next
// pass, from the status branch where this agent made none yet.
func TestReminded(t *testing.T) {
	k := fleet.Key{Namespace: "prod", Name: "eu"}
	told := fleet.Report{
		Cluster: k, Memory: fleet.Memory{
			Fingerprint: "o", Remediation: fleet.Remediation{Machine: "m", At: noon},
			ObservedConditions: []fleet.ObservedCondition{{Machine: "m", Condition: "UpToDate"}}, Milestones: fleet.Milestones{Began: noon},
			Residence: fleet.Residence{Provider: "openstack", ControlPlane: fleet.InitializedOnce}, Clock: fleet.Clock{Ahead: time.Hour, Since: noon},
		},
	}
	w, store := &world{}, reports.New()
	w.decisions = decisions.New(w, store)
	store.Restore([]fleet.Report{told})
	m := w.maker(Options{})
	check := func(from string, want fleet.Report) {
		t.Helper()
		m.pass(t.Context(), &fleet.Cluster{Key: k})
		expect(t, "from "+from+" comes", w.known, want.Memory)
	}
	check("the status branch", told)
	newer := fleet.Report{Cluster: k, Phase: fleet.PhaseProvisioned, Memory: fleet.Memory{Fingerprint: "n"}}
	store.Put(newer, nil)
	check("the last pass", newer)
	neighbor := fleet.Report{Cluster: fleet.Key{Namespace: "prod", Name: "us"}, Phase: fleet.PhaseProvisioned}
	neighbor.Residence.Places = []fleet.Place{{ID: "first"}, {ID: "hosts", Access: "m1"}}
	neighbor.Residence.Guests = []fleet.GuestMemory{{Provider: "far", Places: []fleet.Place{{ID: "first"}, {ID: "far hosts"}}}}
	elsewhere := neighbor
	elsewhere.Cluster.Namespace = "dev"
	store.Restore([]fleet.Report{neighbor, elsewhere})
	m.pass(t.Context(), &fleet.Cluster{Key: k})
	expect(t, "of other clusters of the namespace come", w.over.NeighborPlaces, []fleet.Place{{ID: "far hosts"}, {ID: "hosts", Access: "m1"}})
	store.Forget(k)
	check("a cluster of that name that came before", fleet.Report{})
}

// TestMachinesOfASiteThatIsAway: an agent that starts while a site is away reports of its
// machines what the status branch has.
func TestMachinesOfASiteThatIsAway(t *testing.T) {
	c := &fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "eu"}, Workers: []fleet.Pool{{Name: "far", Provider: "far"}, {Name: "near"}}, KeptPools: []fleet.KeptPool{{Name: "kept"}}}
	told := fleet.Report{
		Cluster: c.Key, Phase: fleet.PhaseProvisioned,
		Pools: []fleet.PoolReport{{Name: "far", Current: 1}, {Name: "near", Current: 7}, {Name: "kept", Current: 3}},
		Machines: []fleet.MachineReport{
			{Machine: fleet.Machine{Name: "far-0", Provider: "far"}}, {Machine: fleet.Machine{Name: "gone-0", Provider: "empty"}}, {Machine: fleet.Machine{Name: "near-7"}},
		},
	}
	w, store := &world{}, reports.New()
	w.decisions = decisions.New(w, store)
	store.Restore([]fleet.Report{told})
	w.result = reconcile.Result{ // of a reconciler that has only just begun
		Report: fleet.Report{
			Cluster: c.Key, Phase: fleet.PhaseProvisioned, Pools: []fleet.PoolReport{{Name: "near", Current: 1}},
			Machines: []fleet.MachineReport{{Machine: fleet.Machine{Name: "near-0"}}},
		},
		Observed: fleet.Observed{Guests: []fleet.GuestSeen{{Provider: "far", Silence: "no route to host"}, {Provider: "empty"}}},
	}
	m := w.maker(Options{})
	for _, when := range []string{"at first", "and again"} {
		r := m.pass(t.Context(), c).Report
		expect(t, when+" machines are", r.Machines, []fleet.MachineReport{{Machine: fleet.Machine{Name: "far-0", Provider: "far"}}, {Machine: fleet.Machine{Name: "near-0"}}})
		expect(t, when+" pools are", r.Pools, []fleet.PoolReport{{Name: "far", Current: 1}, {Name: "near", Current: 1}, {Name: "kept", Current: 3}})
		store.Put(r, nil)
	}
}
