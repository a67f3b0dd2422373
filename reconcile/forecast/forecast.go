package forecast

import (
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// mostSteps bounds the plans of one forecast, for each machine that is there or is
// wanted: a model that never comes to rest is a defect, and must not be an endless one.
const mostSteps = 60

// Of returns what repeated plans for in come to. What an agent remembers of its own
// attempts does not matter to it, nor how long a provider takes.
func Of(in plan.Input) Forecast {
	if in.Desired.Abandon {
		return Forecast{Observed: in.Observed, Memory: in.Memory}
	}
	m := newModel(in)
	r := newRecord(in.Desired, in.Observed)
	var last []fleet.OperationID
	r.noteHosts(in.Observed.Infrastructure.Hosts)
	settled := false
	for range mostSteps * (4 + len(in.Observed.Infrastructure.Machines) + wanted(in.Desired)) {
		p := plan.Compute(m.input())
		m.memory = p.Memory
		did := operations(p.Actions)
		if len(did) == 0 || slices.Equal(did, last) {
			switch {
			case !settled:
				r.unseen = m.settle(p)
				settled = true
			case !m.passTime(p):
				return Forecast{Changes: r.changes(), Notes: notes(p), Observed: m.observed, Memory: m.memory}
			}
			last = nil
			continue
		}
		last = did
		for _, a := range p.Actions {
			r.note(p.Desired, &m.observed, a)
			m.carryOut(p.Desired, a)
		}
	}
	return Forecast{Changes: r.changes(), Notes: []string{"the plan does not come to rest"}, Observed: m.observed, Memory: m.memory}
}

func wanted(c *fleet.Cluster) (n int) {
	for _, p := range c.Pools() {
		n += p.Replicas
	}
	return n
}

func operations(actions []fleet.Action) []fleet.OperationID {
	ids := make([]fleet.OperationID, 0, len(actions))
	for _, a := range actions {
		ids = append(ids, a.Operation)
	}
	return ids
}

// notes are what a plan at rest says of what it does not do.
func notes(p plan.Plan) []string {
	out := slices.Concat(p.Notes, p.Waiting)
	for _, c := range p.Conditions {
		if c.Type == clusterv1.ClusterTopologyReconciledCondition && c.Status == fleet.False && c.Reason != clusterv1.ClusterTopologyReconcilePausedReason &&
			c.Reason != clusterv1.ClusterTopologyReconciledDeletingReason {
			out = append(out, c.Message)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
