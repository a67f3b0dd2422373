package limit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/decorators/limit"
)

// clouds are places that clusters are in by their namespaces. A silent one answers no look
// before its context ends.
type clouds struct {
	providers.Infrastructure

	mu     sync.Mutex
	silent map[string]bool
	takes  map[string]time.Duration // of a look; default none
	fails  map[string]error         // of a look, after that time
	now    map[string]int           // looks under way
	most   map[string]int           // of them at once
	asked  map[string]int           // looks
	placed int                      // questions for the place of a cluster
}

func newClouds() *clouds {
	return &clouds{
		silent: make(map[string]bool), takes: make(map[string]time.Duration), fails: make(map[string]error),
		now: make(map[string]int), most: make(map[string]int), asked: make(map[string]int),
	}
}

func (w *clouds) Abilities() providers.Abilities { return providers.Abilities{Placer: w, Closer: w} }

func (w *clouds) Close() {}

func (w *clouds) PlaceOf(_ context.Context, c *fleet.Cluster) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.placed++
	return "cloud " + c.Key.Namespace, nil
}

func (w *clouds) Observe(ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
	at := c.Key.Namespace
	w.mu.Lock()
	w.asked[at]++
	w.now[at]++
	w.most[at] = max(w.most[at], w.now[at])
	silent, takes, err := w.silent[at], w.takes[at], w.fails[at]
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.now[at]--
	}()
	if silent {
		<-ctx.Done()
		return fleet.Infrastructure{}, fleet.Errorf(fleet.Unavailable, "list servers", "%w", context.Cause(ctx))
	}
	time.Sleep(takes)
	return fleet.Infrastructure{Exists: err == nil}, err
}

// set has a cloud fall silent, or answer again.
func (w *clouds) set(at string, silent bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silent[at] = silent
}

func in(place, name string) *fleet.Cluster {
	return &fleet.Cluster{Key: fleet.Key{Namespace: place, Name: name}}
}

// looked returns what a look at c comes to, and how long it takes.
func looked(t *testing.T, p *limit.Provider, c *fleet.Cluster) (time.Duration, error) {
	t.Helper()
	began := time.Now()
	_, err := p.Observe(t.Context(), c)
	return time.Since(began), err
}

// TestSilentPlace: all who wait for a place that falls silent are told after a while. From
// then on one look asks it and nobody waits, until it answers.
func TestSilentPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newClouds()
		p := limit.New(w, limit.Options{InFlight: 64, Passes: 4})
		defer p.Abilities().Closer.Close()
		if _, err := looked(t, p, in("a", "0")); err != nil {
			t.Fatal(err)
		}
		w.set("a", true)
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				took, err := looked(t, p, in("a", fmt.Sprint(i)))
				if took != 15*time.Second || fleet.KindOf(err) != fleet.Unavailable || !strings.HasSuffix(err.Error(), ": cloud a does not answer") {
					t.Errorf("one of those that wait is told %q after %s", err, took)
				}
			})
		}
		wg.Wait()
		synctest.Wait()
		if w.now["a"] != 1 {
			t.Errorf("%d looks go on, want one", w.now["a"])
		}
		before := w.asked["a"]
		for range 100 {
			if took, err := looked(t, p, in("a", "17")); took != 0 || fleet.KindOf(err) != fleet.Unavailable {
				t.Fatalf("another look: %v after %s, want the last error at once", err, took)
			}
		}
		if w.asked["a"] != before {
			t.Errorf("%d more looks asked the silent place", w.asked["a"]-before)
		}
		time.Sleep(5 * time.Minute) // the look that went on is over
		if took, err := looked(t, p, in("a", "18")); took != time.Second || err == nil || !strings.HasSuffix(err.Error(), "cloud a does not answer: cannot list servers: no answer within 2m0s") {
			t.Errorf("the next that asks: %q after %s, want the last error after a second", err, took)
		}
		if took, err := looked(t, p, in("b", "0")); took != 0 || err != nil {
			t.Errorf("a look elsewhere: %v after %s", err, took)
		}
		w.set("a", false)
		time.Sleep(5 * time.Minute)
		if took, err := looked(t, p, in("a", "19")); took != 0 || err != nil {
			t.Errorf("once it answers: %v after %s, want what is there", err, took)
		}
	})
}

