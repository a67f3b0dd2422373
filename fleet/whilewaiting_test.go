package fleet_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
)

// TestPoolsWhileWaiting: of a pool of machines only what never waits comes from the newest definition.
func TestPoolsWhileWaiting(t *testing.T) {
	for reason, tc := range map[string]struct{ is, next, want fleet.Pool }{
		"it is paused":         {fleet.Pool{}, fleet.Pool{Paused: true}, fleet.Pool{Paused: true}},
		"it goes on":           {fleet.Pool{Paused: true}, fleet.Pool{}, fleet.Pool{}},
		"more machines":        {fleet.Pool{Replicas: 2}, fleet.Pool{Replicas: 5}, fleet.Pool{Replicas: 5}},
		"fewer machines wait":  {fleet.Pool{Replicas: 5}, fleet.Pool{Replicas: 2}, fleet.Pool{Replicas: 5}},
		"a version waits":      {fleet.Pool{Version: "v1.33.1"}, fleet.Pool{Version: "v1.34.1"}, fleet.Pool{Version: "v1.33.1"}},
		"a lower limit":        {fleet.Pool{MaxRemediations: 3}, fleet.Pool{MaxRemediations: 1}, fleet.Pool{MaxRemediations: 1}},
		"a higher limit waits": {fleet.Pool{MaxRemediations: 1}, fleet.Pool{MaxRemediations: 3}, fleet.Pool{MaxRemediations: 1}},
	} {
		pool := func(p fleet.Pool) *fleet.Cluster {
			p.Name = "md"
			return &fleet.Cluster{Workers: []fleet.Pool{p}}
		}
		is := pool(tc.is)
		if d := cmp.Diff(pool(tc.want).Workers, is.WhileWaiting(pool(tc.next)).Workers); d != "" {
			t.Errorf("%s: %s", reason, d)
		}
	}
}
