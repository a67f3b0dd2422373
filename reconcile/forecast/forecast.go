package forecast

import (
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// mostSteps bounds the plans of one forecast, for each machine and each machine pool that is there or is
// wanted: a model that never rests is a defect, and must not run forever.
const mostSteps = 60

// unbounded is the budget of a forecast that takes as long as it takes.
const unbounded = int(^uint(0) >> 1)

// Of returns what repeated plans for in come to. What an agent remembers of its own
// attempts does not matter to it, nor how long a provider takes.
func Of(in plan.Input) Forecast {
	f, _ := Within(unbounded, func() error { return nil }, in)
	return f
}

// Within is Of for what others define, which may take long to come to rest. It ends with the error of stopped,
// which is asked before each plan, or with one of kind Exhausted if all plans together look at more machines
// than the budget.
func Within(budget int, stopped func() error, in plan.Input) (Forecast, error) {
	if in.Desired.Abandon {
		return Forecast{Observed: in.Observed, Memory: in.Memory}, nil
	}
	m := newModel(in)
	r := newRecord(in.Desired, in.Observed)
	var last []fleet.OperationID
	r.noteHosts(in.Observed.Infrastructure.Hosts)
	settled := false
	for range mostSteps * (4 + len(in.Observed.Infrastructure.Machines) + len(in.Observed.Infrastructure.Pools) + wanted(in.Desired)) {
		if err := stopped(); err != nil {
			return Forecast{}, err
		}
		if budget -= len(m.observed.Infrastructure.Machines) + m.keptMachines(); budget < 0 {
			return Forecast{}, fleet.Errorf(fleet.Exhausted, "forecast "+in.Desired.Key.String(), "it takes too many steps for its machines")
		}
		next := m.input()
		next.Unreported = true
		p := plan.Compute(next)
		m.memory = p.Memory
		did := operations(p.Actions)
		if len(did) == 0 || slices.Equal(did, last) {
			next.Unreported = false
			p = plan.Compute(next)
			switch {
			case !settled:
				r.unseen = m.settle(p)
				settled = true
			case !m.passTime(p):
				return r.forecast(m, notes(p)), nil
			}
			last = nil
			continue
		}
		last = did
		for _, a := range p.Actions {
			r.note(p.Desired, m, a)
			m.carryOut(p.Desired, a)
		}
	}
	return r.forecast(m, []string{"the plan does not come to rest"}), nil
}

// forecast returns what was done on m.
func (r *record) forecast(m *model, notes []string) Forecast {
	return Forecast{Changes: r.changes(), Notes: notes, Observed: m.observed, Memory: m.memory}
}

func wanted(c *fleet.Cluster) (n int) {
	for _, p := range c.Pools() {
		n += p.Replicas
	}
	return n + len(c.KeptPools) // of which each takes the same few steps for any number
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
