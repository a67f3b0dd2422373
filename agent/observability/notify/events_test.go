package notify_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/agent/observability/notify"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

var (
	eu1 = fleet.Key{Namespace: "prod", Name: "eu-1"}
	rev = fleet.Revision{Ref: "main", Digest: "sha1:5b3c7e0a1f2d4c6b8a9e0f1d2c3b4a5968778695"}
)

func at(phase fleet.Phase, change ...func(*fleet.Report)) fleet.Report {
	r := fleet.Report{Cluster: eu1, Phase: phase, Version: "v1.34.1", Revision: rev, Machines: make([]fleet.MachineReport, 3)}
	for _, f := range change {
		f(&r)
	}
	return r
}

func provisioned(r *fleet.Report) { r.Milestones.Provisioned = time.Unix(1, 0) }

func TestEventsOfClusters(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		change status.ClusterChange
		want   []string
	}{
		"New":         {"a cluster that is begun is no news", status.ClusterChange{New: at(fleet.PhaseInfrastructure), Fresh: true}, nil},
		"Provisioned": {"made anew", status.ClusterChange{Old: at(fleet.PhaseWorkers), New: at(fleet.PhaseProvisioned, provisioned)}, []string{"ClusterProvisioned prod/eu-1: Kubernetes v1.34.1, 3 machines"}},
		"Adopted":     {"it was there before anybody noted it", status.ClusterChange{Old: at(""), New: at(fleet.PhaseProvisioned)}, nil},
		"Again":       {"it was scaled, or repaired", status.ClusterChange{Old: at(fleet.PhaseWorkers, provisioned), New: at(fleet.PhaseProvisioned, provisioned), Upgraded: "v1.34.1"}, nil},
		"Upgraded":    {"all of it has another version", status.ClusterChange{Old: at(fleet.PhaseWorkers, provisioned), New: at(fleet.PhaseProvisioned, provisioned), Upgraded: "v1.33.5"}, []string{"ClusterUpgraded prod/eu-1: Kubernetes v1.33.5 → v1.34.1"}},
		"Underway":    {"it is not upgraded before all of it is", status.ClusterChange{Old: at(fleet.PhaseControlPlane, provisioned), New: at(fleet.PhaseWorkers, provisioned), Upgraded: "v1.33.5"}, nil},
		"Deleted":     {"nothing is left", status.ClusterChange{Old: at(fleet.PhaseDeleting), New: at(fleet.PhaseDeleted)}, []string{"ClusterDeleted prod/eu-1: all its resources are deleted: remove its folder"}},
		"Abandoned":   {"forgotten", status.ClusterChange{Old: at(fleet.PhaseDeleting), New: at(fleet.PhaseAbandoned)}, []string{"ClusterAbandoned prod/eu-1: it is no longer managed; its resources remain"}},
		"Pruned":      {"deleted when it had left Git", status.ClusterChange{Old: at(fleet.PhaseDeleting), Gone: true}, []string{"ClusterDeleted prod/eu-1: it is deleted and removed from Git"}},
		"Removed":     {"its folder went after it was deleted", status.ClusterChange{Old: at(fleet.PhaseDeleted), Gone: true}, nil},
		"Machines": {"machines that go, each once", status.ClusterChange{
			Old: at(fleet.PhaseWorkers), New: at(fleet.PhaseWorkers), Actions: []string{"CreateMachine b: pool md has 0 of 1 machines", "DeleteMachine a: unhealthy: Ready is False", "DeleteMachine a: unhealthy: Ready is False"},
		}, []string{"MachineDeleted prod/eu-1 a: unhealthy: Ready is False"}},
		"MachinesOfTheDeleted": {"they go with their cluster", status.ClusterChange{Old: at(fleet.PhaseDeleting), New: at(fleet.PhaseDeleting), Actions: []string{"DeleteMachine a: the cluster is deleted"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, told(notify.Events(status.Change{Clusters: []status.ClusterChange{c.change}}))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestEventsOfProblems(t *testing.T) {
	of := func(k fleet.Key, file string, messages ...string) (out []fleet.Problem) {
		for _, m := range messages {
			out = append(out, fleet.Problem{Cluster: k, File: file, Message: m})
		}
		return out
	}
	for name, c := range map[string]struct {
		reason        string
		before, after []fleet.Problem
		want          []string
	}{
		"None":   {reason: "nothing is wrong"},
		"Found":  {reason: "those of a cluster are one event", after: of(eu1, "a.yaml", "first", "second"), want: []string{"ProblemFound prod/eu-1: a.yaml: first (and 1 more)"}},
		"Fleet":  {reason: "of the fleet", after: of(fleet.Key{}, "fleet.yaml", "bad"), want: []string{"ProblemFound fleet: fleet.yaml: bad"}},
		"Same":   {reason: "what lasts is told once", before: of(eu1, "a.yaml", "first"), after: of(eu1, "a.yaml", "first")},
		"More":   {reason: "what is new is told first", before: of(eu1, "a.yaml", "first"), after: of(eu1, "a.yaml", "first", "second"), want: []string{"ProblemFound prod/eu-1: a.yaml: second (and 1 more)"}},
		"Fewer":  {reason: "it is not solved while one is left", before: of(eu1, "a.yaml", "first", "second"), after: of(eu1, "a.yaml", "second")},
		"Solved": {reason: "with the last one it is", before: of(eu1, "a.yaml", "first"), want: []string{"ProblemSolved prod/eu-1: a.yaml: first"}},
		"Other":  {reason: "files are told apart", before: of(fleet.Key{}, "a.yaml", "x"), after: of(fleet.Key{}, "b.yaml", "x"), want: []string{"ProblemFound fleet: b.yaml: x", "ProblemSolved fleet: a.yaml: x"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, told(notify.Events(status.Change{Before: c.before, After: c.after, Revision: rev}))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestEventsOfStages(t *testing.T) {
	of := func(state fleet.StageState, why string) []fleet.StageStatus {
		return []fleet.StageStatus{{Name: "prod", State: state, Why: why, Clusters: 9, Waiting: 4}}
	}
	halted := of(fleet.StageHalted, "stage prod is halted: prod/eu-1: it is not available")
	for name, c := range map[string]struct {
		reason        string
		before, after []fleet.StageStatus
		want          []string
	}{
		"Halted":   {"nothing goes on by itself", of(fleet.StageChanging, ""), halted, []string{"RolloutHalted fleet: stage prod is halted: prod/eu-1: it is not available"}},
		"Still":    {"what lasts is told once", halted, of(fleet.StageHalted, "stage prod is halted: another one too"), nil},
		"Resumed":  {"it is mended, or released", halted, of(fleet.StageChanging, ""), []string{"RolloutResumed fleet: stage prod is no longer halted"}},
		"Approval": {"somebody has to approve", of(fleet.StageWaiting, ""), of(fleet.StageApproval, "stage prod waits for the approval of a person"), []string{"RolloutApproval fleet: stage prod waits for the approval of a person: changes wait for 4 of 9 clusters"}},
		"Goes on":  {"that is no news", of(fleet.StageWaiting, ""), of(fleet.StageChanging, ""), nil},
		"Gone":     {"fleet.yaml has it no more", halted, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, told(notify.Events(status.Change{StagesBefore: c.before, StagesAfter: c.after, Revision: rev}))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func told(events []fleet.Event) (out []string) {
	for _, e := range events {
		subject := e.Subject()
		if e.Machine != "" {
			subject += " " + string(e.Machine)
		}
		out = append(out, fmt.Sprintf("%s %s: %s", e.Type, subject, e.Message))
	}
	return out
}

func TestWants(t *testing.T) {
	e := func(typ fleet.EventType, k fleet.Key) fleet.Event { return fleet.Event{Type: typ, Cluster: k} }
	for name, c := range map[string]struct {
		target fleet.NotificationTarget
		event  fleet.Event
		want   bool
	}{
		"all":                     {fleet.NotificationTarget{}, e(fleet.ClusterUpgraded, eu1), true},
		"but machines":            {fleet.NotificationTarget{}, e(fleet.MachineDeleted, eu1), false},
		"machines by name":        {fleet.NotificationTarget{Events: []fleet.EventType{fleet.MachineDeleted}}, e(fleet.MachineDeleted, eu1), true},
		"others not":              {fleet.NotificationTarget{Events: []fleet.EventType{fleet.MachineDeleted}}, e(fleet.ClusterUpgraded, eu1), false},
		"a pattern":               {fleet.NotificationTarget{Clusters: []string{"dev/*", "prod/*"}}, e(fleet.ClusterUpgraded, eu1), true},
		"no pattern":              {fleet.NotificationTarget{Clusters: []string{"dev/*"}}, e(fleet.ClusterUpgraded, eu1), false},
		"the fleet":               {fleet.NotificationTarget{}, e(fleet.ProblemFound, fleet.Key{}), true},
		"the fleet is no cluster": {fleet.NotificationTarget{Clusters: []string{"*/*"}}, e(fleet.ProblemFound, fleet.Key{}), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.target.Wants(c.event); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
