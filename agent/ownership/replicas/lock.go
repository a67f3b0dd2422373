package replicas

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"fairlead.dev/agent/loop/backoff"
)

// A lock is the Lease of the leader, in one term of this process. It is written as
// client-go's leader election writes it, on the condition that it still is as it was
// last seen.
//
// A term in which another replica may have led does not go on, and the Lease is not
// given back while work goes on. client-go's takes a Lease back that another had
// meanwhile, and gives one back as soon as it cannot renew it, which
// docs/contributing/adr/0026-a-leader-and-standbys.md shows.
type lock struct {
	o     ElectionOptions
	api   coordinationv1client.LeaseInterface
	fence *Fence

	seen     *coordinationv1.Lease // as it was last read or written
	since    time.Time             // when it was first seen like that
	ours     bool                  // it was acquired, and no other process had it since
	alone    atomic.Bool           // no replica of a former version acts in a pass for a leader
	reported string                // the leader that was last announced
}

// agentLabel is the label of the Lease, with its name: former versions find it by that.
const agentLabel = "fairlead.dev/agent"

// aloneAnnotation is how many holders the Lease had had when only its holder acted. Former
// versions keep it, and count holders: it is out of date if one of them led since.
const aloneAnnotation = "fairlead.dev/acts-alone"

// errInterrupted ends a term.
var errInterrupted = errors.New("another replica may have led in between")

// acquire waits until the Lease is this process's. It reports false where ctx ended
// before, or where the answer came too late to lead by it.
func (l *lock) acquire(ctx context.Context) bool {
	failing := false
	for {
		asked, err := l.try(ctx)
		switch {
		case err == nil && l.ours:
			return l.fence.Grant(asked)
		case err != nil && ctx.Err() == nil && !failing:
			l.o.Log.Warn("cannot join the election, retrying", "lease", l.o.Namespace+"/"+l.o.Name, "error", err)
		}
		failing = err != nil
		if !backoff.Sleep(ctx, backoff.Jitter(l.o.Timing.Retry)) {
			return false
		}
	}
}

// try takes the Lease if it is free, and returns when it asked for that.
func (l *lock) try(ctx context.Context) (asked Instant, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.o.Timing.Deadline)
	defer cancel()
	there, err := l.api.Get(ctx, l.o.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		there, err = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: l.o.Namespace, Name: l.o.Name}}, nil
	}
	if err != nil {
		return asked, err
	}
	l.observe(there)
	if !l.free() {
		return asked, nil
	}
	l.alone.Store(there.ResourceVersion == "" || there.Annotations[aloneAnnotation] == strconv.Itoa(int(count(there))))
	asked = l.o.Now()
	now := metav1.NewMicroTime(asked.Wall)
	next := there.DeepCopy()
	if holder(*there) != l.o.Identity {
		next.Spec.AcquireTime = &now
		next.Spec.LeaseTransitions = new(transitions(there))
	}
	err = l.write(ctx, next, l.o.Identity, l.o.Timing.Duration, now)
	l.ours = err == nil
	return asked, err
}

// transitions returns how often a Lease that was as there will have had another holder:
// never, if it is new.
func transitions(there *coordinationv1.Lease) int32 {
	if there.ResourceVersion == "" {
		return 0
	}
	return count(there) + 1
}

// count returns how often l has had another holder.
func count(l *coordinationv1.Lease) int32 {
	if l.Spec.LeaseTransitions == nil {
		return 0
	}
	return *l.Spec.LeaseTransitions
}

