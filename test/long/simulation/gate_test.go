package simulation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"fairlead.dev/fleet"
)

// A place is where a call of the agent goes to.
type place string

const (
	theCloud   place = "cloud"
	theAPI     place = "api" // servers of clusters
	theSource  place = "git"
	theBranch  place = "status"
	theSecrets place = "secrets"
)

func places() []place { return []place{theCloud, theAPI, theSource, theBranch, theSecrets} }

// A call is one that waits for its verdict.
type call struct {
	place     place
	cluster   fleet.Key // whose API server is called
	name      string
	changes   bool
	notBefore time.Time
	verdict   chan verdict
	later     func(what string) // does it though nobody waits for the answer
}

// A verdict says what becomes of a call.
type verdict struct {
	word  string // for the log
	do    bool
	late  time.Duration // until it is done, after it was given up
	after time.Duration // until it is answered
	err   error         // the answer, in place of what came of it
}

// A gate holds every call that the agent makes until the life lets it through,
// one at a time: the order of what happens is the life's to choose.
type gate struct {
	mu      sync.Mutex
	pending []*call
	came    chan struct{} // holds one
}

func newGate() *gate { return &gate{came: make(chan struct{}, 1)} }

func (g *gate) add(c *call) {
	g.mu.Lock()
	g.pending = append(g.pending, c)
	slices.SortStableFunc(g.pending, func(a, b *call) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.name, b.name))
	})
	g.mu.Unlock()
	select {
	case g.came <- struct{}{}:
	default:
	}
}

func (g *gate) drop(c *call) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pending = slices.DeleteFunc(g.pending, func(o *call) bool { return o == c })
}

// clear takes all calls out.
func (g *gate) clear() []*call {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := g.pending
	g.pending = nil
	return out
}

// eligible returns the calls that may go through now, sorted, and when the next
// of the others may; zero: there is none.
func (g *gate) eligible() (now []*call, next time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.pending {
		switch {
		case !time.Now().Before(c.notBefore):
			now = append(now, c)
		case next.IsZero() || c.notBefore.Before(next):
			next = c.notBefore
		}
	}
	return now, next
}

// through makes a call as the agent in, and returns what the verdict says.
func through[T any](ctx context.Context, in *incarnation, at place, name string, changes bool, do func(context.Context) (T, error)) (T, error) {
	var none T
	l := in.life
	c := &call{place: at, cluster: called(ctx), name: name, changes: changes, notBefore: in.notBefore(at), verdict: make(chan verdict, 1)}
	c.later = func(what string) {
		_, err := do(context.Background())
		l.logf("%s %s: %s", at, name, joinWords(what, err))
	}
	if in.dead.Load() || ctx.Err() != nil {
		return none, fleet.Errorf(fleet.Unavailable, name, "not sent")
	}
	l.gate.add(c)
	var v verdict
	select {
	case <-ctx.Done():
		l.gate.drop(c)
		return none, fleet.Errorf(fleet.Unanswered, name, "the agent gave it up")
	case v = <-c.verdict:
	}
	var out T
	var err error
	switch {
	case v.late > 0:
		time.AfterFunc(v.late, func() { c.later("landed late") })
	case v.do:
		out, err = do(context.WithoutCancel(ctx))
	}
	if changes || err != nil || v.err != nil {
		l.logf("%s %s: %s", at, name, joinWords(v.word, err))
	}
	if !sleep(ctx, v.after) || in.dead.Load() {
		return none, fleet.Errorf(fleet.Unanswered, name, "the agent died")
	}
	if v.err != nil {
		out, err = none, v.err
	}
	if err != nil {
		in.failed(at)
	}
	return out, err
}

func joinWords(what string, err error) string {
	if err != nil {
		return fmt.Sprintf("%s (%s)", what, fleet.KindOf(err))
	}
	return what
}

// sleep lets d pass, and reports whether ctx goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// tries are the times after a failure at the status branch, within which all of
// what the agent waits at random, from a tenth of a second to a minute, ends: a
// call between two of them goes through at the second, so that chance in the
// agent changes nothing.
func tries() []time.Duration {
	return []time.Duration{6 * time.Second, 12 * time.Second, 25 * time.Second, 45 * time.Second, 100 * time.Second}
}

func (in *incarnation) failed(at place) {
	if at == theBranch {
		in.mu.Lock()
		in.failedAt = time.Now()
		in.mu.Unlock()
	}
}

func (in *incarnation) notBefore(at place) time.Time {
	in.mu.Lock()
	defer in.mu.Unlock()
	if at != theBranch || in.failedAt.IsZero() {
		return time.Time{}
	}
	for _, d := range tries() {
		if time.Since(in.failedAt) < d {
			return in.failedAt.Add(d)
		}
	}
	return time.Time{}
}
