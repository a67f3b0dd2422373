package replicas

import (
	"context"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

// retryAfter is when a pass that nobody could make is tried once more.
const retryAfter = time.Second

// may says why the reconciler of s may not change k, before each change.
func (r *Replica) may(s *shard, k fleet.Key) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	op := "change cluster " + k.String()
	switch {
	case r.fence == nil || !r.fence.Holds():
		return fleet.Errorf(fleet.Unauthorized, op, "the session of this replica was not renewed in time")
	case s.ended:
		return fleet.Errorf(fleet.Unauthorized, op, "this replica gives the cluster to another")
	case !r.leader.holds(r.leader.leader):
		return fleet.Errorf(fleet.Unauthorized, op, "the leader is silent")
	}
	return nil
}

// Pass makes a pass over c for the leader, or says that it is to be made later. What the leader
// says of secrets counts in this replica until the next pass.
func (r *Replica) Pass(ctx context.Context, leader string, c *fleet.Cluster, known fleet.Memory, frozen string) reconcile.Result {
	postponed := reconcile.Result{Err: reconcile.ErrPostponed, After: retryAfter}
	s, leads := r.begin(leader, c.Key)
	if s == nil {
		return postponed
	}
	defer r.finish(s, c.Key)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	defer context.AfterFunc(leads, cancel)()
	select {
	case r.workers <- struct{}{}:
		defer func() { <-r.workers }()
	case <-ctx.Done():
		return postponed
	}
	if r.o.Freeze != nil {
		r.o.Freeze(frozen)
	}
	res := s.reconciler.Pass(ctx, c, known)
	if ctx.Err() != nil { // what it says is of the interruption
		return postponed
	}
	return res
}

// begin begins a pass over k, if this replica may, and nobody else makes one. It returns the
// life of the leader's word.
func (r *Replica) begin(leader string, k fleet.Key) (*shard, context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.shards[ShardOf(k, r.o.Shards)]
	switch {
	case s == nil || s.ended || s.busy[k]:
	case r.fence == nil || !r.fence.Holds():
	case !r.leader.holds(leader):
	default:
		s.busy[k] = true
		s.passes.Add(1)
		return s, r.leader.ctx
	}
	return nil, nil
}

func (r *Replica) finish(s *shard, k fleet.Key) {
	r.mu.Lock()
	delete(s.busy, k)
	r.mu.Unlock()
	s.passes.Done()
}
