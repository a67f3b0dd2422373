package agent

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/agent/ownership"
	"fairlead.dev/agent/reports"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// asked is a reconciler that keeps the memory that it was given.
type asked struct {
	reconcile.Passes
	known fleet.Memory
}

func (a *asked) Pass(_ context.Context, _ *fleet.Cluster, known fleet.Memory) reconcile.Result {
	a.known = known
	return reconcile.Result{}
}

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
	asked := &asked{}
	a := &session{Agent: &Agent{claim: ownership.New(ownership.Options{}, ownership.Parts{}), targets: &targets{reports: reports.New()}}, reconciler: asked}
	a.targets.reports.Recall([]fleet.Report{told})
	check := func(from string, want fleet.Report) {
		t.Helper()
		a.pass(t.Context(), &fleet.Cluster{Key: k})
		if d := cmp.Diff(want.Memory, asked.known); d != "" {
			t.Errorf("from %s comes (-want +got):\n%s", from, d)
		}
	}
	check("the status branch", told)
	newer := fleet.Report{Cluster: k, Phase: fleet.PhaseProvisioned, Memory: fleet.Memory{Fingerprint: "n"}}
	a.targets.reports.Put(newer, nil)
	check("the last pass", newer)
	a.targets.reports.Forget(k)
	check("a cluster of that name that came before", fleet.Report{})
}
