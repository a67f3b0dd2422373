package statusview

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// The order is by what is asked for, and by name where that is equal.
func TestLoads(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	cluster := func(name string, desired, upToDate, ready int, since time.Time) status.Cluster {
		c := status.Cluster{Report: fleet.Report{
			Cluster: fleet.Key{Namespace: "prod", Name: name}, Phase: fleet.PhaseProvisioned,
			Pools:    []fleet.PoolReport{{Name: "p", Desired: desired, Current: desired, UpToDate: upToDate, Ready: ready}},
			Machines: make([]fleet.MachineReport, desired),
		}}
		if !since.IsZero() {
			c.Cluster.Status.Conditions = []metav1.Condition{{Type: "Available", Status: metav1.ConditionFalse, LastTransitionTime: metav1.NewTime(since)}}
		}
		return c
	}
	s := status.Status{
		Clusters: []status.Cluster{
			cluster("a", 3, 3, 3, time.Time{}), cluster("b", 5, 1, 5, at.Add(time.Hour)), cluster("c", 9, 9, 8, at), cluster("d", 1, 1, 1, time.Time{}),
		},
		Fleet: sources.FleetStatus{Rollout: fleet.RolloutStatus{Waiting: []fleet.Wait{{Cluster: fleet.Key{Namespace: "prod", Name: "d"}, Why: "it is frozen", Since: at.Add(-time.Hour)}}}},
	}
	for order, want := range map[string][]string{
		ByWaiting:  {"prod/d", "prod/c", "prod/b", "prod/a"},
		ByChanges:  {"prod/b", "prod/a", "prod/c", "prod/d"},
		ByMachines: {"prod/c", "prod/b", "prod/a", "prod/d"},
	} {
		var got []string
		for _, l := range Loads(s, order) {
			got = append(got, l.Cluster)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", order, d)
		}
	}
	got := Loads(s, ByChanges)[0]
	if got.Changes != 4 || got.NotReady != 0 || got.Machines != 5 || !got.Since.Equal(at.Add(time.Hour)) {
		t.Errorf("%+v", got)
	}
}
