package agent

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// viewer is a Looker that answers as it is told to.
type viewer struct {
	mu     sync.Mutex
	looks  []string
	failed map[fleet.Key]bool
	hangs  map[fleet.Key]bool // until nobody waits any more
}

func (v *viewer) Look(ctx context.Context, c *fleet.Cluster) (fleet.Observed, error) {
	v.mu.Lock()
	v.looks = append(v.looks, c.Key.String())
	failed, hangs := v.failed[c.Key], v.hangs[c.Key]
	v.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return fleet.Observed{}, ctx.Err()
	}
	if failed {
		return fleet.Observed{}, errors.New("no cloud")
	}
	return fleet.Observed{}, nil
}

func (v *viewer) took() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := v.looks
	v.looks = nil
	slices.Sort(out)
	return out
}

// TestRehearsalGoesOn: a rehearsal with an error goes on where it was, a cluster that
// does not answer holds up no other one, and another succession begins anew.
func TestRehearsalGoesOn(t *testing.T) {
	keyC := fleet.Key{Namespace: "prod", Name: "c"}
	w := newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x"), clusterOf(keyB, "1", "x"), clusterOf(keyC, "1", "x")))
	a := w.agent(Options{}) // its queue has clocks of its own, which do not belong into the bubble
	synctest.Test(t, func(t *testing.T) {
		v := &viewer{failed: map[fleet.Key]bool{keyA: true}, hangs: map[fleet.Key]bool{keyB: true}}
		opened := 0
		a.p.Looker = func() Looker { opened++; return v }
		ledger, err := a.p.Ledger("status")
		if err != nil {
			t.Fatal(err)
		}
		a.ledger = ledger
		next := fleet.Succession{ID: "1", To: "me", Step: fleet.StepMoved}
		if err := a.rehearse(t.Context(), next); err == nil || err.Error() != "no cloud" {
			t.Errorf("the error is %v", err)
		}
		expect(t, "all are looked at", v.took(), []string{"prod/a", "prod/b", "prod/c"})
		v.failed, v.hangs = nil, nil
		if err := a.rehearse(t.Context(), next); err != nil {
			t.Error(err)
		}
		expect(t, "what was seen is not looked at again", v.took(), []string{"prod/a", "prod/b"})
		if err := a.rehearse(t.Context(), fleet.Succession{ID: "2", To: "me", Step: fleet.StepMoved}); err != nil {
			t.Error(err)
		}
		expect(t, "another succession is another one", v.took(), []string{"prod/a", "prod/b", "prod/c"})
		expect(t, "a looker for each succession", opened, 2)
	})
}

// deadCloud is a provider whose listing never answers.
type deadCloud struct{ infrastructure }

func (d deadCloud) Abilities() providers.Abilities {
	return providers.Abilities{Watcher: d, Lister: d}
}

func (deadCloud) Clusters(ctx context.Context, _ fleet.ID) ([]fleet.Key, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// stray is a provider that has a cluster which Git never had.
type stray struct{ infrastructure }

func (s stray) Abilities() providers.Abilities { return providers.Abilities{Watcher: s, Lister: s} }

func (stray) Clusters(context.Context, fleet.ID) ([]fleet.Key, error) {
	return []fleet.Key{keyB}, nil
}

// TestDeadCloudHoldsUpNothing: a push is acted on at once while the listing of a cloud
// hangs, and what another cloud has is told.
func TestDeadCloudHoldsUpNothing(t *testing.T) {
	one := func(rev, digest string) fleet.Fleet {
		alive, dead := clusterOf(keyA, rev, digest), clusterOf(fleet.Key{Namespace: "prod", Name: "dead"}, rev, "x")
		alive.Provider, dead.Provider = "alive", "dead"
		return fleetOf(rev, fleet.Prune{}, alive, dead)
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(one("1", "x"), one("2", "y"))
		a := w.agent(Options{})
		a.p.Infrastructure = func(name string) (providers.Infrastructure, error) {
			if name == "dead" {
				return deadCloud{infrastructure{world: w}}, nil
			}
			return stray{infrastructure{world: w}}, nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		synctest.Wait()
		expect(t, "the first revision", w.took(), []string{"prod/a 1", "prod/dead 1"})
		expect(t, "what the living cloud has", w.whole().Orphans, []fleet.Key{keyB})
		w.move("2")
		a.Poll()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		expect(t, "the push", w.took(), []string{"prod/a 2"})
		expect(t, "is told", w.whole().Applied, revision("2"))
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
