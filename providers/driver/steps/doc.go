// Package steps is for infrastructure providers that change infrastructure in steps: pure code
// decides from an observation which steps are left, and Perform takes those that are possible
// now.
//
// The same decision is what the provider reports: steps for ready infrastructure are its drift,
// and what a step waits for is its message.
//
//	errs := steps.Perform(ctx, func() []steps.Step { return v.decide() }, wrap)
//
// Each step adds its result to the observation for the next decision, and marks other snapshots
// as outdated. Each works on several machines at one time.
package steps