// TestSlowIsNotSilent: looks that take long at a place that answers others are waited for,
// and a place whose looks all take long is soon known for it.
func TestSlowIsNotSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newClouds()
		p := limit.New(w, limit.Options{Passes: 4})
		defer p.Abilities().Closer.Close()
		w.takes["a"] = 40 * time.Second
		var wg sync.WaitGroup
		wg.Go(func() {
			if took, err := looked(t, p, in("a", "slow")); took != 40*time.Second || err != nil {
				t.Errorf("beside others: %v after %s, want an answer", err, took)
			}
		})
		synctest.Wait()
		w.takes["a"] = 0
		for range 4 {
			time.Sleep(10 * time.Second)
			if _, err := looked(t, p, in("a", "quick")); err != nil {
				t.Error(err)
			}
		}
		wg.Wait()
		w.takes["b"] = 40 * time.Second
		if _, err := looked(t, p, in("b", "0")); err == nil {
			t.Error("the first look at a slow place is waited for")
		}
		time.Sleep(time.Minute)
		for range 3 {
			if took, err := looked(t, p, in("b", "0")); took != 40*time.Second || err != nil {
				t.Errorf("later: %v after %s, want an answer", err, took)
			}
		}
	})
}

// TestCommandsWait: a process that makes no passes waits for a slow place.
func TestCommandsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newClouds()
		p := limit.New(w, limit.Options{InFlight: 64})
		w.takes["a"] = 90 * time.Second
		if took, err := looked(t, p, in("a", "0")); took != 90*time.Second || err != nil {
			t.Errorf("a slow look: %v after %s", err, took)
		}
	})
}

// TestErrorsAreNoSilence: what one cluster is refused refuses nothing to the others, and what
// fails after long as unavailable is silence, in the words of the place.
func TestErrorsAreNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newClouds()
		p := limit.New(w, limit.Options{Passes: 4})
		defer p.Abilities().Closer.Close()
		for _, kind := range []fleet.ErrorKind{fleet.Unauthorized, fleet.Unavailable} {
			w.fails["a"] = fleet.Errorf(kind, "list servers", "503")
			if _, err := looked(t, p, in("a", "0")); !errors.Is(err, w.fails["a"]) {
				t.Errorf("%v, want its own error", err)
			}
			w.fails["a"] = nil
			if _, err := looked(t, p, in("a", "1")); err != nil {
				t.Errorf("another cluster: %v", err)
			}
		}
		w.fails["a"], w.takes["a"] = fleet.Errorf(fleet.Unavailable, "list servers", "timeout"), 10*time.Second
		if _, err := looked(t, p, in("a", "0")); !errors.Is(err, w.fails["a"]) {
			t.Errorf("%v, want its own error", err)
		}
		if took, err := looked(t, p, in("a", "1")); took != time.Second || err == nil || !strings.HasSuffix(err.Error(), "cloud a does not answer: cannot list servers: timeout") {
			t.Errorf("after that: %v after %s", err, took)
		}
	})
}

// TestPassesOfDoubtfulPlace: few passes begin at a place that never answered, or leaves a
// look waiting. At one that answers all do.
func TestPassesOfDoubtfulPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newClouds()
		p := limit.New(w, limit.Options{Passes: 4})
		defer p.Abilities().Closer.Close()
		enter := func(at string, want int) {
			t.Helper()
			got := 0
			for i := range 16 {
				if leave, ok := p.Enter(t.Context(), in(at, fmt.Sprint(i))); ok {
					defer leave()
					got++
				}
			}
			if got != want {
				t.Errorf("%d passes begin at %s, want %d", got, at, want)
			}
		}
		enter("a", 4)
		if _, err := looked(t, p, in("a", "0")); err != nil {
			t.Fatal(err)
		}
		enter("a", 16)
		w.set("a", true)
		go func() { _, _ = looked(t, p, in("a", "0")) }()
		time.Sleep(4 * time.Second)
		enter("a", 4)
		time.Sleep(20 * time.Second)
		enter("a", 16) // they are told at once
		enter("b", 4)
		began := time.Now()
		p.Abilities().Closer.Close() // or the look that goes on stays
		if took := time.Since(began); took != 0 {
			t.Errorf("closing took %s", took)
		}
	})
}

// TestLimitsArePerPlace: calls that take all turns of one place leave those of another, and
// what is known of places is forgotten.
func TestLimitsArePerPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newClouds()
		p := limit.New(w, limit.Options{InFlight: 2})
		defer p.Abilities().Closer.Close()
		w.takes["a"] = 10 * time.Second
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() { _, _ = looked(t, p, in("a", fmt.Sprint(i))) })
		}
		synctest.Wait()
		if took, err := looked(t, p, in("b", "0")); took != 0 || err != nil {
			t.Errorf("a look at b: %v after %s", err, took)
		}
		if now, most := p.InFlight(); now != 2 || most != 2 {
			t.Errorf("%d of %d calls are under way, want 2 of 2", now, most)
		}
		wg.Wait()
		if w.most["a"] != 2 {
			t.Errorf("%d looks at once, want 2", w.most["a"])
		}
		asked := w.placed
		for range 10 {
			_, _ = looked(t, p, in("b", "0"))
		}
		if w.placed != asked {
			t.Errorf("its place was asked for %d times within a minute", w.placed-asked)
		}
	})
}
