package snapshot_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
)

// scene is what places look like, and who was told.
type scene struct {
	mu       sync.Mutex
	views    map[string]snapshot.View // by place; none: it does not answer
	hangs    map[string]bool
	looks    map[string]int
	notified map[string]int
}

func (s *scene) look(ctx context.Context, place string) (snapshot.View, error) {
	s.mu.Lock()
	s.looks[place]++
	v, ok := s.views[place]
	hangs := s.hangs[place]
	s.mu.Unlock()
	if hangs {
		<-ctx.Done()
	}
	if !ok {
		return v, errors.New("no answer")
	}
	return v, nil
}

func (s *scene) changed(k fleet.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notified[k.Name]++
}

func (s *scene) set(place string, busy bool, prints map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := snapshot.View{Prints: make(map[snapshot.Owner]string), Busy: busy}
	for name, print := range prints {
		v.Prints[owner(name)] = print
	}
	s.views[place] = v
}

// after lets d pass and returns the looks and who was told since the last time.
func (s *scene) after(d time.Duration) (looks, notified map[string]int) {
	time.Sleep(d)
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	looks, notified = maps.Clone(s.looks), maps.Clone(s.notified)
	clear(s.looks)
	clear(s.notified)
	return looks, notified
}

// watched runs f beside a Watch of clusters a and b in place "one", and of c in "two".
func watched(t *testing.T, f func(t *testing.T, s *scene, w *snapshot.Watch[string])) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &scene{views: make(map[string]snapshot.View), hangs: make(map[string]bool), looks: make(map[string]int), notified: make(map[string]int)}
		w := snapshot.NewWatch[string]()
		for name, place := range map[string]string{"a": "one", "b": "one", "c": "two"} {
			w.Looked(owner(name), []string{place})
		}
		s.set("one", false, map[string]string{"a": "1", "b": "1", "foreign": "1"})
		s.set("two", false, map[string]string{"c": "1"})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx, tick, s.look, s.changed) }()
		time.Sleep(time.Second) // between two ticks
		s.after(2 * tick)
		f(t, s, w)
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run = %v, want the end of its context", err)
		}
	})
}

func expect(t *testing.T, when string, got, want map[string]int) {
	t.Helper()
	if d := cmp.Diff(fmt.Sprint(want), fmt.Sprint(got)); d != "" {
		t.Errorf("%s: %s", when, d)
	}
}

func TestWatch(t *testing.T) {
	watched(t, func(t *testing.T, s *scene, w *snapshot.Watch[string]) {
		looks, notified := s.after(6 * tick)
		expect(t, "looks while nothing happens", looks, map[string]int{"one": 2, "two": 2})
		expect(t, "told while nothing happens", notified, nil)

		s.set("one", true, map[string]string{"a": "2", "b": "1", "foreign": "2"})
		_, notified = s.after(3 * tick)
		expect(t, "told of a change", notified, map[string]int{"a": 1})
		looks, notified = s.after(6 * tick)
		expect(t, "looks while one is busy", looks, map[string]int{"one": 6, "two": 2})
		expect(t, "told of the same", notified, nil)

		s.set("one", false, map[string]string{"b": "1"})
		_, notified = s.after(3 * tick)
		expect(t, "told of what is gone", notified, map[string]int{"a": 1})

		w.Looked(owner("c"), []string{"one"})
		s.after(tick)
		s.set("two", false, nil)
		looks, _ = s.after(3 * tick)
		expect(t, "looks after a place was left", looks, map[string]int{"one": 1})
	})
}

// TestWatchFailures: clusters are told once of a place that cannot be looked at any
// more, and not of one that fails now and then.
func TestWatchFailures(t *testing.T) {
	watched(t, func(t *testing.T, s *scene, _ *snapshot.Watch[string]) {
		fail := func() { s.mu.Lock(); delete(s.views, "one"); s.mu.Unlock() }
		fail()
		_, notified := s.after(3 * tick) // two looks fail
		s.set("one", false, map[string]string{"a": "1", "b": "1"})
		_, then := s.after(6 * tick)
		expect(t, "told of a few failures", notified, nil)
		expect(t, "told when it is back", then, nil)
		fail()
		_, notified = s.after(20 * tick)
		expect(t, "told of many", notified, map[string]int{"a": 1, "b": 1})
	})
}

// TestWatchInParallel: a place that hangs delays no other.
func TestWatchInParallel(t *testing.T) {
	watched(t, func(t *testing.T, s *scene, _ *snapshot.Watch[string]) {
		s.mu.Lock()
		s.hangs["two"] = true
		s.mu.Unlock()
		s.after(3 * tick)
		s.set("one", false, map[string]string{"a": "2", "b": "1"})
		looks, notified := s.after(6 * tick)
		expect(t, "looks", looks, map[string]int{"one": 2})
		expect(t, "told", notified, map[string]int{"a": 1})
	})
}

// TestWatchForgets: a cluster that nobody looks at any more is not watched for ever.
func TestWatchForgets(t *testing.T) {
	watched(t, func(t *testing.T, s *scene, w *snapshot.Watch[string]) {
		s.after(time.Hour)
		looks, _ := s.after(10 * tick)
		expect(t, "looks", looks, nil)
		if p := w.Places(); len(p) != 0 {
			t.Errorf("places: %v, want none", p)
		}
	})
}
