package shard

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

	"fairlead.dev/agent/election"
)

// A silence is since when a session is seen without a change.
type silence struct {
	version string
	since   time.Time
}

// renew keeps the session, or opens one. Passes go on only while its fence holds.
func (m *Member) renew(ctx context.Context) error {
	asked := m.o.Now()
	now := metav1.NewMicroTime(asked.Wall)
	if m.session == nil {
		l := m.lease(roleSession, "session-"+strings.ToLower(rand.Text()[:10]), m.o.Identity, now)
		l.Labels[countLabel] = strconv.Itoa(m.o.Shards)
		l, err := m.api.Create(ctx, l, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("cannot open a session: %w", err)
		}
		f := election.NewFence(m.o.Timing.Deadline, m.o.Now, m.cancelPasses)
		m.mu.Lock()
		m.session, m.fence = l, f
		m.mu.Unlock()
		f.Grant(asked)
		return nil
	}
	l, err := m.extend(ctx, m.session, now)
	if apierrors.IsConflict(err) {
		// Of a renewal before this one the answer may have been lost.
		if l, err = m.api.Get(ctx, m.session.Name, metav1.GetOptions{}); err == nil && l.UID == m.session.UID {
			l, err = m.extend(ctx, l, now)
		}
	}
	if err == nil && l.UID != m.session.UID {
		err = apierrors.NewNotFound(coordinationv1.Resource("leases"), m.session.Name)
	}
	if apierrors.IsNotFound(err) { // another replica ended it
		m.fence.End()
		m.close(ctx)
	}
	if err != nil {
		return fmt.Errorf("cannot renew the session: %w", err)
	}
	m.mu.Lock()
	m.session = l
	m.mu.Unlock()
	m.fence.Grant(asked)
	return nil
}

// extend renews the session as it was last seen.
func (m *Member) extend(ctx context.Context, seen *coordinationv1.Lease, now metav1.MicroTime) (*coordinationv1.Lease, error) {
	l := seen.DeepCopy()
	l.Spec.RenewTime = &now
	return m.api.Update(ctx, l, metav1.UpdateOptions{})
}

func (m *Member) lease(role, name, holder string, now metav1.MicroTime) *coordinationv1.Lease {
	seconds := int32(m.o.Timing.Duration / time.Second)
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: m.o.Agent + "-" + name, Labels: map[string]string{AgentLabel: m.o.Agent, roleLabel: role},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now},
	}
}

// bury ends the sessions of others that are silent. Sessions that this process
// had before end at once: nothing is done in them, and of their beginning or end
// only the answer was lost.
func (m *Member) bury(ctx context.Context, v view) {
	for name, l := range v.sessions {
		own := holder(l) == m.o.Identity
		if name == m.session.Name || !own && !m.isSilent(l) {
			continue
		}
		err := m.api.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &l.UID, ResourceVersion: &l.ResourceVersion}})
		if err == nil && !own {
			m.o.Log.Warn("ending the session of a replica that is silent", "replica", holder(l))
		}
	}
	for name := range m.silent {
		if _, ok := v.sessions[name]; !ok {
			delete(m.silent, name)
		}
	}
}

// isSilent reports whether the session l was not renewed for the whole of its
// duration, by this process's own clock.
func (m *Member) isSilent(l coordinationv1.Lease) bool {
	s, ok := m.silent[l.Name]
	if !ok || s.version != l.ResourceVersion {
		m.silent[l.Name] = silence{version: l.ResourceVersion, since: m.o.Now().Monotonic}
		return false
	}
	length := m.o.Timing.Duration
	if l.Spec.LeaseDurationSeconds != nil {
		length = max(length, time.Duration(*l.Spec.LeaseDurationSeconds)*time.Second)
	}
	return m.o.Now().Monotonic.Sub(s.since) >= length
}

// close ends the session: first everything that is done in it, then its Lease.
func (m *Member) close(ctx context.Context) {
	if m.session == nil {
		return
	}
	m.fence.End()
	for i := range m.o.Shards {
		m.drop(i)
	}
	l := m.session
	m.mu.Lock()
	m.session = nil
	m.mu.Unlock()
	// Without it others wait until it runs out.
	if err := m.api.Delete(ctx, l.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &l.UID}}); err != nil && !apierrors.IsNotFound(err) {
		m.o.Log.Warn("cannot remove the session of this replica", "error", err)
	}
}

// cancelPasses ends what is being done: the session lapsed.
func (m *Member) cancelPasses() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, h := range m.holds {
		h.ended = true
		h.end()
	}
}
