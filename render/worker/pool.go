package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/render/kustomize"
)

// Limits are what builds may take. A field that is 0 takes its default.
type Limits struct {
	// Memory is what the build of one overlay may take, in bytes, above what a
	// process at rest has.
	Memory int64
	// Time is how much of a processor's time the build of one overlay may take, in
	// whole seconds. A machine that is busy makes no overlay wrong.
	Time time.Duration
	// Clock is how long it may take by the clock; 0 is six times Time.
	Clock time.Duration
	// Processes is how many overlays are built at once.
	Processes int
}

// patience is how many builds without an end have all of their time, from one Rest
// to the next; those that follow have a tenth of it.
const patience = 3

// A Pool is a set of processes. It is safe for concurrent use.
type Pool struct {
	command []string
	limits  Limits
	slots   chan struct{}

	mu      sync.Mutex
	idle    []*process
	endless int // builds without an end
}

// NewPool returns a Pool that runs command, a program and its arguments, and starts
// none yet.
func NewPool(command []string, l Limits) *Pool {
	d := DefaultLimits()
	l = Limits{cmp.Or(l.Memory, d.Memory), cmp.Or(l.Time, d.Time), l.Clock, cmp.Or(l.Processes, d.Processes)}
	if l.Clock == 0 {
		l.Clock = 6 * l.Time
	}
	return &Pool{command: command, limits: l, slots: make(chan struct{}, l.Processes)}
}

// Processes is how many overlays are built at once.
func (p *Pool) Processes() int { return p.limits.Processes }

// Build builds an overlay. The error for one that takes more than the limits is a
// *kustomize.OverBudget; every other error is not the overlay's: ctx that ended, a
// program that does not start.
func (p *Pool) Build(ctx context.Context, in kustomize.Input) ([]kustomize.Object, *fleet.Problem, error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	defer func() { <-p.slots }()
	for {
		w, err := p.take(ctx)
		if err != nil {
			return nil, nil, fleet.Errorf(fleet.Unavailable, "start a process that renders", "%w", err)
		}
		used := w.builds > 0
		seconds, clock := p.time()
		out, err := w.build(ctx, request{in, seconds}, clock)
		switch {
		case err == nil:
			p.put(w)
			return out.objects(), out.Problem, nil
		case ctx.Err() != nil:
			w.kill()
			return nil, nil, ctx.Err()
		case errors.Is(err, errTime) || outOfTime(w.kill()):
			err = errTime
			p.late()
		case used:
			// What was built before it may have left too little.
			continue
		}
		return nil, nil, &kustomize.OverBudget{Problem: p.problem(in, err, w.kill())}
	}
}

// take returns a process that is idle, or a new one.
func (p *Pool) take(ctx context.Context) (*process, error) {
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		w := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return w, nil
	}
	p.mu.Unlock()
	return start(ctx, p.command, p.limits.Memory)
}

func (p *Pool) put(w *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, w)
}

// time returns how many seconds of a processor the next build may take, and how long
// it may take by the clock.
func (p *Pool) time() (int64, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, clock := p.limits.Time, p.limits.Clock
	if p.endless >= patience {
		t, clock = t/10, clock/10
	}
	return int64(max(t, time.Second) / time.Second), clock
}

func (p *Pool) late() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endless++
}

// Rest ends the processes that are idle: at rest they take no memory.
func (p *Pool) Rest() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.endless = nil, 0
	p.mu.Unlock()
	for _, w := range idle {
		w.kill()
	}
}

// problem says why an overlay cannot be built.
func (p *Pool) problem(in kustomize.Input, err error, last string) fleet.Problem {
	out := fleet.Problem{Overlay: in.Overlay, File: in.File, Hint: "split the overlay, or let kustomize do less in it; the limits are the flags --render-memory and --render-time"}
	switch {
	case errors.Is(err, errTime):
		out.Message = fmt.Sprintf("building it takes more than %s", p.limits.Time)
	case outOfMemory(last):
		out.Message = fmt.Sprintf("building it takes more than %d MiB of memory", p.limits.Memory>>20)
	default:
		out.Message = "the process that built it ended without an answer"
	}
	return out
}
