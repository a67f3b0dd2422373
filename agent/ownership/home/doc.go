// Package home brings a fleet to its home: the cluster that spec.home of fleet.yaml names,
// in which the agent lives. Package pivot has the steps of such a move.
//
// What it guarantees:
//
//   - Nothing is changed for a move before the status branch says that the move began, so
//     that any later agent can take it back.
//   - A move to a home that fleet.yaml does not name any more is taken back, also one that
//     another agent began. While the home does not answer, the status says what is left there,
//     and any later agent tries again.
//   - An agent does not delete the cluster that it lives in, with the secrets of all
//     others.
//
// For example:
//
//	h := home.New(home.Options{Self: "laptop", Interval: time.Minute}, parts)
//	h.Restore(status.Fleet.Home)
//	go h.Run(ctx, branch)
//	…
//	h.Check() // fleet.yaml is another one
package home
