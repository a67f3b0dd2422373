package shard

import (
	"context"
	"strconv"
	"time"

	"fairlead.dev/agent"
	"fairlead.dev/agent/election"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

// again is when a pass that nobody could make is tried once more.
const again = time.Second

// questions is how many questions may be answered late.
const questions = 8

// A permit is the leader's word that it leads and owns the fleet. It counts from
// the question that it answers.
type permit struct {
	leader string
	fence  *election.Fence
	ctx    context.Context //nolint:containedctx // it is the life of the permit
	end    context.CancelFunc
	asked  map[string]election.Instant
	n      int
}

// Attend is called by the leader again and again. answer is the question that
// the last call returned; it proves that the leader still led and owned the
// fleet after it was asked. Attend returns the next question and the clusters
// that changed; with a right answer it waits for those, for a moment. What comes
// with a question that is not answered is told again.
func (m *Member) Attend(ctx context.Context, leader, answer string) (question string, changed []fleet.Key, err error) {
	m.hear(answer)
	if !m.permitted(leader, answer) {
		return m.ask(leader), nil, nil
	}
	timer := time.NewTimer(m.o.Timing.Retry)
	defer timer.Stop()
	select {
	case <-m.wake:
	case <-timer.C:
	case <-ctx.Done():
		return "", nil, ctx.Err()
	}
	question = m.ask(leader)
	m.mu.Lock()
	defer m.mu.Unlock()
	for k := range m.changed {
		changed = append(changed, k)
	}
	clear(m.changed)
	m.told = told{question, changed}
	return question, changed, nil
}

// ask returns a new question. The Lease says who leads; others get none that counts.
func (m *Member) ask(leader string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := &m.permit
	if p.leader != leader {
		if leader != m.view.leader {
			return ""
		}
		if p.end != nil {
			p.fence.End()
			p.end()
		}
		*p = permit{leader: leader, asked: make(map[string]election.Instant)}
	}
	p.n++
	q := strconv.Itoa(p.n)
	p.asked[q] = m.o.Now()
	delete(p.asked, strconv.Itoa(p.n-questions))
	return q
}

// permitted takes an answer and reports whether it is good.
func (m *Member) permitted(leader, answer string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := &m.permit
	if p.leader != leader || leader != m.view.leader {
		return false
	}
	asked, ok := p.asked[answer]
	if !ok {
		return false
	}
	if p.fence == nil || !p.fence.Holds() {
		ctx, end := context.WithCancel(context.Background())
		p.ctx, p.end = ctx, end
		p.fence = election.NewFence(m.o.Timing.Deadline, m.o.Now, end)
	}
	return p.fence.Grant(asked)
}

// may answers the reconciler of h, before each change.
func (m *Member) may(h *hold, k fleet.Key) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.fence == nil || !m.fence.Holds():
		return fleet.Errorf(fleet.Unauthorized, "change cluster "+k.String(), "the session of this replica was not renewed in time")
	case h.ended:
		return fleet.Errorf(fleet.Unauthorized, "change cluster "+k.String(), "this replica gives the cluster to another")
	case m.permit.fence == nil || !m.permit.fence.Holds():
		return fleet.Errorf(fleet.Unauthorized, "change cluster "+k.String(), "the leader is silent")
	}
	return nil
}

// told is which clusters changed, as it was told with a question.
type told struct {
	question string
	changed  []fleet.Key
}

// hear takes an answer for what it says of the last question: whether it came.
func (m *Member) hear(answer string) {
	m.mu.Lock()
	last := m.told
	m.mu.Unlock()
	if answer == "" || answer != last.question {
		m.tell(last.changed...)
	}
}

// tell keeps that these changed, for the leader.
func (m *Member) tell(changed ...fleet.Key) {
	if len(changed) == 0 {
		return
	}
	m.mu.Lock()
	for _, k := range changed {
		m.changed[k] = true
	}
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Pass makes a pass over c for the leader, or says that it is to be made later.
func (m *Member) Pass(ctx context.Context, leader string, c *fleet.Cluster, known fleet.Memory) reconcile.Result {
	postponed := reconcile.Result{Err: agent.ErrPostponed, After: again}
	h, permit := m.begin(leader, c.Key)
	if h == nil {
		return postponed
	}
	defer m.finish(h, c.Key)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.ctx, cancel)()
	defer context.AfterFunc(permit, cancel)()
	select {
	case m.workers <- struct{}{}:
		defer func() { <-m.workers }()
	case <-ctx.Done():
		return postponed
	}
	res := h.reconciler.Pass(ctx, c, known)
	if ctx.Err() != nil { // what it says is of the interruption
		return postponed
	}
	return res
}

// begin begins a pass over k, if this replica may, and nobody else does.
func (m *Member) begin(leader string, k fleet.Key) (*hold, context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.holds[Of(k, m.o.Shards)]
	switch {
	case h == nil || h.ended || h.busy[k]:
	case m.fence == nil || !m.fence.Holds():
	case m.permit.leader != leader || m.permit.fence == nil || !m.permit.fence.Holds():
	default:
		h.busy[k] = true
		h.passes.Add(1)
		return h, m.permit.ctx
	}
	return nil, nil
}

func (m *Member) finish(h *hold, k fleet.Key) {
	m.mu.Lock()
	delete(h.busy, k)
	m.mu.Unlock()
	h.passes.Done()
}
