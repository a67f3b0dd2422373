// Package decisions keeps what is decided of a fleet, with the newest report of each
// cluster. It has reconcile/rollout decide on what is new, one thing after the other, and
// hands what follows to the queue and to those that follow it.
//
//	d := decisions.New(queue, reports)
//	d.Follow(func(made rollout.Decision) { … })
//	d.Restore(state, recorded)                          // what an agent before this one decided
//	d.DecideBulk(rollout.Input{Newest: &revision})      // a push
//	target, known := d.Now().Target(key)                // what a pass works towards
//	newest, known := d.Passed(pass, seen, atRest)       // what came of it
//	others := d.Neighbors(target.Cluster)               // what a cluster that draws addresses has to know of the others
//
// What it guarantees:
//
//   - Each decision follows from the one before it, in any goroutine.
//   - A cluster is forgotten here and among the reports at once: a pass that ends later
//     does not bring its report back.
package decisions
