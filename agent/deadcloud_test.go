package agent

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

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
