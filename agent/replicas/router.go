package replicas

import (
	"context"
	"sync"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

// A Peer is a replica as the leader reaches it. *Replica is the leader's own.
type Peer interface {
	Heartbeat(ctx context.Context, leader, answer string) (nonce string, changed []fleet.Key, err error)
	// Pass makes a pass. frozen says why no secret may be stored in it; empty: it may.
	Pass(ctx context.Context, leader string, c *fleet.Cluster, known fleet.Memory, frozen string) reconcile.Result
}

// A Router is the leader's reconciler: it hands each pass to the replica that
// holds the cluster's shard.
type Router struct {
	replica *Replica
	dial    func(identity string) (Peer, error)
	may     func(fleet.Key) error
	changed func(fleet.Key)
	frozen  func() string

	mu      sync.Mutex
	peers   map[string]*peer // by session
	holders map[int]string   // session by shard, as last seen
	keys    map[fleet.Key]bool
}

type peer struct {
	Peer
	ctx context.Context //nolint:containedctx // it is the life of the peer
	end context.CancelFunc
}

var _ reconcile.Passes = (*Router)(nil)

// NewRouter returns the reconciler of the leader whose own replica is own. dial
// connects to the replica with that identity. may says whether this process
// still leads and owns the fleet; changed is told of clusters that are to be
// looked at; frozen says why no secret may be stored now, if that is so.
func NewRouter(own *Replica, dial func(identity string) (Peer, error), may func(fleet.Key) error, changed func(fleet.Key), frozen func() string) *Router {
	return &Router{
		replica: own, dial: dial, may: may, changed: changed, frozen: frozen,
		peers: make(map[string]*peer), holders: make(map[int]string), keys: make(map[fleet.Key]bool),
	}
}

// Close implements reconcile.Passes: what is under way ends with Attend.
func (r *Router) Close() {}

// Attend keeps in touch with all replicas until ctx ends.
func (r *Router) Attend(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	for ctx.Err() == nil {
		r.connect(ctx, &wg)
		if !pause(ctx, r.replica.o.Timing.Retry/2) {
			return nil
		}
	}
	return nil
}

// connect begins to keep in touch with new replicas, ends that with those that are gone, and asks
// for passes over the clusters of shards that changed hands.
func (r *Router) connect(ctx context.Context, wg *sync.WaitGroup) {
	known, own := r.replica.known()
	r.mu.Lock()
	var moved []fleet.Key
	defer func() {
		for _, k := range moved {
			r.changed(k)
		}
	}()
	defer r.mu.Unlock()
	for name, l := range known.sessions {
		if r.peers[name] != nil {
			continue
		}
		var to Peer = r.replica
		if name != own {
			var err error
			if to, err = r.dial(holder(l)); err != nil {
				r.replica.o.Log.Warn("cannot reach a replica", "replica", holder(l), "error", err)
				continue
			}
		}
		p := &peer{Peer: to}
		p.ctx, p.end = context.WithCancel(ctx)
		r.peers[name] = p
		wg.Go(func() { r.keepAlive(p, holder(l)) })
	}
	for name, p := range r.peers {
		if _, alive := known.sessions[name]; !alive {
			p.end()
			delete(r.peers, name)
		}
	}
	for i := range r.replica.o.Shards {
		now := known.holderOf(i)
		if now == r.holders[i] {
			continue
		}
		r.holders[i] = now
		for k := range r.keys {
			if now != "" && ShardOf(k, r.replica.o.Shards) == i {
				moved = append(moved, k)
			}
		}
	}
}

// keepAlive returns the nonces of p as long as this process leads.
func (r *Router) keepAlive(p *peer, identity string) {
	answer, failed := "", false
	for p.ctx.Err() == nil {
		if err := r.may(fleet.Key{}); err != nil { // the answer would be no proof
			answer = ""
			pause(p.ctx, retryAfter)
			continue
		}
		ctx, cancel := context.WithTimeout(p.ctx, r.replica.o.Timing.Deadline)
		nonce, changed, err := p.Heartbeat(ctx, r.replica.o.Identity, answer)
		cancel()
		if p.ctx.Err() != nil {
			return
		}
		if failed != (err != nil) {
			failed = err != nil
			r.replica.o.Log.Info("connected to a replica", "replica", identity, "error", err)
		}
		for _, k := range changed {
			r.changed(k)
		}
		wait := minInterval
		if answer = nonce; err != nil || nonce == "" {
			wait = r.replica.o.Timing.Retry / 2
		}
		pause(p.ctx, wait)
	}
}

// minInterval is the least time between two calls: changes that come in it are one.
const minInterval = 50 * time.Millisecond

// Pass implements reconcile.Passes.
func (r *Router) Pass(ctx context.Context, c *fleet.Cluster, known fleet.Memory) reconcile.Result {
	r.mu.Lock()
	r.keys[c.Key] = true
	p := r.peers[r.holders[ShardOf(c.Key, r.replica.o.Shards)]]
	r.mu.Unlock()
	if p == nil || r.may(c.Key) != nil {
		return reconcile.Result{Err: reconcile.ErrPostponed, After: retryAfter}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	return p.Pass(ctx, r.replica.o.Identity, c, known, r.frozen())
}

// Forget implements reconcile.Passes. The replica that made the last pass over a
// deleted cluster has forgotten it then.
func (r *Router) Forget(k fleet.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.keys, k)
}