func holder(l coordinationv1.Lease) string {
	if l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

// outwait returns when no replica of a former version may act in a pass that a leader before
// this one asked it for: its right to that lasts for a deadline since that leader led, by its
// own clock, so it is over after the duration of the Lease by others. It returns false if ctx
// ended before.
func (l *lock) outwait(ctx context.Context) bool {
	if l.alone.Load() {
		return true
	}
	l.o.Log.Info("waiting until no replica of a former version acts", "for", l.o.Timing.Duration)
	if !backoff.Sleep(ctx, l.o.Timing.Duration) {
		return false
	}
	l.alone.Store(true) // the next renewal says so
	return true
}

// observe records the present content of the Lease.
func (l *lock) observe(there *coordinationv1.Lease) {
	if l.seen == nil || l.seen.ResourceVersion != there.ResourceVersion || l.seen.UID != there.UID {
		l.since = l.o.Now().Monotonic
	}
	l.seen = there
	leader := holder(*there)
	if leader == "" || leader == l.reported {
		return
	}
	l.reported = leader
	if leader != l.o.Identity {
		l.o.Log.Info("following the leader", "leader", leader)
	}
	if l.o.OnLeader != nil {
		l.o.OnLeader(leader)
	}
}

// free reports whether the Lease may be taken: no process has it, this one has, or its
// holder was silent for as long as the Lease lasts, by this process's own clock.
func (l *lock) free() bool {
	switch holder(*l.seen) {
	case "", l.o.Identity:
		return true
	}
	length := l.o.Timing.Duration
	if s := l.seen.Spec.LeaseDurationSeconds; s != nil {
		length = max(length, time.Duration(*s)*time.Second)
	}
	return l.o.Now().Monotonic.Sub(l.since) >= length
}

// write writes next as the Lease of identity.
func (l *lock) write(ctx context.Context, next *coordinationv1.Lease, identity string, length time.Duration, now metav1.MicroTime) error {
	seconds := int32(length / time.Second)
	next.Spec.HolderIdentity, next.Spec.LeaseDurationSeconds, next.Spec.RenewTime = &identity, &seconds, &now
	metav1.SetMetaDataLabel(&next.ObjectMeta, agentLabel, l.o.Name)
	if l.alone.Load() {
		metav1.SetMetaDataAnnotation(&next.ObjectMeta, aloneAnnotation, strconv.Itoa(int(count(next))))
	}
	var written *coordinationv1.Lease
	var err error
	if next.ResourceVersion == "" {
		written, err = l.api.Create(ctx, next, metav1.CreateOptions{})
	} else {
		written, err = l.api.Update(ctx, next, metav1.UpdateOptions{})
	}
	if err == nil {
		l.observe(written)
	}
	return err
}

// keep renews the Lease until ctx ends, or until it is lost. Then it calls lose.
func (l *lock) keep(ctx context.Context, lose func()) {
	for backoff.Sleep(ctx, l.o.Timing.Retry) {
		asked := l.o.Now()
		err := l.renew(ctx, asked)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errInterrupted):
			l.ours = false
		case err != nil:
			l.o.Log.Warn("cannot renew the lease, retrying", "lease", l.o.Namespace+"/"+l.o.Name, "error", err)
			continue
		case l.fence.Grant(asked):
			continue
		}
		l.fence.End()
		lose()
		return
	}
}

// renew renews the Lease as it was last seen, or in its present form where no process had it
// meanwhile: of a renewal before this one the answer may have been lost.
func (l *lock) renew(ctx context.Context, asked Instant) error {
	ctx, cancel := context.WithTimeout(ctx, l.o.Timing.Deadline)
	defer cancel()
	now := metav1.NewMicroTime(asked.Wall)
	err := l.write(ctx, l.seen.DeepCopy(), l.o.Identity, l.o.Timing.Duration, now)
	if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return err
	}
	if err := l.reread(ctx); err != nil {
		return err
	}
	return l.write(ctx, l.seen.DeepCopy(), l.o.Identity, l.o.Timing.Duration, now)
}

// reread reads a Lease that changed since it was observed.
func (l *lock) reread(ctx context.Context) error {
	there, err := l.api.Get(ctx, l.o.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return errInterrupted // somebody deleted it: another may have had it
	case err != nil:
		return err
	case holder(*there) != l.o.Identity || there.UID != l.seen.UID:
		return errInterrupted
	}
	l.observe(there)
	return nil
}

// release gives the Lease back: nothing is done under it any more. Where that cannot be
// written, others wait until it has lasted.
func (l *lock) release(ctx context.Context) {
	if !l.ours {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, l.o.Timing.Deadline)
	defer cancel()
	now := metav1.NewMicroTime(l.o.Now().Wall)
	err := l.write(ctx, l.seen.DeepCopy(), "", time.Second, now)
	if apierrors.IsConflict(err) {
		if err = l.reread(ctx); err == nil {
			err = l.write(ctx, l.seen.DeepCopy(), "", time.Second, now)
		}
	}
	if err != nil && !errors.Is(err, errInterrupted) {
		l.o.Log.Warn("cannot release the lease", "lease", l.o.Namespace+"/"+l.o.Name, "error", err)
	}
}
