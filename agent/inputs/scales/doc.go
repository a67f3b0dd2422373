// Package scales brings the numbers of machines that Git leaves to somebody else, such
// as an autoscaler, from the status branch to the decision about the fleet, and writes
// down what is decided. It decides nothing: see reconcile/rollout.
//
//	s := scales.New(scales.Parts{Branch: branch, Fleet: fleet, …})
//	numbers, err := s.Read(ctx) // before the first pass: a pool stays as it was scaled
//	…
//	s.Poll(ctx, owner) // with each poll
//	err = s.Scale(ctx, owner, cluster, change)
//
// What it guarantees:
//
//   - A number counts once it is written to the branch.
//   - One decision is taken after the other, and who waits for his turn waits no longer
//     than his context.
package scales
