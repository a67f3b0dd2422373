// Package replicas lets several processes be one agent: they choose a leader, and share
// the clusters of its fleet.
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
//
// Each cluster belongs to one of N shards, by a hash of its key. Each shard has
// a Lease that names the session of the replica that holds it. A session is a
// Lease too: its replica renews it, and so one write keeps any number of shards.
// A replica that finds a session expired deletes its Lease, on the condition that
// the Lease still is as it was found; only then the session's shards are
// free. So a renewal either came before, or comes too late for good.
//
// The leader alone fetches Git, decides which definition of a cluster is held
// to, and writes status. It hands each pass to the replica that holds the
// cluster's shard, and gets the report back. A replica acts only
//
//   - in a pass that the leader asked for,
//   - while its session surely is its own, by its own clocks,
//   - while the leader fence holds: the leader surely was the leader, and the owner of the
//     fleet, a short time ago. It must have returned a nonce that the replica made then.
//
// docs/contributing/adr/0007-shards-by-session.md says why.
//
// What replicas tell each other is JSON over HTTP. With gRPC each field of fleet.Cluster and
// fleet.Report would stand in a .proto as well; as it is a new field travels by itself,
// replicas of two versions understand each other, and TestNothingIsLost sees what does not
// travel.
//
//	e, err := replicas.NewElector(replicas.ElectionOptions{Leases: api, Namespace: "fairlead-system", Name: "fairlead", Identity: id})
//	err = e.Run(ctx, func(ctx context.Context, t *replicas.Term) error {
//		return work(ctx, t.Leading) // ctx ends with the term; t.Leading is asked before each change
//	})
package replicas
