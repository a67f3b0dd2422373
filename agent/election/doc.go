// Package election lets the replicas of one agent choose a leader with a
// Kubernetes Lease, and tells each what it may do by its own clocks.
//
// What it guarantees:
//
//   - A replica that leads stops before another may begin: it counts the time
//     that it may lead from before it asked for the Lease, and others wait longer
//     than that.
//   - A Lease is given back only after everything that was done under it has
//     returned.
//   - A term is one unbroken time of leading. A replica whose Lease was held by
//     another in between begins a new one, with nothing of the old in memory.
//
// The election itself is client-go's.
//
//	e, err := election.New(election.Options{Leases: api, Namespace: "fairlead-system", Name: "fairlead", Identity: id})
//	err = e.Run(ctx, func(ctx context.Context, t *election.Term) error {
//		return work(ctx, t.Held) // ctx ends with the term; t.Held is asked before each change
//	})
package election
