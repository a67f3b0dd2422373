// Package begin decides how an agent starts: on which status branch, as the owner or not,
// and which revision its clusters get. [Decide] is a pure function of what was read
// so far. It returns the next step, and the caller takes that step and asks again.
//
// A start is a continuation. For each state in which an agent can run there is a state from
// which it starts, and both hold the clusters to the same revision:
//
//   - The status of a fleet stays on the branch that has an owner. Another name, in
//     fleet.yaml or in --status-branch, makes no second owner.
//   - A status branch without an owner is claimed only after the newest revision was read,
//     and after the agent has proved that it can act for the clusters that exist.
//   - If the newest revision cannot be used, the clusters stay at the revision that the
//     status branch has as applied.
//   - A damaged fleet.yaml on the status branch, most of which is derived, stops no cluster.
//     If trusted keys say who may push, it stops the start, since it says what was followed.
//
// For example:
//
//	in := begin.Input{Flags: begin.Flags{Self: "ops"}}
//	for {
//		step := begin.Decide(in)
//		switch step.Do {
//		case begin.ReadTip:
//			in.Tip = …
//		case begin.ReadBranch:
//			in.Branches[step.Branch] = …
//		case begin.Use:
//			…
//		}
//	}
package begin
