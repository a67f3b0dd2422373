// Package shard spreads the clusters of a fleet over the replicas of its agent.
//
// Each cluster belongs to one of N shards, by a hash of its key. Each shard has
// a Lease that names the session of the replica that holds it. A session is a
// Lease too: its replica renews it, and so one write keeps any number of shards.
// Who finds that a session was not renewed in time deletes its Lease, on the
// condition that it still is as it was found; only then the session's shards are
// free. So a renewal either came before, or comes too late for good.
//
// The leader alone fetches Git, decides which definition of a cluster is held
// to, and writes status. It hands each pass to the replica that holds the
// cluster's shard, and gets the report back. A replica acts only
//
//   - in a pass that the leader asked for,
//   - while its session surely is its own, by its own clocks,
//   - while the leader surely was the leader, and the owner of the fleet, a short
//     time ago: it must have answered a question that the replica asked then.
//
// docs/adr/0007-shards-by-session.md says why.
package shard
