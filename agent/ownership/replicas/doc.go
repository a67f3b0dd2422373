// Package replicas lets several processes be one agent: they choose a leader. The leader
// acts, and the others stand by.
//
// The leader holds a Kubernetes Lease. An Elector tells each replica what it may do, by its
// own clocks:
//
//   - A replica that leads stops before another may begin: it counts the time
//     that it may lead from before it asked for the Lease, and others wait longer
//     than that.
//   - A Lease is given back only after everything that was done under it has
//     returned.
//   - A term is one unbroken time of leading. A replica whose Lease was held by
//     another in between begins a new one, with nothing of the old in memory.
//   - Replicas of former versions shared the clusters of a fleet, and made passes that
//     their leader asked them for. The first leader of this version waits until no such
//     pass may act.
//
// docs/contributing/adr/0026-a-leader-and-standbys.md says why.
//
//	e, err := replicas.NewElector(replicas.ElectionOptions{Leases: api, Namespace: "fairlead-system", Name: "fairlead", Identity: id})
//	err = e.Run(ctx, func(ctx context.Context, t *replicas.Term) error {
//		return work(ctx, t.Leading) // ctx ends with the term; t.Leading is asked before each change
//	})
package replicas
