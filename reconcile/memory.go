package reconcile

import (
	"maps"
	"slices"
	"sync"
	"time"

	"fairlead.dev/fleet"
)

// memory is what this agent alone knows of a cluster: since when it owns
// it, what it began to do, how often it failed. All of it may be lost at any
// time; it only spares repeating a create before its outcome can be seen.
type memory struct {
	mu       sync.Mutex
	since    time.Time
	attempts map[fleet.OperationID]fleet.Attempt
	last     []fleet.OperationID // what the last pass did, sorted
	repeats  int                 // passes in a row that did the same
	failures int                 // passes in a row that failed
	answered time.Time           // when the API server of the cluster last did
	seen     time.Time           // when this agent last looked at the cluster
	blinded  bool                // looks failed since
	watched  time.Time           // since when looks did not fail for long; zero: there was none
	follows  string              // kubeconfig that the node watch runs with
	report   fleet.Report        // of the last pass that could look
	lives    fleet.Residence     // as the last plan told
}

func newMemory(since time.Time) *memory {
	return &memory{since: since, attempts: make(map[fleet.OperationID]fleet.Attempt)}
}

// Begin implements exec.Memory.
func (m *memory) Begin(a fleet.Action, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.order(at)
	m.attempts[a.Operation] = fleet.Attempt{Action: a, At: at}
}

// order has no attempt be later than now if the clock was set back: what was done after something
// else stays after it. Of an attempt that is not later it is known how old it is at least, so that
// it becomes no older: a clock that was ahead for a moment forgets nothing.
func (m *memory) order(now time.Time) {
	ops := slices.SortedFunc(maps.Keys(m.attempts), func(a, b fleet.OperationID) int {
		return m.attempts[b].At.Compare(m.attempts[a].At)
	})
	limit := now
	for i, op := range ops {
		t := m.attempts[op]
		if i == 0 && !t.At.After(now) {
			return
		}
		at := t.At
		t.At = earliest(at, limit)
		m.attempts[op] = t
		if i+1 < len(ops) && m.attempts[ops[i+1]].At.Before(at) {
			limit = t.At.Add(-time.Nanosecond)
		}
	}
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// End implements exec.Memory.
func (m *memory) End(a fleet.Action, err error, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if fleet.Refused(err) || fleet.KindOf(err) == fleet.Unavailable {
		// It was refused, or nothing that changes something was sent: nothing happened.
		delete(m.attempts, a.Operation)
		return
	}
	// It may have been sent as late as now: the settle window begins again.
	m.order(at)
	m.attempts[a.Operation] = fleet.Attempt{Action: a, At: at, Answered: err == nil}
}

// recent returns the attempts that are younger than window, oldest first, and
// forgets the others.
func (m *memory) recent(now time.Time, window time.Duration) []fleet.Attempt {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.order(now)
	var out []fleet.Attempt
	for op, t := range m.attempts {
		if now.Sub(t.At) >= window {
			delete(m.attempts, op)
			continue
		}
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b fleet.Attempt) int {
		if c := a.At.Compare(b.At); c != 0 {
			return c
		}
		if a.Action.Operation < b.Action.Operation {
			return -1
		}
		return 1
	})
	return out
}

// heard records that the API server answered, even if it refused.
func (m *memory) heard(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answered = now
}

// heardAt returns when the API server last answered; zero: it never did.
func (m *memory) heardAt() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.answered
}

// neverAnswered reports whether the API server has not answered once.
func (m *memory) neverAnswered() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.answered.IsZero()
}

// longestBlind is how long looks may fail without making a difference: one that fails now and
// then must not keep a deadline from ever being over.
const longestBlind = 2 * time.Minute

// looked records a look at the cluster, and returns since when looks did not fail for long.
func (m *memory) looked(now time.Time) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.watched.IsZero() || m.blinded && now.Sub(m.seen) > longestBlind {
		m.watched = now
	}
	m.seen, m.blinded = now, false
	return m.watched
}

// blind records that a look at the cluster failed.
func (m *memory) blind() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.blinded = true
}

// did records what a pass did and returns how many passes in a row did just
// that, this one not counted.
func (m *memory) did(actions []fleet.Action) int {
	ops := make([]fleet.OperationID, 0, len(actions))
	for _, a := range actions {
		ops = append(ops, a.Operation)
	}
	slices.Sort(ops)
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.Equal(ops, m.last) {
		m.repeats++
	} else {
		m.last, m.repeats = ops, 0
	}
	return m.repeats
}

// failed counts passes in a row that failed.
func (m *memory) failed(failed bool) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if failed {
		m.failures++
	} else {
		m.failures = 0
	}
	return m.failures
}

// watching reports whether the node watch already runs with kubeconfig, and
// remembers that it does now.
func (m *memory) watching(kubeconfig string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	same := m.follows == kubeconfig
	m.follows = kubeconfig
	return same
}

// residence returns where the cluster lives, as the last plan told.
func (m *memory) residence() fleet.Residence {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lives
}

func (m *memory) reside(r fleet.Residence) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lives = r
}

// known returns the report of the last pass that could look, if there was one.
func (m *memory) known() fleet.Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.report
}

func (m *memory) know(r fleet.Report) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.report = r
}
