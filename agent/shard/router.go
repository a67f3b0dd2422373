package shard

import (
	"context"
	"sync"
	"time"

	"fairlead.dev/agent"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

// A Peer is a replica as the leader reaches it. *Member is the leader's own.
type Peer interface {
	Attend(ctx context.Context, leader, answer string) (question string, changed []fleet.Key, err error)
	Pass(ctx context.Context, leader string, c *fleet.Cluster, known fleet.Memory) reconcile.Result
}

// A Router is the leader's reconciler: it hands each pass to the replica that
// holds the cluster's shard.
type Router struct {
	member  *Member
	dial    func(identity string) (Peer, error)
	may     func(fleet.Key) error
	changed func(fleet.Key)

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

var _ agent.Reconciler = (*Router)(nil)

// NewRouter returns the reconciler of the leader whose own replica is m. dial
// connects to the replica with that identity. may says whether this process
// still leads and owns the fleet; changed is told of clusters that are to be
// looked at.
func NewRouter(m *Member, dial func(identity string) (Peer, error), may func(fleet.Key) error, changed func(fleet.Key)) *Router {
	return &Router{
		member: m, dial: dial, may: may, changed: changed,
		peers: make(map[string]*peer), holders: make(map[int]string), keys: make(map[fleet.Key]bool),
	}
}

// Attend keeps in touch with all replicas until ctx ends.
func (r *Router) Attend(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	for ctx.Err() == nil {
		r.meet(ctx, &wg)
		if !pause(ctx, r.member.o.Timing.Retry/2) {
			return nil
		}
	}
	return nil
}

// meet begins to attend to new replicas, leaves those that are gone, and asks
// for passes over the clusters of shards that changed hands.
func (r *Router) meet(ctx context.Context, wg *sync.WaitGroup) {
	r.member.mu.Lock()
	v, own := r.member.view, ""
	if r.member.session != nil {
		own = r.member.session.Name
	}
	r.member.mu.Unlock()
	r.mu.Lock()
	var moved []fleet.Key
	defer func() {
		for _, k := range moved {
			r.changed(k)
		}
	}()
	defer r.mu.Unlock()
	for name, l := range v.sessions {
		if r.peers[name] != nil {
			continue
		}
		var to Peer = r.member
		if name != own {
			var err error
			if to, err = r.dial(holder(l)); err != nil {
				r.member.o.Log.Warn("cannot reach a replica", "replica", holder(l), "error", err)
				continue
			}
		}
		p := &peer{Peer: to}
		p.ctx, p.end = context.WithCancel(ctx)
		r.peers[name] = p
		wg.Go(func() { r.attend(p, holder(l)) })
	}
	for name, p := range r.peers {
		if _, alive := v.sessions[name]; !alive {
			p.end()
			delete(r.peers, name)
		}
	}
	for i := range r.member.o.Shards {
		now := v.holderOf(i)
		if now == r.holders[i] {
			continue
		}
		r.holders[i] = now
		for k := range r.keys {
			if now != "" && Of(k, r.member.o.Shards) == i {
				moved = append(moved, k)
			}
		}
	}
}

// attend answers the questions of p as long as this process leads.
func (r *Router) attend(p *peer, identity string) {
	answer, failed := "", false
	for p.ctx.Err() == nil {
		if err := r.may(fleet.Key{}); err != nil { // the answer would be no proof
			answer = ""
			pause(p.ctx, again)
			continue
		}
		ctx, cancel := context.WithTimeout(p.ctx, r.member.o.Timing.Deadline)
		question, changed, err := p.Attend(ctx, r.member.o.Identity, answer)
		cancel()
		if p.ctx.Err() != nil {
			return
		}
		if failed != (err != nil) {
			failed = err != nil
			r.member.o.Log.Info("talking to a replica", "replica", identity, "error", err)
		}
		for _, k := range changed {
			r.changed(k)
		}
		wait := gap
		if answer = question; err != nil || question == "" {
			wait = r.member.o.Timing.Retry / 2
		}
		pause(p.ctx, wait)
	}
}

// gap is the least time between two calls: changes that come in it are one.
const gap = 50 * time.Millisecond

// Pass implements agent.Reconciler.
func (r *Router) Pass(ctx context.Context, c *fleet.Cluster, known fleet.Memory) reconcile.Result {
	r.mu.Lock()
	r.keys[c.Key] = true
	p := r.peers[r.holders[Of(c.Key, r.member.o.Shards)]]
	r.mu.Unlock()
	if p == nil || r.may(c.Key) != nil {
		return reconcile.Result{Err: agent.ErrPostponed, After: again}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	return p.Pass(ctx, r.member.o.Identity, c, known)
}

// Forget implements agent.Reconciler. The replica that made the last pass over a
// deleted cluster has forgotten it then.
func (r *Router) Forget(k fleet.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.keys, k)
}

// pause waits for d and reports whether ctx still goes on.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
