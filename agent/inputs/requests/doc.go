// Package requests brings what people ask for on the status branch to the decision
// about the fleet, and its answers back. It decides nothing: see reconcile/rollout.
//
//	q := requests.New(requests.Parts{Branch: branch, Fleet: fleet, …})
//	standing, err := q.Read(ctx) // before the first pass: what stands, stands on
//	…
//	q.Poll(ctx, owner) // with each poll
//
// What it guarantees:
//
//   - A request takes effect once its answer is written to the branch.
//   - What came of a request is on the branch before the answer that it is done.
//   - A branch that cannot be read, or written, changes nothing; Problem tells of what
//     cannot be read.
package requests
