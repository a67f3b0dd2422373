package plan

import (
	"slices"

	"fairlead.dev/fleet"
)

// dropReleased leaves machines out that are no part of the cluster any more, and tells of
// their hosts.
func (f *facts) dropReleased() {
	i := &f.Observed.Infrastructure
	released := func(m fleet.Machine) bool { return m.State == fleet.MachineReleased }
	if !slices.ContainsFunc(i.Machines, released) {
		return
	}
	for _, m := range i.Machines {
		if released(m) {
			f.note("machine %s left the cluster, and its host is busy still%s", m.Name, because(m.Message))
		}
	}
	i.Machines = slices.DeleteFunc(slices.Clone(i.Machines), released)
}

// dropFailed forgets the attempts to make machines of which the provider says that they
// failed: nothing is to be expected of them. One that was begun after the failure, by
// the agent's clock, is another attempt.
func (f *facts) dropFailed() {
	over := func(a fleet.Attempt) bool {
		return a.Action.Kind == fleet.CreateMachine && slices.ContainsFunc(f.Observed.Infrastructure.Failures, func(o fleet.Failure) bool {
			return o.Operation == a.Action.Operation && o.At.After(a.At)
		})
	}
	if slices.ContainsFunc(f.Attempts, over) {
		f.Attempts = slices.DeleteFunc(slices.Clone(f.Attempts), over)
	}
}
