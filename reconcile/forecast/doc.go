// Package forecast tells what all a plan leads to: it runs plan.Compute to rest on a
// model of the cluster, in which every action succeeds at once. There is no second
// planner: what people review before a push is what Compute decides after it.
//
//	f := forecast.Of(plan.Input{Desired: cluster, Observed: seen, Memory: known, Now: seen.At})
//	for _, c := range f.Changes {
//		fmt.Println(c.Kind, c.Machine, c.Reason)
//	}
//
// The model assumes that nothing breaks from now on, and that what can get well does:
// machines that boot join, drains end, hooks are taken away, an API server that is out
// of reach answers. What a health check finds unhealthy, and what is held, stays unchanged. No
// time passes, so nothing is in a forecast that is due later only: but for the day that
// the rotation of an authority rests between two stages, and the time between two
// attempts to replace an unhealthy machine.
//
// The package is pure, as plan is: equal inputs give equal forecasts.
package forecast
