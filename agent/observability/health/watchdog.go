package health

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// The things that a watchdog watches: polls of the source, renders within them, and passes
// over clusters.
const (
	Polling   = "poll"
	Rendering = "render"
	Passing   = "pass"
)

// A Watchdog knows what is under way in a process and since when, and answers that the
// process hangs where something does not end.
//
// A Watchdog does not ask whether anything succeeds. A poll that a dead network fails
// ends, since every call over the network has a deadline, and a restart would fix
// nothing. A poll that waits for a lock or goes in circles does not end, and only a
// restart helps. A process with nothing under way is healthy.
//
// The zero Watchdog, and a nil one, never complain. A Watchdog is safe for concurrent use.
type Watchdog struct {
	limit time.Duration

	mu       sync.Mutex
	last     int64
	underWay map[int64]task
	ended    map[string]time.Time
}

// A task is something that is under way.
type task struct {
	what, of string
	since    time.Time
}

// passLimits is how many times longer a pass may take than a poll or a render: a pass may
// wait for many calls of a slow cloud, each with a deadline of its own.
const passLimits = 2

// NewWatchdog returns a Watchdog that complains of a poll or a render that took longer
// than limit, and of a pass that took twice as long. With a limit of 0 it never complains.
func NewWatchdog(limit time.Duration) *Watchdog {
	return &Watchdog{limit: limit, underWay: make(map[int64]task), ended: make(map[string]time.Time)}
}

// Begin says that one of the things that are watched begins; of names its object, as the
// cluster of a pass. The first function that it returns says that the thing goes on, which
// counts as a new beginning, the second one that it ended.
func (d *Watchdog) Begin(what, of string) (goesOn, ends func()) {
	if d == nil || d.limit == 0 {
		return func() {}, func() {}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last++
	id := d.last
	d.underWay[id] = task{what, of, time.Now()}
	return func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.underWay[id] = task{what, of, time.Now()}
		}, func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			delete(d.underWay, id)
			d.ended[what] = time.Now()
		}
}

// hung says what does not end, sorted.
func (d *Watchdog) hung(now time.Time) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for _, w := range d.underWay {
		limit := d.limit
		if w.what == Passing {
			limit *= passLimits
		}
		if age := now.Sub(w.since); age > limit {
			out = append(out, fmt.Sprintf("%s is under way for %s, more than %s", strings.TrimSpace(w.what+" "+w.of), age.Round(time.Second), limit))
		}
	}
	slices.Sort(out)
	return out
}

// Ended returns when one of the things that are watched ended last; zero: none did.
func (d *Watchdog) Ended(what string) time.Time {
	if d == nil {
		return time.Time{}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ended[what]
}

// ages says when each kind of task ended last, sorted.
func (d *Watchdog) ages(now time.Time) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for _, what := range slices.Sorted(maps.Keys(d.ended)) {
		out = append(out, fmt.Sprintf("the last %s ended %s ago", what, now.Sub(d.ended[what]).Round(time.Second)))
	}
	return out
}

// ServeHTTP answers 200 and "ok", or 503 and what hangs.
func (d *Watchdog) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if d == nil || d.limit == 0 {
		fmt.Fprintln(w, "ok")
		return
	}
	now := time.Now()
	lines := d.hung(now)
	if len(lines) == 0 {
		lines = []string{"ok"}
	} else {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	for _, line := range append(lines, d.ages(now)...) {
		fmt.Fprintln(w, line)
	}
}
