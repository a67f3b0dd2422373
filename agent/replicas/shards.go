package replicas

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

// A shard is one that this replica holds. The replica's mutex guards it, but for passes.
type shard struct {
	ctx        context.Context //nolint:containedctx // it is the life of the shard here, which passes from many callers share
	end        context.CancelFunc
	reconciler reconcile.Passes
	busy       map[fleet.Key]bool
	ended      bool
	passes     sync.WaitGroup
}

// acquire acquires shard i, unless another replica was faster.
func (r *Replica) acquire(ctx context.Context, i int, known leases) error {
	session, fence := r.open()
	if !fence.Holds() {
		return nil
	}
	l, there := known.shards[i]
	dead := there && holder(l) != ""
	now := metav1.NewMicroTime(r.o.Now().Wall)
	if !there {
		l = *r.lease(roleShard, "shard-"+strconv.Itoa(i), session.Name, now)
		l.Labels[indexLabel] = strconv.Itoa(i)
	}
	l.Spec.HolderIdentity, l.Spec.AcquireTime, l.Spec.RenewTime = &session.Name, &now, &now
	transitions := int32(1)
	if l.Spec.LeaseTransitions != nil {
		transitions += *l.Spec.LeaseTransitions
	}
	l.Spec.LeaseTransitions = &transitions
	var err error
	if there {
		_, err = r.api.Update(ctx, &l, metav1.UpdateOptions{})
	} else {
		_, err = r.api.Create(ctx, &l, metav1.CreateOptions{})
	}
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return nil
	case err != nil:
		return fmt.Errorf("cannot take shard %d: %w", i, err)
	}
	if r.o.Observe.Taken != nil {
		r.o.Observe.Taken(dead)
	}
	r.start(i)
	return nil
}

// start begins to work on shard i, with nothing in memory of what was before.
func (r *Replica) start(i int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shards[i] != nil {
		return
	}
	s := &shard{busy: make(map[fleet.Key]bool)}
	s.ctx, s.end = context.WithCancel(context.Background())
	s.reconciler = r.o.Reconciler(func(k fleet.Key) error { return r.may(s, k) }, func(k fleet.Key) { r.notify(k) })
	r.shards[i] = s
	r.o.Log.Info("acquired a shard", "shard", i)
	r.observeLocked()
}

// release gives shard i back, once nothing is done in it any more.
func (r *Replica) release(ctx context.Context, i int, known leases) error {
	r.stop(i)
	l := known.shards[i]
	nobody := ""
	l.Spec.HolderIdentity = &nobody
	_, err := r.api.Update(ctx, &l, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("cannot give back shard %d: %w", i, err)
	}
	return nil
}

// stop ends the work on shard i, and returns when its passes have ended.
func (r *Replica) stop(i int) {
	r.mu.Lock()
	s := r.shards[i]
	if s != nil {
		s.ended = true
	}
	r.mu.Unlock()
	if s == nil {
		return
	}
	s.end()
	s.passes.Wait()
	s.reconciler.Close()
	r.mu.Lock()
	delete(r.shards, i)
	r.observeLocked()
	r.mu.Unlock()
	r.o.Log.Info("released a shard", "shard", i)
}

// observeLocked tells how many shards there are. The caller has locked r.mu.
func (r *Replica) observeLocked() {
	if r.o.Observe.Held != nil {
		r.o.Observe.Held(len(r.shards))
	}
}
