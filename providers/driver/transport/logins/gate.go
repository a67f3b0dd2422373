package logins

import (
	"sync"
	"time"
)

// A Gate keeps an account from being locked. All credentials of the account share it. It is safe for
// concurrent use.
type Gate struct {
	first, last time.Duration

	mu      sync.Mutex
	tried   map[string]error // digests of credentials that were refused since the last success, and how
	until   time.Time
	refusal time.Duration
}

// NewGate returns a gate that keeps a refused credential out for first, and with each further refusal
// for twice as long, at most for last.
func NewGate(first, last time.Duration) *Gate { return &Gate{first: first, last: last} }

// Enter returns the error of the last refusal if a credential must not be tried now. One that was never
// tried may be: somebody corrected the password.
func (g *Gate) Enter(digest string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.tried[digest]; err != nil && time.Now().Before(g.until) {
		return err
	}
	return nil
}

// Refused records that a credential was refused with err.
func (g *Gate) Refused(digest string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refusal = min(max(2*g.refusal, g.first), g.last)
	g.until = time.Now().Add(g.refusal)
	if g.tried == nil {
		g.tried = make(map[string]error)
	}
	g.tried[digest] = err
}

// Accepted records that a credential of the account was accepted.
func (g *Gate) Accepted() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tried, g.refusal, g.until = nil, 0, time.Time{}
}
