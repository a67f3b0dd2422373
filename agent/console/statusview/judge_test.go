package statusview

import (
	"cmp"
	"strings"
	"testing"

	"fairlead.dev/agent/plans/scope"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// TestJudge: nothing is done before what was pushed is what every cluster is.
func TestJudge(t *testing.T) {
	old, pushed := fleet.Revision{Ref: "main", Digest: "sha1:old"}, fleet.Revision{Ref: "main", Digest: "sha1:new"}
	eu1, eu2 := fleet.Key{Namespace: "prod", Name: "eu-1"}, fleet.Key{Namespace: "prod", Name: "eu-2"}
	done := func() status.Status {
		report := fleet.Report{Cluster: eu1, Overlay: "clusters/prod/eu-1", Revision: pushed, Phase: fleet.PhaseProvisioned}
		return status.Status{
			Owner:    fleet.Owner{Agent: "a", Epoch: 1},
			Fleet:    sources.FleetStatus{Fleet: "f", Revision: pushed, Applied: pushed},
			Clusters: []status.Cluster{{Report: report}},
		}
	}
	for name, c := range map[string]struct {
		reason  string
		scope   scope.Scope
		change  func(s *status.Status)
		refused string
		lacks   string
	}{
		"done":     {reason: "everything is as pushed", change: func(*status.Status) {}},
		"nobody":   {reason: "nobody will say", change: func(s *status.Status) { *s = status.Status{} }, lacks: "no agent has followed"},
		"not seen": {reason: "the status is of another revision", change: func(s *status.Status) { s.Fleet.Revision, s.Fleet.Applied = old, old }, lacks: "has not seen revision new yet, it is at old"},
		"refused": {reason: "seen is not applied", change: func(s *status.Status) {
			s.Fleet.Applied, s.Fleet.Broken = old, true
			s.Fleet.Problems = []fleet.Problem{{Message: "no such kind"}}
		}, refused: "revision new is refused, everything stays at old: no such kind"},
		"late": {reason: "a forge that is behind", change: func(s *status.Status) {
			s.Fleet.Applied = old
			s.Fleet.Problems = []fleet.Problem{{Message: "not our ref"}}
		}, lacks: "cannot get revision new yet, everything is at old: not our ref"},
		"older agent": {reason: "what is not said is not so", change: func(s *status.Status) { s.Fleet.Applied = fleet.Revision{} }, lacks: "of a version that does not tell"},
		"not begun":   {reason: "the phase is that of the definition before", change: func(s *status.Status) { s.Fleet.Behind = []fleet.Key{eu1} }, lacks: "no look has found cluster prod/eu-1"},
		"new":         {reason: "a cluster without a report", change: func(s *status.Status) { s.Fleet.Behind = []fleet.Key{eu2} }, lacks: "no look has found cluster prod/eu-2"},
		"broken": {reason: "its phase is that of its last good definition", change: func(s *status.Status) {
			s.Fleet.Broken = true
			s.Fleet.Problems = []fleet.Problem{{Overlay: "clusters/prod/eu-1", Message: "no version"}}
		}, refused: "not applied as a whole: "},
		"beside": {reason: "the escrow is no part of what was pushed", change: func(s *status.Status) {
			s.Fleet.Problems = []fleet.Problem{{File: "fleet.yaml", Message: "the escrow is behind"}}
		}},
		"on its way": {reason: "a phase that is not the last", change: func(s *status.Status) { s.Clusters[0].Report.Phase = fleet.PhaseWorkers }, lacks: "cluster prod/eu-1 is Workers"},
		"failing":    {reason: "nobody knows what it is", change: func(s *status.Status) { s.Clusters[0].Report.Failure = "no route" }, lacks: "no route"},
		"kept": {reason: "its deletion is held up", change: func(s *status.Status) {
			s.Clusters[0].Report.Problems = []fleet.Problem{{Message: "the agent lives there"}}
		}, lacks: "the agent lives there"},
		"refused by the planner": {reason: "a cluster is well and is not what was pushed", change: func(s *status.Status) {
			s.Clusters[0].Report.Conditions = []fleet.Condition{{Type: "Accepted", Status: fleet.False, Reason: "Refused", Message: "the ranges stay"}}
		}, refused: "cluster prod/eu-1: the ranges stay"},
		"refused, and not at rest": {reason: "what is refused may be mended by the next look", change: func(s *status.Status) {
			s.Fleet.Behind = []fleet.Key{eu1}
			s.Clusters[0].Report.Phase = fleet.PhaseControlPlane
			s.Clusters[0].Report.Conditions = []fleet.Condition{{Type: "Accepted", Status: fleet.False, Reason: "Refused", Message: "this skips a minor version"}}
		}, lacks: "this skips a minor version"},
		"deferred": {reason: "a pool is of another version", change: func(s *status.Status) {
			s.Clusters[0].Report.Conditions = []fleet.Condition{{Type: "TopologyReconciled", Status: fleet.False, Reason: "MachineDeploymentsUpgradeDeferred", Message: "md deferred"}}
		}, lacks: "cluster prod/eu-1: md deferred"},
		"orphan": {reason: "it stays as it is", change: func(s *status.Status) {
			s.Fleet.Orphans = []fleet.Key{eu1}
			s.Clusters[0].Report.Phase = fleet.PhaseWorkers
		}},
		"deleted": {reason: "it was to go", change: func(s *status.Status) { s.Clusters[0].Report.Phase = fleet.PhaseDeleted }},
		"broken aside": {reason: "another folder", scope: "clusters/prod/eu-1", change: func(s *status.Status) {
			s.Fleet.Broken = true
			s.Fleet.Problems = []fleet.Problem{{Overlay: "clusters/x", Message: "no"}}
		}},
		"behind aside": {reason: "another folder", scope: "clusters/prod/eu-1", change: func(s *status.Status) { s.Fleet.Behind = []fleet.Key{eu2} }},
	} {
		t.Run(name, func(t *testing.T) {
			s := done()
			c.change(&s)
			got := Judge(pushed, s, cmp.Or(c.scope, scope.All))
			for what, pair := range map[string][2]string{"refused": {got.Refused, c.refused}, "lacks": {got.Lacks, c.lacks}} {
				if !strings.Contains(pair[0], pair[1]) || (pair[0] == "") != (pair[1] == "") {
					t.Errorf("%s: %s is %q, want %q", c.reason, what, pair[0], pair[1])
				}
			}
		})
	}
}
