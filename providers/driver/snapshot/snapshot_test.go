package snapshot_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
)

const tick = 10 * time.Second

// A place is listed: each listing takes a second, and its snapshot is when it began.
type place struct {
	mu       sync.Mutex
	listings int
	fails    bool
}

func (p *place) list(ctx context.Context) (time.Time, error) {
	began := time.Now()
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return began, ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listings++
	if p.fails {
		return time.Time{}, errors.New("no answer")
	}
	return began, nil
}

// count returns how many listings there were since the last time.
func (p *place) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.listings
	p.listings = 0
	return n
}

func inBubble(t *testing.T, f func(t *testing.T, p *place, c *snapshot.Cache[time.Time])) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := new(place)
		f(t, p, snapshot.NewCache(tick, "list", p.list))
	})
}

func owner(name string) snapshot.Owner {
	return snapshot.Owner{Fleet: "f", Cluster: fleet.Key{Namespace: "prod", Name: name}}
}

// TestShared: all that ask share a listing until it is too old.
func TestShared(t *testing.T) {
	inBubble(t, func(t *testing.T, p *place, c *snapshot.Cache[time.Time]) {
		get := func() { _, _ = c.Get(t.Context(), owner("a")) }
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() { _, _ = c.Get(t.Context(), owner(strings.Repeat("x", i+1))) })
		}
		all.Wait()
		if n := p.count(); n != 1 {
			t.Errorf("200 clusters at once made %d listings, want 1", n)
		}
		time.Sleep(tick / 2)
		if get(); p.count() != 0 {
			t.Error("a listing that is young enough was made again")
		}
		time.Sleep(tick)
		if get(); p.count() != 1 {
			t.Error("a listing that is too old was given again")
		}
	})
}

// TestAfterAChange: what a cluster or machine changed it sees; others do not pay for it.
func TestAfterAChange(t *testing.T) {
	inBubble(t, func(t *testing.T, p *place, c *snapshot.Cache[time.Time]) {
		a, b := owner("a"), owner("b")
		for reason, tc := range map[string]struct {
			changed, by snapshot.Owner
			listings    int
		}{
			"another cluster":               {a, b, 0},
			"the cluster":                   {a, a, 1},
			"its machine":                   {a.Part("m-0"), a, 1},
			"the machine":                   {a.Part("m-0"), a.Part("m-0"), 1},
			"another machine":               {a.Part("m-0"), a.Part("m-1"), 0},
			"what the machines share":       {a, a.Part("m-0"), 1},
			"a machine of another cluster":  {a.Part("m-0"), b, 0},
			"nobody's, as one who watches":  {a, snapshot.Owner{}, 0},
			"its like in another namespace": {a, snapshot.Owner{Fleet: "f", Cluster: fleet.Key{Namespace: "dev", Name: "a"}}, 0},
		} {
			time.Sleep(2 * tick)
			_, _ = c.Get(t.Context(), snapshot.Owner{})
			p.count()
			c.Changed(tc.changed)
			_, _ = c.Get(t.Context(), tc.by)
			if n := p.count(); n != tc.listings {
				t.Errorf("%s: %d listings, want %d", reason, n, tc.listings)
			}
			_, _ = c.Get(t.Context(), tc.changed)
		}
	})
}

// TestUnderWay: a listing that began before the change is not good enough, though it
// ends after it.
func TestUnderWay(t *testing.T) {
	inBubble(t, func(t *testing.T, p *place, c *snapshot.Cache[time.Time]) {
		var other sync.WaitGroup
		other.Go(func() { _, _ = c.Get(t.Context(), snapshot.Owner{}) })
		synctest.Wait()
		changed := time.Now()
		c.Changed(owner("a"))
		got, err := c.Get(t.Context(), owner("a"))
		if err != nil || !got.After(changed) {
			t.Errorf("the listing began at %v, %v, want after the change at %v", got, err, changed)
		}
		other.Wait()
		if n := p.count(); n != 2 {
			t.Errorf("%d listings, want 2", n)
		}
	})
}

