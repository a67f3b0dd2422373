// Package steps is for infrastructure providers that bring what is there nearer to what
// Git says, a little with each call: pure code decides from what was seen which steps
// there are, and Perform takes those that are possible now.
//
// Deciding is also how the provider tells what it would do: the steps of what is ready
// are its drift, and what a step waits for is its message.
//
//	errs := steps.Perform(ctx, func() []steps.Step { return v.decide() }, wrap)
//
// Each step enters what it did into what was seen, so that the next decision knows it,
// and says that other snapshots are outdated.
package steps
