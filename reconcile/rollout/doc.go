// Package rollout decides what each cluster of a fleet is held to. It is the
// decision about a fleet as reconcile/plan is the decision about one cluster: a
// pure function of its input, which reads no clock and changes nothing.
//
// Decide takes what was decided before and what is new since (a revision, reports
// of passes, requests, numbers of machines, the time). It returns the state that
// follows and what is to be done about it. State.Target says, for each cluster, to
// which definition it is held, and why nothing is done where nothing is.
//
//	before := rollout.Recorded(record) // what the status branch says
//	d := rollout.Decide(rollout.Input{
//		Before: before, Now: now, Newest: &rollout.Revision{Revision: rev, Fleet: &f},
//	})
//	for _, k := range d.Changed {
//		t, _ := d.State.Target(k) // t.Cluster is what a pass makes so
//	}
//
// What it guarantees:
//
//   - A definition that is broken never replaces a good one: the cluster stays at
//     its last good definition, and the others go on.
//   - A cluster that vanishes from Git is told, and deleted only where the fleet
//     asks for that, and only so many at once.
//   - A request is heeded once its answer is on the status branch.
//   - A cluster whose record cannot be read is left alone.
//   - Equal inputs give equal decisions, and no input is changed.
//
// Rules about several clusters, such as waves and windows, belong here: a rule is one
// more reason for a cluster to keep the definition that it has.
package rollout