// TestGivenUp: whoever gives up leaves the listing to the others.
func TestGivenUp(t *testing.T) {
	inBubble(t, func(t *testing.T, p *place, c *snapshot.Cache[time.Time]) {
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := c.Get(ctx, owner("a")); fleet.KindOf(err) != fleet.Unavailable {
				t.Errorf("given up: %v, want the kind Unavailable", err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			if _, err := c.Get(t.Context(), owner("a")); err != nil {
				t.Errorf("another: %v", err)
			}
		})
		synctest.Wait()
		cancel()
		all.Wait()
		if n := p.count(); n != 1 {
			t.Errorf("%d listings, want 1", n)
		}
	})
}

// TestFailure: a listing that failed is nobody's, and the one before is not good either
// for who changed something.
func TestFailure(t *testing.T) {
	inBubble(t, func(t *testing.T, p *place, c *snapshot.Cache[time.Time]) {
		_, _ = c.Get(t.Context(), owner("a"))
		p.mu.Lock()
		p.fails = true
		p.mu.Unlock()
		c.Changed(owner("a"))
		for range 2 {
			if _, err := c.Get(t.Context(), owner("a")); err == nil {
				t.Error("a listing that failed was given")
			}
		}
		if _, err := c.Get(t.Context(), owner("b")); err != nil {
			t.Errorf("another cluster: %v, want the snapshot from before", err)
		}
	})
}

type thing struct{ id, cluster, machine string }

func TestSet(t *testing.T) {
	all := []thing{{"1", "a", ""}, {"2", "a", "m-0"}, {"3", "b", ""}, {"4", "", ""}, {"2", "a", "m-0"}}
	s := snapshot.NewSet(all, func(t *thing) string { return t.id }, func(t *thing) (snapshot.Owner, bool) {
		return owner(t.cluster).Part(fleet.MachineName(t.machine)), t.cluster != ""
	})
	ids := func(list []*thing) (out string) {
		for _, t := range list {
			out += t.id
		}
		return out
	}
	a := owner("a")
	if s.Get("3").cluster != "b" || s.Get("5") != nil || len(s.All) != 4 {
		t.Errorf("%d things, want each once, found by id", len(s.All))
	}
	if o, ok := s.Owner("2"); !ok || o != a.Part("m-0") {
		t.Errorf("Owner(2) = %v, %t", o, ok)
	}
	if _, ok := s.Owner("4"); ok {
		t.Error("what carries no mark has an owner")
	}
	got := []string{ids(s.Of(a)), ids(s.Of(a.Part("m-0"))), ids(s.SharedBy(a)), ids(s.Parts(a)[a.Part("m-0")]), ids(s.Of(owner("c")))}
	if d := cmp.Diff([]string{"12", "2", "1", "2", ""}, got); d != "" {
		t.Error(d)
	}
	if owners := s.Owners(); len(owners) != 2 || !slices.Contains(owners, a) {
		t.Errorf("Owners = %v", owners)
	}
}

// TestListEnds: a list that does not end is given up, and the next one is begun.
func TestListEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lists := 0
		c := snapshot.NewCache(tick, "list", func(ctx context.Context) (int, error) {
			if lists++; lists == 1 {
				<-ctx.Done()
				return 0, ctx.Err()
			}
			return lists, nil
		})
		began := time.Now()
		if _, err := c.Get(t.Context(), owner("a")); fleet.KindOf(err) != fleet.Unavailable || time.Since(began) != 5*time.Minute {
			t.Errorf("after %s: %v, want kind Unavailable after five minutes", time.Since(began), err)
		}
		if got, err := c.Get(t.Context(), owner("a")); got != 2 || err != nil {
			t.Errorf("then: %d, %v", got, err)
		}
	})
}
