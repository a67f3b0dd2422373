package replicas

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// open returns the session of this replica, nil where none is open, and its fence.
func (r *Replica) open() (*coordinationv1.Lease, *Fence) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.session, r.fence
}

// renew keeps the session, or opens one, and returns its name. Passes go on only while its
// fence holds.
func (r *Replica) renew(ctx context.Context) (name string, err error) {
	asked := r.o.Now()
	now := metav1.NewMicroTime(asked.Wall)
	session, fence := r.open()
	if session == nil {
		l := r.lease(roleSession, "session-"+strings.ToLower(rand.Text()[:10]), r.o.Identity, now)
		l.Labels[countLabel] = strconv.Itoa(r.o.Shards)
		l, err := r.api.Create(ctx, l, metav1.CreateOptions{})
		if err != nil {
			return "", fmt.Errorf("cannot open a session: %w", err)
		}
		f := NewFence(r.o.Timing.Deadline, r.o.Now, r.cancelPasses)
		r.mu.Lock()
		r.session, r.fence = l, f
		r.mu.Unlock()
		f.Grant(asked)
		return l.Name, nil
	}
	l, err := r.extend(ctx, session, now)
	if apierrors.IsConflict(err) {
		// Of a renewal before this one the answer may have been lost.
		if l, err = r.api.Get(ctx, session.Name, metav1.GetOptions{}); err == nil && l.UID == session.UID {
			l, err = r.extend(ctx, l, now)
		}
	}
	if err == nil && l.UID != session.UID {
		err = apierrors.NewNotFound(coordinationv1.Resource("leases"), session.Name)
	}
	if apierrors.IsNotFound(err) { // another replica ended it
		fence.End()
		r.close(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("cannot renew the session: %w", err)
	}
	r.mu.Lock()
	r.session = l
	r.mu.Unlock()
	fence.Grant(asked)
	return l.Name, nil
}

// extend renews the session as it was last seen.
func (r *Replica) extend(ctx context.Context, seen *coordinationv1.Lease, now metav1.MicroTime) (*coordinationv1.Lease, error) {
	l := seen.DeepCopy()
	l.Spec.RenewTime = &now
	return r.api.Update(ctx, l, metav1.UpdateOptions{})
}

func (r *Replica) lease(role, name, holder string, now metav1.MicroTime) *coordinationv1.Lease {
	seconds := int32(r.o.Timing.Duration / time.Second)
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: r.o.Agent + "-" + name, Labels: map[string]string{AgentLabel: r.o.Agent, roleLabel: role},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now},
	}
}

// evict ends the sessions of others that have expired. Sessions that this process
// had before own end at once: nothing is done in them, and of their beginning or end
// only the answer was lost.
func (r *Replica) evict(ctx context.Context, own string, known leases) {
	for name, l := range known.sessions {
		mine := holder(l) == r.o.Identity
		if name == own || !mine && !r.expired(l) {
			continue
		}
		err := r.api.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &l.UID, ResourceVersion: &l.ResourceVersion}})
		if err == nil && !mine {
			r.o.Log.Warn("ending the session of a silent replica", "replica", holder(l))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for name := range r.seen {
		if _, ok := known.sessions[name]; !ok {
			delete(r.seen, name)
		}
	}
}

// A sighting is since when a session is seen without a change.
type sighting struct {
	version string
	since   time.Time
}

// expired reports whether the session l was not renewed for the whole of its
// duration, by this process's own clock.
func (r *Replica) expired(l coordinationv1.Lease) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.seen[l.Name]
	if !ok || s.version != l.ResourceVersion {
		r.seen[l.Name] = sighting{version: l.ResourceVersion, since: r.o.Now().Monotonic}
		return false
	}
	length := r.o.Timing.Duration
	if l.Spec.LeaseDurationSeconds != nil {
		length = max(length, time.Duration(*l.Spec.LeaseDurationSeconds)*time.Second)
	}
	return r.o.Now().Monotonic.Sub(s.since) >= length
}

// close ends the session: first everything that is done in it, then its Lease.
func (r *Replica) close(ctx context.Context) {
	l, fence := r.open()
	if l == nil {
		return
	}
	fence.End()
	for i := range r.o.Shards {
		r.stop(i)
	}
	r.mu.Lock()
	r.session = nil
	r.mu.Unlock()
	// Without it others wait until it runs out.
	if err := r.api.Delete(ctx, l.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &l.UID}}); err != nil && !apierrors.IsNotFound(err) {
		r.o.Log.Warn("cannot remove the session of this replica", "error", err)
	}
}

// cancelPasses ends what is being done: the session lapsed.
func (r *Replica) cancelPasses() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.shards {
		s.ended = true
		s.end()
	}
}
