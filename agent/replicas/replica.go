package replicas

import (
	"context"
	"log/slog"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

// Options are those of a Replica. All but Now, Log and Observe are required.
type Options struct {
	Leases    coordinationv1client.LeasesGetter
	Namespace string
	Agent     string // name of the leader's Lease
	Identity  string // of this process, as the election knows it
	Shards    int
	Workers   int // passes at once
	Timing    Timing
	// Reconciler returns what makes the passes of one shard, from now on. It asks
	// may before each change and calls changed when nodes of a cluster change.
	Reconciler func(may func(fleet.Key) error, changed func(fleet.Key)) reconcile.Passes
	// Freeze stops this process from storing secrets, for the reason why; empty: it may store
	// them. Nil: nobody moves secrets.
	Freeze  func(why string)
	Now     func() Instant // default Now
	Log     *slog.Logger   // default: none
	Observe Observer
}

// An Observer is told what happens, for metrics. Its fields may be nil.
type Observer struct {
	Held  func(shards int)       // that this replica holds
	Taken func(fromTheDead bool) // a shard was acquired
	Ended func()                 // this replica lost its session
}

// A Replica is this process among those that share the clusters. It holds shards
// and makes the passes that the leader asks for.
type Replica struct {
	o       Options
	api     coordinationv1client.LeaseInterface
	workers chan struct{}
	wake    chan struct{} // there is something in changed

	mu       sync.Mutex            // guards what follows
	session  *coordinationv1.Lease // nil: none is open
	fence    *Fence                // of the session
	shards   map[int]*shard        // that this replica holds
	leases   leases                // as last listed
	leader   leaderFence
	changed  map[fleet.Key]bool
	sent     delivery
	seen     map[string]sighting // other sessions
	mismatch bool                // one of them has another number of shards
}

// New returns a Replica that holds nothing yet.
func New(o Options) *Replica {
	o.Timing = o.Timing.WithDefaults()
	if o.Now == nil {
		o.Now = Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Replica{
		o: o, api: o.Leases.Leases(o.Namespace), workers: make(chan struct{}, max(1, o.Workers)),
		shards: make(map[int]*shard), changed: make(map[fleet.Key]bool), wake: make(chan struct{}, 1),
		seen: make(map[string]sighting),
	}
}

// Run keeps a session and a share of the shards until ctx ends, and then gives
// them back.
func (r *Replica) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := r.step(ctx); err != nil && ctx.Err() == nil {
			r.o.Log.Warn("cannot renew the session of this replica, retrying", "error", err)
		}
		pause(ctx, r.o.Timing.Retry)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.o.Timing.Deadline)
	defer cancel()
	r.close(ctx)
	return nil
}

// step renews the session or opens one, lists the others, and acquires or releases the
// shards that are due.
func (r *Replica) step(ctx context.Context) error {
	if session, fence := r.open(); session != nil && !fence.Holds() {
		r.o.Log.Warn("session of this replica expired, releasing its shards")
		if r.o.Observe.Ended != nil {
			r.o.Observe.Ended()
		}
		r.close(ctx)
	}
	session, err := r.renew(ctx)
	if err != nil {
		return err
	}
	l, err := listLeases(ctx, r.api, r.o.Agent)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.leases = l
	r.mu.Unlock()
	r.evict(ctx, session, l)
	for i := range r.o.Shards { // shards that were acquired, and the answer lost
		if l.holderOf(i) == session {
			r.start(i)
		}
	}
	if r.mismatched(l) {
		return nil
	}
	release, acquire := l.balance(session, r.o.Shards)
	for _, i := range release {
		if err := r.release(ctx, i, l); err != nil {
			return err
		}
	}
	for _, i := range acquire {
		if err := r.acquire(ctx, i, l); err != nil {
			return err
		}
	}
	return nil
}

// known returns the Leases as last listed, and the name of the open session.
func (r *Replica) known() (l leases, session string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.session != nil {
		session = r.session.Name
	}
	return r.leases, session
}

// mismatched reports whether another replica has another number of shards.
func (r *Replica) mismatched(l leases) bool {
	other, mismatch := l.otherCount(r.o.Shards)
	r.mu.Lock()
	changed := mismatch != r.mismatch
	r.mismatch = mismatch
	r.mu.Unlock()
	if changed {
		r.o.Log.Warn("replicas have different --shards, not moving shards", "same", !mismatch, "other", holder(other))
	}
	return mismatch
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
