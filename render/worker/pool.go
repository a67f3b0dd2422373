package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/render/kustomize"
)

// Limits bound builds. A field that is 0 has its default.
type Limits struct {
	// Memory is for the build of one overlay, in bytes, in addition to the memory of an
	// idle process.
	Memory int64
	// Time is the processor time for the build of one overlay, in whole seconds. A busy
	// computer does not change the result.
	Time time.Duration
	// Clock is the elapsed time for it; 0 is six times Time.
	Clock time.Duration
	// Processes is how many overlays are built at once.
	Processes int
}

// maxEndless is how many builds from one Rest to the next may exceed their time. Later
// builds get a tenth of the time.
const maxEndless = 3

// A Pool is a set of processes. It is safe for concurrent use.
type Pool struct {
	command []string
	limits  Limits
	slots   chan struct{}

	idle     chan *process
	running  atomic.Int32 // processes, idle ones included
	starting atomic.Int32 // of them, those that are not ready yet

	mu      sync.Mutex
	endless int // builds that exceeded their time
}

// patience is how long a build waits for a process that runs before it starts another one, unless
// one is starting. Most overlays take much less, and a start takes about as long.
const patience = 300 * time.Millisecond

// NewPool returns a Pool that runs command, a program and its arguments. It starts no
// process yet.
func NewPool(command []string, l Limits) *Pool {
	d := DefaultLimits()
	l = Limits{cmp.Or(l.Memory, d.Memory), cmp.Or(l.Time, d.Time), l.Clock, cmp.Or(l.Processes, d.Processes)}
	if l.Clock == 0 {
		l.Clock = 6 * l.Time
	}
	return &Pool{command: command, limits: l, slots: make(chan struct{}, l.Processes), idle: make(chan *process, l.Processes)}
}

// Processes is how many overlays are built at once.
func (p *Pool) Processes() int { return p.limits.Processes }

// Build builds an overlay. An overlay that exceeds the limits gives a
// *kustomize.OverBudget. Any other error is not the overlay's: ctx ended, or the program
// does not start.
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
		if err == nil {
			p.idle <- w
			return out.objects(), out.Problem, nil
		}
		said := p.end(w)
		switch {
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		case errors.Is(err, errTime) || outOfTime(said):
			err = errTime
			p.late()
		case used:
			// An earlier build may have used too much of the process's memory.
			continue
		}
		return nil, nil, &kustomize.OverBudget{Problem: p.problem(in, err, w)}
	}
}

// take returns an idle process, or a new one.
func (p *Pool) take(ctx context.Context) (*process, error) {
	if !p.running.CompareAndSwap(0, 1) {
		wait := time.NewTicker(patience)
		defer wait.Stop()
		for waits := true; waits; {
			select {
			case w := <-p.idle:
				return w, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-wait.C:
				waits = p.starting.Load() > 0
			}
		}
		p.running.Add(1)
	}
	p.starting.Add(1)
	w, err := start(ctx, p.command, p.limits.Memory)
	p.starting.Add(-1)
	if err != nil {
		p.running.Add(-1)
	}
	return w, err
}

// end kills a process and returns its standard error.
func (p *Pool) end(w *process) string {
	p.running.Add(-1)
	return w.kill()
}

// time returns the limits of the next build: processor seconds, and elapsed time.
func (p *Pool) time() (int64, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, clock := p.limits.Time, p.limits.Clock
	if p.endless >= maxEndless {
		t, clock = t/10, clock/10
	}
	return int64(max(t, time.Second) / time.Second), clock
}

func (p *Pool) late() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endless++
}

// Rest ends idle processes, which would keep memory.
func (p *Pool) Rest() {
	p.mu.Lock()
	p.endless = 0
	p.mu.Unlock()
	for {
		select {
		case w := <-p.idle:
			p.end(w)
		default:
			return
		}
	}
}

// problem says why an overlay cannot be built.
func (p *Pool) problem(in kustomize.Input, err error, w *process) fleet.Problem {
	out := fleet.Problem{Overlay: in.Overlay, File: in.File, Hint: "split the overlay, or let kustomize do less in it; the limits are the flags --render-memory and --render-time"}
	switch {
	case errors.Is(err, errTime):
		out.Message = fmt.Sprintf("building it takes more than %s", p.limits.Time)
	case outOfMemory(w.kill()):
		out.Message = fmt.Sprintf("building it takes more than %d MiB of memory", p.limits.Memory>>20)
	default:
		out.Message = "the process that built it ended without an answer: " + w.ending(err)
	}
	return out
}
