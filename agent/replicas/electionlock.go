package replicas

import (
	"context"
	"errors"
	"sync/atomic"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// A lock is the Lease as client-go's election sees it. It keeps the fence of the
// term, and adds two things that client-go leaves to its caller:
//
// A term in which another replica may have led does not go on. After a silence
// client-go takes a Lease back that another had meanwhile, and tells nobody.
//
// The Lease is not given back while work goes on. client-go gives it back as
// soon as it cannot renew it.
type lock struct {
	resourcelock.Interface
	now    func() Instant
	term   *Term
	lose   func()          // ends the work
	stop   func()          // ends the election
	worked <-chan struct{} // closed once the work has returned, or will never begin

	leading atomic.Bool
}

// errInterrupted ends a term.
var errInterrupted = errors.New("another replica may have led in between")

// Get implements resourcelock.Interface.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	r, raw, err := l.Interface.Get(ctx)
	if err == nil && l.leading.Load() && r.HolderIdentity != l.Identity() {
		return nil, nil, l.interrupted()
	}
	return r, raw, err
}

// Create implements resourcelock.Interface.
func (l *lock) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	if l.leading.Load() { // somebody deleted the Lease: another may have had it
		return l.interrupted()
	}
	return l.write(func() error { return l.Interface.Create(ctx, r) })
}

// Update implements resourcelock.Interface.
func (l *lock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	if r.HolderIdentity == l.Identity() {
		return l.write(func() error { return l.Interface.Update(ctx, r) })
	}
	l.term.fence.End() // it is given back
	l.lose()
	select {
	case <-l.worked:
		return l.Interface.Update(ctx, r)
	case <-ctx.Done():
		return errors.New("the leader's work still goes on")
	}
}

func (l *lock) write(do func() error) error {
	asked := l.now()
	if err := do(); err != nil {
		return err
	}
	l.leading.Store(true)
	if !l.term.fence.Grant(asked) {
		return l.interrupted()
	}
	return nil
}

func (l *lock) interrupted() error {
	l.term.fence.End()
	l.lose()
	l.stop()
	return errInterrupted
}
