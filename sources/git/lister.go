package git

import (
	"context"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
)

// sharedFor is how long the refs that a poll saw may be told to others who ask: one
// tick of an agent looks at the fleet's branch once, and at the status branch for the
// owner, the requests and the numbers of machines.
const sharedFor = time.Second

// A lister is a remote that remembers for a moment what a poll saw. It is safe
// for concurrent use.
type lister struct {
	remote

	mu     sync.Mutex
	at     time.Time
	known  *packp.AdvRefs
	pushes int // that were begun or ended: what was asked for before one is not kept
}

// poll asks the server for its refs, and keeps the answer for a moment.
func (l *lister) poll(ctx context.Context) (*packp.AdvRefs, error) {
	l.mu.Lock()
	asked, pushes := time.Now(), l.pushes
	l.mu.Unlock()
	ar, err := l.list(ctx)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pushes == pushes {
		l.at, l.known = asked, ar
	}
	return ar, nil
}

// next returns what a poll saw a moment before, or asks the server.
func (l *lister) next(ctx context.Context) (*packp.AdvRefs, error) {
	l.mu.Lock()
	known := l.known
	if time.Since(l.at) > sharedFor {
		known = nil
	}
	l.mu.Unlock()
	if known != nil {
		return known, nil
	}
	return l.list(ctx)
}

// list asks the server for its refs.
func (l *lister) list(ctx context.Context) (*packp.AdvRefs, error) {
	s, err := l.open(ctx, uploadPack)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return refs(ctx, s)
}

// outdated drops what a poll saw: the server has moved on.
func (l *lister) outdated() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known = nil
}

// forget drops what is known: a push changed it, or found that it had changed.
func (l *lister) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known = nil
	l.pushes++
}
