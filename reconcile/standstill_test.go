package reconcile_test

import (
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/reconcile"
)

// TestLookTellsWhenItEnded: a process that stands still while it looks sees what came
// to be meanwhile, and must not take it for as old as the look.
func TestLookTellsWhenItEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.cloud.Close()
		const still = 90 * time.Second // less than a look may take
		l := reconcile.NewLooker(reconcile.LookerOptions{
			Infrastructure: func(string) (providers.Observer, error) {
				time.Sleep(still)
				return inmemory.NewProvider(w.cloud, settle), nil
			},
			Distributions: w.distributions(nil),
			Secrets:       w.secrets,
		})
		began := time.Now()
		o, err := l.Look(t.Context(), clusterSpec{1, 1, "v1.33.5", false}.cluster(t))
		if err != nil || !o.At.Equal(began) || o.Until.Sub(o.At) < still {
			t.Errorf("from %s until %s, error %v; want from %s on, for %s", o.At, o.Until, err, began, still)
		}
	})
}
