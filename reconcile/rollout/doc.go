// Package rollout decides the target of each cluster of a fleet: the definition that
// passes over the cluster work towards. It is the decision about a fleet as
// reconcile/plan is the decision about one cluster: a pure function of its input, which
// reads no clock and changes nothing.
//
// Decide takes what was decided before and what is new since: a revision, reports of
// passes, requests, numbers of machines, the time. It returns the state that follows, and
// what is to be done about it. State.Target says what the target of a cluster is, and why
// nothing is done to the cluster where nothing is.
//
//	before := rollout.Recorded(record) // what the status branch says
//	d := rollout.Decide(rollout.Input{
//		Before: before, Now: now, Newest: &rollout.Revision{Revision: rev, Fleet: &f},
//	})
//	for _, k := range d.Changed {
//		t, _ := d.State.Target(k) // a pass works towards t.Cluster
//	}
//
// What it guarantees:
//
//   - A definition that is broken never replaces a good one: the cluster stays at
//     its last good definition, and the others go on.
//   - A control plane takes one minor version of Kubernetes at a time, and none back: a
//     definition with another version is one that is broken, until the control plane may go there.
//   - A cluster that vanishes from Git is reported, and deleted only where the fleet
//     asks for that, and only so many at once.
//   - A request counts once its answer is on the status branch.
//   - A cluster whose record cannot be read is left alone.
//   - Equal inputs give equal decisions, and no input is changed.
//
// The package is called rollout because rules about several clusters, such as waves and
// windows, belong here: a rule is one more reason for a cluster to keep its target.
package rollout
