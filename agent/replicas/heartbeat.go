package replicas

import (
	"context"
	"strconv"
	"time"

	"fairlead.dev/fleet"
)

// maxNonces is how many nonces may come back late.
const maxNonces = 8

// A leaderFence is the leader's confirmation that it leads and owns the fleet. It is valid from
// the creation of the nonce that it answers. The replica's mutex guards it.
type leaderFence struct {
	leader string // identity
	fence  *Fence
	ctx    context.Context //nolint:containedctx // it is the life of the fence
	end    context.CancelFunc
	nonces map[string]Instant // and when each was made
	n      int                // nonces that were made
}

// holds reports whether leader surely leads.
func (l *leaderFence) holds(leader string) bool {
	return l.leader == leader && l.fence != nil && l.fence.Holds()
}

// Heartbeat is called by the leader again and again. answer is the nonce that
// the last call returned; it proves that the leader still led and owned the
// fleet after the nonce was made. Heartbeat returns the next nonce and the clusters
// that changed; with a right answer it waits for those, for a moment. Changes that come
// with a nonce that does not come back are told once more.
func (r *Replica) Heartbeat(ctx context.Context, leader, answer string) (nonce string, changed []fleet.Key, err error) {
	r.confirm(answer)
	if !r.accept(leader, answer) {
		return r.challenge(leader), nil, nil
	}
	timer := time.NewTimer(r.o.Timing.Retry)
	defer timer.Stop()
	select {
	case <-r.wake:
	case <-timer.C:
	case <-ctx.Done():
		return "", nil, ctx.Err()
	}
	nonce = r.challenge(leader)
	r.mu.Lock()
	defer r.mu.Unlock()
	for k := range r.changed {
		changed = append(changed, k)
	}
	clear(r.changed)
	r.sent = delivery{nonce, changed}
	return nonce, changed, nil
}

// challenge returns a new nonce. The Lease says who leads; others get none that counts.
func (r *Replica) challenge(leader string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := &r.leader
	if l.leader != leader {
		if leader != r.leases.leader {
			return ""
		}
		if l.end != nil {
			l.fence.End()
			l.end()
		}
		*l = leaderFence{leader: leader, nonces: make(map[string]Instant)}
	}
	l.n++
	nonce := strconv.Itoa(l.n)
	l.nonces[nonce] = r.o.Now()
	delete(l.nonces, strconv.Itoa(l.n-maxNonces))
	return nonce
}

// accept takes in a nonce that came back, and reports whether it counts.
func (r *Replica) accept(leader, answer string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := &r.leader
	if l.leader != leader || leader != r.leases.leader {
		return false
	}
	made, ok := l.nonces[answer]
	if !ok {
		return false
	}
	if l.fence == nil || !l.fence.Holds() {
		ctx, end := context.WithCancel(context.Background())
		l.ctx, l.end = ctx, end
		l.fence = NewFence(r.o.Timing.Deadline, r.o.Now, end)
	}
	return l.fence.Grant(made)
}

// A delivery is which clusters changed, as the leader was told with a nonce.
type delivery struct {
	nonce   string
	changed []fleet.Key
}

// confirm takes an answer for what it says of the last delivery: whether it came.
func (r *Replica) confirm(answer string) {
	r.mu.Lock()
	last := r.sent
	r.mu.Unlock()
	if answer == "" || answer != last.nonce {
		r.notify(last.changed...)
	}
}

// notify keeps that clusters changed, for the leader.
func (r *Replica) notify(changed ...fleet.Key) {
	if len(changed) == 0 {
		return
	}
	r.mu.Lock()
	for _, k := range changed {
		r.changed[k] = true
	}
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}
