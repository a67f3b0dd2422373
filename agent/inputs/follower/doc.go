// Package follower follows the source of a fleet: it polls, gets each new revision rendered,
// and has the fleet decide on what came of it.
//
//	trigger := follower.NewTrigger()
//	err := follower.Run(ctx, follower.Parts{Revisions: revisions, Fleet: decisions, Trigger: trigger, …})
//	…
//	trigger.Fire() // a forge tells of a push
//
// What it guarantees:
//
//   - Nothing is rendered before what the agent before this one decided was read.
//   - A revision that cannot be used leaves everything unchanged, and is reported. One that cannot
//     be got is tried again, ever less often; one that is refused is not, but where another
//     key may be good for it.
//   - A storm of pushes is one poll a second, and a push that a forge announces before it
//     shows it is found a moment later.
//   - An unchanged fleet costs one look at the head of a branch per poll.
package follower
