package limit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"fairlead.dev/fleet"
)

const (
	// longestLook is after how long a look is given up.
	longestLook = 2 * time.Minute
	// leastPatience is how long a place may leave all looks without an answer, and twice that
	// before the first. One whose looks take long has as long as four of them.
	leastPatience = 15 * time.Second
	// leastDoubt is the time without an answer after which few passes begin, and what is unavailable
	// for that time did not answer. For a place whose looks take long it is as long as two.
	leastDoubt = 3 * time.Second
	// probeWait is how long a caller waits for the look that asks a silent place.
	probeWait = time.Second
	// slowFor is how long a place is known for looks that take long.
	slowFor = time.Hour
)

// A place is what the clusters of a provider that share it are asked of.
type place struct {
	name  string // empty: it is not known whether its clusters share anything
	slots chan struct{}
	rate  *rate.Limiter
	most  int // passes while it is not known to answer; 0: no bound

	mu       sync.Mutex
	passes   int                          // under way
	looks    map[*look]context.CancelFunc // under way
	since    time.Time                    // looks have been under way without any answer since then
	answered time.Time                    // when a look was last answered; zero: never
	slow     time.Duration                // the longest time that a look took until its answer …
	slowAt   time.Time                    // … and when that was
	silent   error                        // why callers are refused; nil: they are not
	probe    *look                        // goes on while the place is silent; nil: none does
}

// A look is under way.
type look struct {
	began time.Time
	probe bool // it asks a silent place
}

func newPlace(name string, o Options) *place {
	p := &place{name: name, most: o.Passes, rate: rate.NewLimiter(rate.Inf, 0), looks: make(map[*look]context.CancelFunc)}
	if o.PerSecond > 0 {
		p.rate = rate.NewLimiter(rate.Limit(o.PerSecond), int(math.Ceil(o.PerSecond)))
	}
	if o.InFlight > 0 {
		p.slots = make(chan struct{}, o.InFlight)
	}
	return p
}

// do makes a call when it is its turn.
func (p *place) do(ctx context.Context, op string, call func() error) error {
	if p.slots != nil {
		select {
		case p.slots <- struct{}{}:
			defer func() { <-p.slots }()
		case <-ctx.Done():
			return &fleet.Error{Kind: fleet.Unavailable, Op: op, Err: ctx.Err()}
		}
	}
	if err := p.rate.Wait(ctx); err != nil {
		return &fleet.Error{Kind: fleet.Unavailable, Op: op, Err: err}
	}
	return call()
}

// idle reports whether nothing is asked of p.
func (p *place) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.passes == 0 && len(p.looks) == 0 && len(p.slots) == 0
}

// enterPass begins a pass, unless p is not known to answer and enough passes are under way.
func (p *place) enterPass() (leave func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.most > 0 && p.name != "" && p.silent == nil && p.doubtful() && p.passes >= p.most {
		return nil, false
	}
	p.passes++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.passes--
	}, true
}

// doubtful reports whether p is not known to answer. The caller holds mu.
func (p *place) doubtful() bool {
	return p.answered.IsZero() || len(p.looks) > 0 && time.Since(p.since) > max(leastDoubt, 2*p.usual())
}

// patience is how long p may leave all looks without an answer. The caller holds mu.
func (p *place) patience() time.Duration {
	if p.answered.IsZero() {
		return 2 * leastPatience
	}
	return min(max(leastPatience, 4*p.usual()), longestLook)
}

// usual is how long the looks of p take that take long. The caller holds mu.
func (p *place) usual() time.Duration {
	if time.Since(p.slowAt) > slowFor {
		return 0
	}
	return p.slow
}

type seen struct {
	got fleet.Infrastructure
	err error
}

// cancel ends all looks.
func (p *place) cancel() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, cancel := range p.looks {
		cancel()
	}
}

// look looks at p with ask, which it has run, and waits for as long as p answers at all.
func (p *place) look(ctx context.Context, op string, ask func(context.Context) (fleet.Infrastructure, error), run func(func())) (fleet.Infrastructure, error) {
	// One look goes on when its caller gives up: it tells when the place answers again.
	asking, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), longestLook, fmt.Errorf("no answer within %s", longestLook))
	l, err := p.begin(cancel)
	if err != nil {
		cancel()
		return fleet.Infrastructure{}, &fleet.Error{Kind: fleet.Unavailable, Op: op, Err: err}
	}
	done := make(chan seen, 1)
	run(func() {
		defer cancel()
		got, err := ask(asking)
		p.end(l, err, errors.Is(asking.Err(), context.Canceled))
		done <- seen{got, err}
	})
	for {
		timer := time.NewTimer(p.wait(l))
		select {
		case s := <-done:
			timer.Stop()
			return s.got, s.err
		case <-ctx.Done():
			timer.Stop()
			cancel()
			return fleet.Infrastructure{}, &fleet.Error{Kind: fleet.Unavailable, Op: op, Err: context.Cause(ctx)}
		case <-timer.C:
		}
		if err, goesOn := p.giveUp(l); err != nil {
			if !goesOn {
				cancel()
			}
			return fleet.Infrastructure{}, &fleet.Error{Kind: fleet.Unavailable, Op: op, Err: err}
		}
	}
}

// begin begins a look, or returns why p is not asked.
func (p *place) begin(cancel context.CancelFunc) (*look, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := &look{began: time.Now()}
	if p.silent != nil {
		// One that does not end though its time is over is waited for no longer.
		if p.probe != nil && time.Since(p.probe.began) < 2*longestLook {
			return nil, p.silent
		}
		l.probe, p.probe = true, l
	}
	if len(p.looks) == 0 {
		p.since = l.began
	}
	p.looks[l] = cancel
	return l, nil
}

// wait is how long the caller of l waits before it asks giveUp.
func (p *place) wait(l *look) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.silent != nil {
		return time.Until(l.began.Add(probeWait))
	}
	return time.Until(p.since.Add(p.patience()))
}

// giveUp returns why the caller of l waits no longer, and whether l goes on; nil: it waits.
func (p *place) giveUp(l *look) (why error, goesOn bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.silent == nil {
		if time.Since(p.since) < p.patience() {
			return nil, false
		}
		p.silent = fmt.Errorf("%s does not answer", p.name)
	}
	if p.probe == nil {
		p.probe = l
	}
	return p.silent, p.probe == l
}

// end ends l, with what it came to. Of a look that was given up that says nothing.
func (p *place) end(l *look, err error, givenUp bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.looks, l)
	if p.probe == l {
		p.probe = nil
	}
	now := time.Now()
	took := now.Sub(l.began)
	kind := fleet.KindOf(err)
	switch {
	case givenUp:
	case err == nil:
		p.silent, p.answered, p.since = nil, now, now
		if !l.probe && took > p.usual() {
			p.slow, p.slowAt = took, now
		}
	case kind != fleet.Unavailable && kind != fleet.Unanswered || took < leastDoubt:
		// It may have been refused before anything was asked, which proves no answer.
		if p.silent != nil {
			p.silent, p.answered = nil, time.Time{}
		}
		p.since = now
	case !p.answered.After(l.began): // no request had an answer meanwhile
		p.silent = fmt.Errorf("%s does not answer: %w", p.name, err)
	}
}
