package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// expiresSoon is how long before a trusted key expires a warning is shown.
const expiresSoon = 14 * 24 * time.Hour

// trusted tells when no trusted key vouches any more for the revision of the
// clusters, or soon will not: an agent that starts then finds nothing to follow.
type trusted struct {
	vouched func(fleet.Revision) (until time.Time, err error)
	applied func() fleet.Revision
	notify  func()
	log     *slog.Logger

	mu      sync.Mutex
	problem *fleet.Problem // nil: none
}

// polled looks at the revision again. It is called after each poll.
func (t *trusted) polled(context.Context) {
	rev := t.applied()
	if rev.IsZero() {
		return
	}
	const hint = "push a commit, or a tag, that a trusted key signs, before the agent starts again: an agent that starts does not follow this one"
	until, err := t.vouched(rev)
	var p *fleet.Problem
	switch {
	case errors.Is(err, sources.ErrUntrusted):
		p = &fleet.Problem{Message: fmt.Sprintf("no trusted key vouches any more for %s, to which the clusters are held: %s", rev.Short(), fleet.OneLine(err)), Hint: hint}
	case err != nil:
		p = &fleet.Problem{Message: fmt.Sprintf("it is not known whether a trusted key vouches for %s, to which the clusters are held: %s", rev.Short(), fleet.OneLine(err))}
	case !until.IsZero() && time.Until(until) < expiresSoon:
		p = &fleet.Problem{Message: fmt.Sprintf("the key that signed %s, to which the clusters are held, expires at %s", rev.Short(), until.UTC().Format(time.RFC3339)), Hint: hint}
	}
	t.mu.Lock()
	changed := (p == nil) != (t.problem == nil) || p != nil && *p != *t.problem
	t.problem = p
	t.mu.Unlock()
	if !changed {
		return
	}
	if p != nil {
		t.log.Warn(p.Message)
	}
	t.notify()
}

// Problem returns what there is to tell, if there is something.
func (t *trusted) Problem() (fleet.Problem, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.problem == nil {
		return fleet.Problem{}, false
	}
	return *t.problem, true
}
