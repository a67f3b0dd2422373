// Package ownership knows whether this agent may act on a fleet. owner.yaml on the status
// branch names the owner. Package sources has the contract of how that file changes.
//
// What it guarantees:
//
//   - No pass begins, and nothing is changed, while another agent may own the fleet. An
//     agent hands the fleet over after the last pass has ended, and makes no pass until it
//     has read who owns the fleet.
//   - Only the owner's own consent moves a fleet: as long as owner.yaml cannot be read,
//     the last answer stands.
//   - A successor says that it is ready after it has looked at every cluster with its own
//     credentials, and has seen what the owner sees.
//   - Secrets are frozen from when the owner agrees to a move until it ends.
//
// For example:
//
//	claim := ownership.New(ownership.Options{Self: "eu", Interval: time.Minute}, parts)
//	owned, err := claim.Acquire(ctx, branch)
//	…
//	end, err := claim.BeginPass(ctx)
//	if err == nil {
//		defer end()
//		…
//	}
package ownership
