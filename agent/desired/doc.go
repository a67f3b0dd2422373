// Package desired says what an agent would hold clusters to, were a revision the newest.
// It decides as agents do, by reconcile/rollout, after what the status branch says.
//
//	want := desired.Of(status, fleet, now)
//	for _, c := range want.Clusters {
//		// what plan.Compute is given, with want.Memory[c.Key]
//	}
//
// What it guarantees: an agent that starts with that status branch and that revision
// holds clusters to the same.
package desired
