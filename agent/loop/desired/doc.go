// Package desired says which targets clusters would have, were a revision the newest. It
// decides as agents do, by reconcile/rollout, after what the status branch says.
//
//	want := desired.Of(status, fleet, now)
//	for _, c := range want.Clusters {
//		// what plan.Compute is given, with want.Memory[c.Key]
//	}
//
// What it guarantees: an agent that starts with that status branch and that revision
// works towards the same.
package desired
