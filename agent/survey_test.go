package agent

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
)

// silent is a cloud that never answers.
type silent struct{}

func (silent) Clusters(ctx context.Context, _ fleet.ID) ([]fleet.Key, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// TestSurveyHasADeadline: a cloud that never says what it has is given up after two
// minutes, and what it said before stays known.
func TestSurveyHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := fleet.Key{Namespace: "prod", Name: "eu-1"}
		a := &Agent{}
		there := fleetOf("1", fleet.Prune{}, fleet.Cluster{Key: keyA, Provider: "cloud"})
		a.targets.decide(rollout.Input{Newest: &rollout.Revision{Fleet: &there}, Tagged: map[string][]fleet.Key{"cloud": {k}}})
		began := time.Now()
		err := a.list(t.Context(), "cloud", silent{})
		if took := time.Since(began); err == nil || took != 2*time.Minute {
			t.Errorf("it ended after %s with %v, want 2m and an error", took, err)
		}
		if got := a.targets.now().Status().Orphans; !slices.Equal(got, []fleet.Key{k}) {
			t.Errorf("there are %v, want %v still", got, k)
		}
	})
}
