package pins_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/inputs/pins"
	"fairlead.dev/fleet"
	"fairlead.dev/render"
	"fairlead.dev/sources"
)

type memTree struct{ fstest.MapFS }

func (memTree) Digest(string) (string, error) { return "x", nil }

// A world answers for pins, by name.
type world struct {
	mu     sync.Mutex
	errs   map[string]error
	asked  map[string]int
	hangs  map[string]bool
	called int
}

func (w *world) get(ctx context.Context, s fleet.PinnedSource) render.Content {
	w.mu.Lock()
	w.called++
	w.asked[s.Name+s.Commit]++
	err, hangs := w.errs[s.Name], w.hangs[s.Name]
	w.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return render.Content{Err: ctx.Err()}
	}
	if err != nil {
		return render.Content{Err: err}
	}
	return render.Content{Tree: memTree{}}
}

func (w *world) set(name string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.errs[name] = err
}

func newWorld() *world {
	return &world{errs: map[string]error{}, asked: map[string]int{}, hangs: map[string]bool{}}
}

func pin(name, commit string) fleet.PinnedSource {
	return fleet.PinnedSource{Name: name, Commit: commit}
}

// What was got once is there whatever becomes of its source, for the newest list and the
// one before it.
func TestKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		k := pins.New(pins.Options{Get: w.get, Timeout: time.Second})
		defer k.Close()
		one, two := []fleet.PinnedSource{pin("a", "1"), pin("b", "1")}, []fleet.PinnedSource{pin("a", "2"), pin("b", "1")}
		k.Open(t.Context(), one)
		k.Open(t.Context(), two)
		w.set("a", errors.New("away"))
		w.set("b", errors.New("away"))
		for _, list := range [][]fleet.PinnedSource{one, two, one, two, two} {
			for name, c := range k.Open(t.Context(), list) {
				if c.Tree == nil {
					t.Errorf("%s is gone: %v", name, c.Err)
				}
			}
		}
		if w.called != 3 {
			t.Errorf("got %d times, want each pin once", w.called)
		}
		three := []fleet.PinnedSource{pin("c", "1")}
		k.Open(t.Context(), three)
		k.Open(t.Context(), []fleet.PinnedSource{pin("d", "1")})
		if c := k.Open(t.Context(), one)["a"]; c.Err == nil {
			t.Error("what no revision pins any more is kept for ever")
		}
	})
}

// What cannot be got is tried again, less and less often, and told when it is there.
func TestTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		k := pins.New(pins.Options{Get: w.get, Timeout: time.Second})
		defer k.Close()
		list := []fleet.PinnedSource{pin("a", "1"), pin("b", "1"), pin("c", "1"), pin("d", "1")}
		w.set("a", errors.New("away"))
		w.set("c", fleet.Errorf(fleet.Invalid, "get", "a bomb"))
		w.set("d", fleet.Errorf(fleet.Invalid, "get", "%w", sources.ErrUntrusted))
		if got := k.Open(t.Context(), list); got["a"].Err == nil || got["b"].Tree == nil || got["c"].Err == nil {
			t.Errorf("got %v", got)
		}
		for range 600 {
			if time.Sleep(time.Second); k.Due() {
				t.Error("something is due that nobody could get")
			}
		}
		synctest.Wait()
		if a, c, d := w.asked["a1"], w.asked["c1"], w.asked["d1"]; a < 15 || a > 27 || c != 1 || d < 3 {
			t.Errorf("within ten minutes a was asked for %d times, c %d times, d %d times", a, c, d)
		}
		w.set("a", nil)
		for range 31 {
			time.Sleep(time.Second)
			k.Due()
		}
		synctest.Wait()
		if !k.Due() {
			t.Error("nobody is told that it is there")
		}
		if k.Open(t.Context(), list)["a"].Tree == nil || k.Due() {
			t.Error("it is not given out, or told twice")
		}
	})
}

// A source that hangs is waited for once, and not for long.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		k := pins.New(pins.Options{Get: w.get, Timeout: 20 * time.Second})
		w.hangs["a"] = true
		list := []fleet.PinnedSource{pin("a", "1"), pin("b", "1")}
		started := time.Now()
		got := k.Open(t.Context(), list)
		if took := time.Since(started); took != 20*time.Second || fleet.KindOf(got["a"].Err) != fleet.Unavailable || got["b"].Tree == nil {
			t.Errorf("after %s: %v", took, got)
		}
		started = time.Now()
		k.Open(t.Context(), list)
		if took := time.Since(started); took != 0 {
			t.Errorf("it was waited for again, for %s", took)
		}
		k.Close()
	})
}

// Without a timeout, as commands of people have it, the answer is waited for, and the
// caller may call it off.
func TestWithoutTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.hangs["a"] = true
		k := pins.New(pins.Options{Get: w.get})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if got := k.Open(ctx, []fleet.PinnedSource{pin("a", "1")}); got["a"].Err == nil {
			t.Error("it is there")
		}
	})
}

// Lists that are asked for at the same time keep each other's pins for as long as they wait.
func TestListsAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn, got := make(chan struct{}), make(chan map[string]render.Content, 1)
		k := pins.New(pins.Options{Get: func(_ context.Context, s fleet.PinnedSource) render.Content {
			if s.Name == "slow" {
				<-goOn
			}
			return render.Content{Tree: memTree{}}
		}})
		go func() { got <- k.Open(t.Context(), []fleet.PinnedSource{pin("slow", "1")}) }()
		synctest.Wait()
		for _, name := range []string{"a", "b", "c"} {
			if c := k.Open(t.Context(), []fleet.PinnedSource{pin(name, "1")}); c[name].Tree == nil {
				t.Errorf("%s is not there: %v", name, c[name].Err)
			}
		}
		close(goOn)
		if c := <-got; c["slow"].Tree == nil {
			t.Errorf("the one that took long is not there: %v", c["slow"].Err)
		}
	})
}
