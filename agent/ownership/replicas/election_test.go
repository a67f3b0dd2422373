package replicas_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/ownership/replicas"
	"fairlead.dev/agent/ownership/replicas/leasetest"
)

const lease = "fairlead"

// A world is replicas that stand for replicas.
type world struct {
	t   *testing.T
	ctx context.Context
	end context.CancelFunc // ends all replicas
	api *leasetest.API

	mu        sync.Mutex
	acts      map[time.Time][]string // who acted at that time
	led       []string               // who began a term, in order
	disturbed bool                   // somebody else wrote to the Lease
	wall      time.Duration          // that the wall clock is wrong by
}

func newWorld(t *testing.T) *world {
	ctx, cancel := context.WithCancel(t.Context())
	return &world{t: t, ctx: ctx, end: cancel, api: leasetest.New(), acts: make(map[time.Time][]string)}
}

// A replica acts all the time while it leads.
type replica struct {
	*leasetest.Client
	name string
	end  context.CancelFunc
	done chan error
}

// slow is how long the work of a replica takes to end.
const slow = 700 * time.Millisecond

// start starts a replica. Its work ends with err, if that is not nil, once it leads.
func (w *world) start(name string, err error) *replica {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.ctx)
	r := &replica{Client: w.api.Client(), name: name, end: cancel, done: make(chan error, 1)}
	e, failed := replicas.NewElector(replicas.ElectionOptions{
		Leases: r, Namespace: "fairlead-system", Name: lease, Identity: name, Now: w.now,
	})
	if failed != nil {
		w.t.Fatal(failed)
	}
	go func() {
		r.done <- e.Run(ctx, func(ctx context.Context, t *replicas.Term) error {
			w.mu.Lock()
			w.led = append(w.led, name)
			w.mu.Unlock()
			for ctx.Err() == nil && err == nil {
				w.act(name, t)
				time.Sleep(50 * time.Millisecond)
			}
			for range slow / (50 * time.Millisecond) { // what was begun still goes on
				if err == nil {
					w.act(name, t)
				}
				time.Sleep(50 * time.Millisecond)
			}
			if holder := w.api.Holder(lease); holder == "" && !w.disturbed {
				w.t.Errorf("%s gave the lease back while it worked", name)
			}
			return err
		})
	}()
	return r
}

// act acts, if that is allowed.
func (w *world) act(name string, t *replicas.Term) {
	if t.Leading() != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	at := time.Now().Truncate(50 * time.Millisecond)
	w.acts[at] = append(w.acts[at], name)
	if len(slices.Compact(slices.Clone(w.acts[at]))) > 1 {
		w.t.Errorf("at %s there act %v", at, w.acts[at])
	}
}

func (w *world) now() replicas.Instant {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := replicas.Now()
	i.Wall = i.Wall.Add(w.wall)
	return i
}

func (w *world) jump(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wall += d
}

// leader waits until another than before acts, at most so long, and returns who.
func (w *world) leader(within time.Duration, before ...string) string {
	w.t.Helper()
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if acts := w.acting(); len(acts) > 0 && !slices.Contains(before, acts[0]) {
			return acts[0]
		}
	}
	w.t.Fatalf("nobody acts within %s; terms: %v", within, w.led)
	return ""
}

// acting returns who acted just now.
func (w *world) acting() []string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.acts[time.Now().Truncate(50*time.Millisecond).Add(-50*time.Millisecond)]
}

func (w *world) terms() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.led)
}

func TestOneLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		all := map[string]*replica{}
		for _, name := range []string{"a", "b", "c"} {
			all[name] = w.start(name, nil)
		}
		first := w.leader(5 * time.Second)
		time.Sleep(5 * time.Minute)
		if terms := w.terms(); !slices.Equal(terms, []string{first}) {
			t.Errorf("undisturbed, the terms are %v", terms)
		}
		all[first].end()
		second := w.leader(slow+4*time.Second, first) // given back: no lease has to run out
		all[second].end()
		third := w.leader(slow+4*time.Second, first, second)
		all[third].end()
		for name, r := range all {
			if err := <-r.done; err != nil {
				t.Errorf("%s ended with %v", name, err)
			}
		}
		if holder := w.api.Holder(lease); holder != "" {
			t.Errorf("at the end %s holds the lease", holder)
		}
	})
}

// TestNeverTwo holds that no two act at once, and that one does again in time,
// however the API misbehaves for the leader.
func TestNeverTwo(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		faults leasetest.Faults
		heal   bool // before another can lead
	}{
		"Away":        {"a leader without the API server stops before its lease runs out", leasetest.Faults{Away: true}, false},
		"LostAnswers": {"renewals that got no answer do not count, though they happened", leasetest.Faults{LoseAnswers: true}, true},
		"Late":        {"nor do those that arrive when another may lead", leasetest.Faults{Late: 14 * time.Second}, true},
		"VeryLate":    {"nor those that arrive when another leads", leasetest.Faults{Late: 25 * time.Second}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				defer w.end()
				all := map[string]*replica{}
				for _, name := range []string{"a", "b"} {
					all[name] = w.start(name, nil)
				}
				first := w.leader(5 * time.Second)
				time.Sleep(time.Minute)
				all[first].Fail(c.faults)
				time.Sleep(12 * time.Second)
				if slices.Contains(w.acting(), first) {
					t.Errorf("%s: %s still acts", c.reason, first)
				}
				if c.heal {
					time.Sleep(time.Minute)
					all[first].Fail(leasetest.Faults{})
					first = ""
				}
				second := w.leader(40*time.Second, first)
				time.Sleep(time.Minute)
				for _, r := range all {
					r.Fail(leasetest.Faults{})
				}
				time.Sleep(time.Minute)
				if now := w.leader(time.Second); now != second {
					t.Errorf("the one that came back took over from the one that leads: %s", now)
				}
				for _, r := range all {
					r.end()
					<-r.done
				}
			})
		})
	}
}

// TestWorkEnds ends with what the work of the leader ended with, and leaves the
// Lease to others.
func TestWorkEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		failed := errors.New("the fleet belongs to another agent")
		a := w.start("a", failed)
		if err := <-a.done; !errors.Is(err, failed) {
			t.Errorf("ended with %v", err)
		}
		if holder := w.api.Holder(lease); holder != "" {
			t.Errorf("%s still holds the lease", holder)
		}
	})
}

func TestTiming(t *testing.T) {
	for name, c := range map[string]struct {
		timing replicas.Timing
		want   string
	}{
		"Defaults":     {replicas.Timing{}, ""},
		"Fast":         {replicas.Timing{Duration: 3 * time.Second, Deadline: 2 * time.Second, Retry: 500 * time.Millisecond}, ""},
		"NoMargin":     {replicas.Timing{Duration: 10 * time.Second}, "the renew deadline 10s must be shorter than the lease duration 10s"},
		"LongRetry":    {replicas.Timing{Retry: 9 * time.Second}, "the retry period 9s must be shorter"},
		"HalfASecond":  {replicas.Timing{Duration: 1500 * time.Millisecond, Deadline: time.Second, Retry: 100 * time.Millisecond}, "whole seconds"},
		"NegativeTime": {replicas.Timing{Retry: -1}, "the retry period -1ns"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.timing.WithDefaults().Check()
			if got := fmt.Sprint(err); c.want == "" && err != nil || !strings.Contains(got, c.want) {
				t.Errorf("%v: error %v, want %q", c.timing, err, c.want)
			}
		})
	}
}
