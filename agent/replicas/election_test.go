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

	"fairlead.dev/agent/replicas"
	"fairlead.dev/agent/replicas/leasetest"
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

// TestSlowAnswer counts from the question: when the answer comes, most of the
// time that was granted is over.
func TestSlowAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		a := w.start("a", nil)
		w.leader(5 * time.Second)
		a.Fail(leasetest.Faults{Slow: 6 * time.Second})
		for before := w.api.Writes(); w.api.Writes() == before; {
			time.Sleep(10 * time.Millisecond)
		}
		a.Fail(leasetest.Faults{Away: true})
		time.Sleep(9500 * time.Millisecond)
		if len(w.acting()) == 0 {
			t.Error("it stopped too early")
		}
		time.Sleep(600 * time.Millisecond)
		if len(w.acting()) > 0 {
			t.Error("it acts on an answer that took six seconds, ten seconds after it asked")
		}
		a.end()
		<-a.done
	})
}

// TestShortOutage renews in time after an outage that is shorter than the
// deadline: nobody else begins.
func TestShortOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		a, b := w.start("a", nil), w.start("b", nil)
		first := w.leader(5 * time.Second)
		for range 20 {
			a.Fail(leasetest.Faults{Away: true})
			b.Fail(leasetest.Faults{Away: true})
			time.Sleep(6 * time.Second)
			a.Fail(leasetest.Faults{})
			b.Fail(leasetest.Faults{})
			time.Sleep(4 * time.Second)
		}
		if terms := w.terms(); !slices.Equal(terms, []string{first}) {
			t.Errorf("the terms are %v", terms)
		}
		for _, r := range []*replica{a, b} {
			r.end()
			<-r.done
		}
	})
}

// TestClockJump: a clock that jumped forward may tell of a process that was
// asleep. One that jumped back says nothing.
func TestClockJump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		a := w.start("a", nil)
		w.leader(5 * time.Second)
		w.jump(-time.Hour)
		time.Sleep(30 * time.Second)
		if terms := w.terms(); len(terms) != 1 {
			t.Errorf("after a jump back the terms are %v", terms)
		}
		w.jump(2 * time.Hour)
		time.Sleep(5 * time.Second)
		w.leader(30 * time.Second)
		if terms := w.terms(); len(terms) != 2 {
			t.Errorf("after a jump forward the terms are %v, and it should have begun a new one", terms)
		}
		a.end()
		<-a.done
	})
}

// TestInterruptedTerm takes the Lease away from a leader and gives it back
// before the leader looks: that is another term.
func TestInterruptedTerm(t *testing.T) {
	for name, disturb := range map[string]func(w *world, other *leasetest.Client){
		"Deleted": func(w *world, _ *leasetest.Client) { w.api.Remove(lease) },
		"HeldAndReleased": func(w *world, other *leasetest.Client) {
			l := w.api.Lease(lease)
			*l.Spec.HolderIdentity = "" // what a replica leaves that led meanwhile
			*l.Spec.LeaseTransitions++
			if _, err := other.Leases("").Update(w.t.Context(), l, updateOptions); err != nil {
				w.t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				defer w.end()
				a := w.start("a", nil)
				w.leader(5 * time.Second)
				w.disturbed = true
				disturb(w, w.api.Client())
				time.Sleep(3 * time.Second)
				w.leader(30 * time.Second)
				if terms := w.terms(); !slices.Equal(terms, []string{"a", "a"}) {
					t.Errorf("the terms are %v, the first should have ended", terms)
				}
				a.end()
				<-a.done
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

// TestStuckWork does not give back the Lease of work that never ends.
func TestStuckWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := leasetest.New()
		e, err := replicas.NewElector(replicas.ElectionOptions{Leases: api.Client(), Namespace: "n", Name: lease, Identity: "a"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done, free := make(chan error, 1), make(chan struct{})
		go func() {
			done <- e.Run(ctx, func(context.Context, *replicas.Term) error { <-free; return nil })
		}()
		time.Sleep(time.Minute)
		cancel()
		if err := <-done; err == nil || !strings.Contains(err.Error(), "did not end") {
			t.Errorf("ended with %v", err)
		}
		if holder := api.Holder(lease); holder != "a" {
			t.Errorf("the lease of work that goes on was given to %q", holder)
		}
		close(free)
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

// TestSlowElection elects a replica whose first answer came too late to lead by it.
func TestSlowElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		a := w.start("a", nil)
		a.Fail(leasetest.Faults{Slow: 11 * time.Second})
		for w.api.Writes() == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		a.Fail(leasetest.Faults{})
		w.leader(20 * time.Second)
		a.end()
		<-a.done
	})
}
