package reconcile_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
)

// silentInfrastructure takes each question and answers none.
type silentInfrastructure struct{ infrastructure }

func (silentInfrastructure) Observe(ctx context.Context, _ *fleet.Cluster) (fleet.Infrastructure, error) {
	<-ctx.Done()
	return fleet.Infrastructure{}, fleet.Errorf(fleet.Unavailable, "list servers", "%w", context.Cause(ctx))
}

// TestLookEnds: a provider that never answers keeps a pass for as long as a look may take.
func TestLookEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := decoded(t, clusterSpec{1, 1, "v1.33.5", false}.manifests())
		s := newStub(c, 1)
		began := time.Now()
		res := s.reconcilerOn(t, c, silentInfrastructure{infrastructure{s}}).Pass(t.Context(), c, fleet.Memory{})
		if took := time.Since(began); took != 2*time.Minute || fleet.KindOf(res.Err) != fleet.Unavailable {
			t.Errorf("the pass ends with %v after %s, want kind Unavailable after two minutes", res.Err, took)
		}
	})
}
