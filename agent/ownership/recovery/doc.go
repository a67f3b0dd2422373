// Package recovery brings a fleet back whose home is gone, with all that the home kept: it
// restores the secrets from escrow, and shows that no other cluster would be changed.
//
// What it guarantees:
//
//   - Nothing that others see is changed.
//   - Secrets that are there already stay unchanged, so that it may be repeated.
//   - Where the plan is not empty but for the home, or another agent may still own the
//     fleet, it is an error: the caller takes over nothing then.
//
// For example:
//
//	err := recovery.Run(ctx, recovery.Options{Escrow: opened, Fleet: id, Home: home, To: store, Plan: plan, Out: os.Stdout})
package recovery
