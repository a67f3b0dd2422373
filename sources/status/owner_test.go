package status_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// Safety: of many that claim at once all see one owner; of many hand-overs
// from one owner exactly one works, and the epoch grows by one.
func TestOneOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &branch{}
		a := status.NewArbiter(b)
		if o, err := a.Owner(t.Context()); err != nil || o != (fleet.Owner{}) {
			t.Fatalf("a new fleet has owner %v, %v", o, err)
		}
		oneOwner(t, each{func() sources.Branch { return b }})
	})
}

// each makes the branch anew for each agent that races.
type each struct{ branch func() sources.Branch }

func oneOwner(t *testing.T, e each) {
	t.Helper()
	const agents = 8
	a := status.NewArbiter(e.branch())
	var mu sync.Mutex
	claims := map[fleet.Owner]int{}
	var wg sync.WaitGroup
	for i := range agents {
		wg.Go(func() {
			o, err := status.NewArbiter(e.branch()).Claim(t.Context(), fmt.Sprintf("agent-%d", i), "")
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			claims[o]++
		})
	}
	wg.Wait()
	if len(claims) != 1 {
		t.Fatalf("owners are %v", claims)
	}
	first, err := a.Owner(t.Context())
	if err != nil || first.Epoch != 1 || claims[first] != agents {
		t.Fatalf("owner is %v, %v", first, err)
	}
	won := map[fleet.Owner]int{}
	for i := range agents {
		wg.Go(func() {
			o, err := status.NewArbiter(e.branch()).HandOver(t.Context(), first, fmt.Sprintf("next-%d", i), "")
			if err != nil && fleet.KindOf(err) != fleet.Conflict {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won[o]++
			}
		})
	}
	wg.Wait()
	last, err := a.Owner(t.Context())
	if err != nil || last.Epoch != 2 || len(won) != 1 || won[last] != 1 {
		t.Fatalf("owner is %v, %v, hand-overs that worked: %v", last, err, won)
	}
}

// A hand-over whose push landed without an answer worked.
func TestHandOverUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := owned(t)
		b.after = func() error { return fleet.Errorf(fleet.Unanswered, "commit", "connection reset") }
		o, err := status.NewArbiter(b).HandOver(t.Context(), self, "agent-b", "")
		if err != nil || o != (fleet.Owner{Agent: "agent-b", Epoch: 2}) {
			t.Errorf("got %v, %v", o, err)
		}
	})
}
