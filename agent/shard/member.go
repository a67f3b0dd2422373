package shard

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"fairlead.dev/agent"
	"fairlead.dev/agent/election"
	"fairlead.dev/fleet"
)

// Options are those of a Member. All but Now, Log and Observe are required.
type Options struct {
	Leases    coordinationv1client.LeasesGetter
	Namespace string
	Agent     string // name of the leader's Lease
	Identity  string // of this process, as the election knows it
	Shards    int
	Workers   int // passes at once
	Timing    election.Timing
	// Reconciler returns what makes the passes of one shard, from now on. It asks
	// may before each change and calls changed when nodes of a cluster change.
	Reconciler func(may func(fleet.Key) error, changed func(fleet.Key)) agent.Reconciler
	Now        func() election.Instant // default election.Now
	Log        *slog.Logger            // default: none
	Observe    Observer
}

// An Observer is told what happens, for metrics. Its fields may be nil.
type Observer struct {
	Held  func(shards int)       // that this replica holds
	Taken func(fromTheDead bool) // a shard was taken over
	Ended func()                 // this replica lost its session
}

// A Member is this replica among those that share the clusters. It holds shards
// and makes the passes that the leader asks for.
type Member struct {
	o       Options
	api     coordinationv1client.LeaseInterface
	workers chan struct{}

	mu      sync.Mutex
	session *coordinationv1.Lease // nil: none is open; touched by Run alone but for its name
	fence   *election.Fence       // of the session
	holds   map[int]*hold
	view    view
	permit  permit
	changed map[fleet.Key]bool
	wake    chan struct{} // there is something in changed
	told    told

	silent  map[string]silence // other sessions, touched by Run alone
	differs bool               // one of them has another number of shards; as silent
}

// A hold is a shard that this replica holds.
type hold struct {
	ctx        context.Context //nolint:containedctx // it is the life of the hold, which passes from many callers share
	end        context.CancelFunc
	reconciler agent.Reconciler
	busy       map[fleet.Key]bool
	ended      bool
	passes     sync.WaitGroup
}

// New returns a Member that holds nothing yet.
func New(o Options) *Member {
	o.Timing = o.Timing.WithDefaults()
	if o.Now == nil {
		o.Now = election.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Member{
		o: o, api: o.Leases.Leases(o.Namespace), workers: make(chan struct{}, max(1, o.Workers)),
		holds: make(map[int]*hold), changed: make(map[fleet.Key]bool), wake: make(chan struct{}, 1),
		silent: make(map[string]silence),
	}
}

// Run keeps a session and a share of the shards until ctx ends, and then gives
// them back.
func (m *Member) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := m.step(ctx); err != nil && ctx.Err() == nil {
			m.o.Log.Warn("cannot keep the session of this replica, trying again", "error", err)
		}
		timer := time.NewTimer(m.o.Timing.Retry)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.o.Timing.Deadline)
	defer cancel()
	m.close(ctx)
	return nil
}

// step renews the session or opens one, looks at the others, and takes or gives
// what is due.
func (m *Member) step(ctx context.Context) error {
	if m.session != nil && !m.fence.Holds() {
		m.o.Log.Warn("the session of this replica was not renewed in time, giving up its shards")
		if m.o.Observe.Ended != nil {
			m.o.Observe.Ended()
		}
		m.close(ctx)
	}
	if err := m.renew(ctx); err != nil {
		return err
	}
	v, err := look(ctx, m.api, m.o.Agent)
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.view = v
	m.mu.Unlock()
	m.bury(ctx, v)
	for i := range m.o.Shards { // what was taken, and the answer lost
		if v.holderOf(i) == m.session.Name {
			m.hold(i)
		}
	}
	other, differs := v.otherCount(m.o.Shards)
	if differs != m.differs {
		m.differs = differs
		m.o.Log.Warn("shards change hands only while all replicas have the same number of them", "same", !differs, "other", holder(other))
	}
	if differs {
		return nil
	}
	give, take := v.balance(m.session.Name, m.o.Shards)
	for _, i := range give {
		if err := m.give(ctx, i, v); err != nil {
			return err
		}
	}
	for _, i := range take {
		if err := m.take(ctx, i, v); err != nil {
			return err
		}
	}
	return nil
}

// take takes shard i, unless another was faster.
func (m *Member) take(ctx context.Context, i int, v view) error {
	if !m.fence.Holds() {
		return nil
	}
	l, there := v.shards[i]
	dead := there && holder(l) != ""
	now := metav1.NewMicroTime(m.o.Now().Wall)
	if !there {
		l = *m.lease(roleShard, "shard-"+strconv.Itoa(i), m.session.Name, now)
		l.Labels[indexLabel] = strconv.Itoa(i)
	}
	l.Spec.HolderIdentity, l.Spec.AcquireTime, l.Spec.RenewTime = &m.session.Name, &now, &now
	transitions := int32(1)
	if l.Spec.LeaseTransitions != nil {
		transitions += *l.Spec.LeaseTransitions
	}
	l.Spec.LeaseTransitions = &transitions
	var err error
	if there {
		_, err = m.api.Update(ctx, &l, metav1.UpdateOptions{})
	} else {
		_, err = m.api.Create(ctx, &l, metav1.CreateOptions{})
	}
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return nil
	case err != nil:
		return fmt.Errorf("cannot take shard %d: %w", i, err)
	}
	if m.o.Observe.Taken != nil {
		m.o.Observe.Taken(dead)
	}
	m.hold(i)
	return nil
}

// hold begins to hold shard i, with nothing in memory of what was before.
func (m *Member) hold(i int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.holds[i] != nil {
		return
	}
	h := &hold{busy: make(map[fleet.Key]bool)}
	h.ctx, h.end = context.WithCancel(context.Background())
	h.reconciler = m.o.Reconciler(func(k fleet.Key) error { return m.may(h, k) }, func(k fleet.Key) { m.tell(k) })
	m.holds[i] = h
	m.o.Log.Info("holding a shard", "shard", i)
	m.count()
}

// give gives shard i back, once nothing is done in it any more.
func (m *Member) give(ctx context.Context, i int, v view) error {
	m.drop(i)
	l := v.shards[i]
	nobody := ""
	l.Spec.HolderIdentity = &nobody
	_, err := m.api.Update(ctx, &l, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("cannot give back shard %d: %w", i, err)
	}
	return nil
}

// drop ends the hold of shard i and returns when its passes have.
func (m *Member) drop(i int) {
	m.mu.Lock()
	h := m.holds[i]
	if h != nil {
		h.ended = true
	}
	m.mu.Unlock()
	if h == nil {
		return
	}
	h.end()
	h.passes.Wait()
	if c, ok := h.reconciler.(interface{ Close() }); ok {
		c.Close()
	}
	m.mu.Lock()
	delete(m.holds, i)
	m.count()
	m.mu.Unlock()
	m.o.Log.Info("gave up a shard", "shard", i)
}

// count is called with m.mu held.
func (m *Member) count() {
	if m.o.Observe.Held != nil {
		m.o.Observe.Held(len(m.holds))
	}
}
