package replicas

import (
	"sync"
	"time"
)

// An Instant is a moment as the two clocks of a process show it. Neither alone
// is to be trusted: the wall clock is set by people and servers, the other one
// stands still while a machine sleeps.
type Instant struct {
	Monotonic time.Time
	Wall      time.Time
}

// Now returns this instant.
func Now() Instant {
	t := time.Now()
	return Instant{Monotonic: t, Wall: t.Round(0)}
}

// Since returns how much time may have passed from then to i: the longer of
// what the clocks say.
func (i Instant) Since(then Instant) time.Duration {
	return max(i.Monotonic.Sub(then.Monotonic), i.Wall.Sub(then.Wall))
}

// A Fence tells whether a right that others granted for a while still holds. It makes no
// request: it counts from before the right was asked for, so it ends sooner
// than for those who granted it. Once ended it stays so.
type Fence struct {
	length time.Duration
	now    func() Instant
	lapsed func()

	mu    sync.Mutex
	from  Instant
	held  bool
	ended bool
	timer *time.Timer
}

// NewFence returns a fence that holds for length after each grant, by the clocks
// that now reads. lapsed, if not nil, is called once when it ends for lack of
// one, and not when it is ended with End.
func NewFence(length time.Duration, now func() Instant, lapsed func()) *Fence {
	return &Fence{length: length, now: now, lapsed: lapsed}
}

// Grant makes the fence hold for its length from the time at which the right was
// asked for. It reports whether the fence holds: not if it has ended before.
func (f *Fence) Grant(asked Instant) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over() {
		return false
	}
	if !f.held || asked.Monotonic.After(f.from.Monotonic) {
		f.from = asked
	}
	f.held = true
	left := f.left()
	switch {
	case left <= 0:
		f.end()
		return false
	case f.timer == nil:
		f.timer = time.AfterFunc(left, f.check)
	default:
		f.timer.Reset(left)
	}
	return true
}

// Holds reports whether the right holds now.
func (f *Fence) Holds() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.held && !f.over()
}

// End ends the right: it was given back, or another has it.
func (f *Fence) End() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lapsed = nil
	f.end()
}

// check is called when the right should have lapsed.
func (f *Fence) check() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.over() {
		f.timer.Reset(f.left()) // it was granted again meanwhile
	}
}

// over ends a fence whose time is up, and reports whether it has ended.
func (f *Fence) over() bool {
	if !f.ended && f.held && f.left() <= 0 {
		f.end()
	}
	return f.ended
}

func (f *Fence) left() time.Duration { return f.length - f.now().Since(f.from) }

func (f *Fence) end() {
	if f.ended {
		return
	}
	f.ended = true
	if f.timer != nil {
		f.timer.Stop()
	}
	if f.lapsed != nil {
		go f.lapsed() // it may ask the fence
	}
}
