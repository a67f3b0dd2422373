package agent

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// Only the control plane of one cluster is worked on where that is asked for.
func TestOnly(t *testing.T) {
	a, b := clusterOf(keyA, "1", "x"), clusterOf(keyB, "1", "x")
	b.ControlPlane = fleet.Pool{Name: "cp"}
	b.Workers = []fleet.Pool{{Name: "md-0"}, {Name: "md-1"}}
	h := newHandoverWorld("me", fleetOf("1", fleet.Prune{}, a, b))
	if err := h.live(t, Options{Only: keyB}, func() {}); err != nil {
		t.Fatal(err)
	}
	expect(t, "the passes", h.took(), []string{"prod/b 1"})
	if !slices.Equal(h.paused, []fleet.PoolName{"md-0", "md-1"}) {
		t.Errorf("the pools left as they are are %v", h.paused)
	}
}

// TestDistrustedOwner: an agent that owns the fleet goes on where nobody who counts signed
// the owner that is there, and puts itself back; one that starts does not act, and says
// what to do.
func TestDistrustedOwner(t *testing.T) {
	doubt := fmt.Errorf("%w: it is not signed", status.ErrDistrusted)
	t.Run("running", func(t *testing.T) {
		w := newWorld(fleetWithPool())
		bubble(t, w, Options{Name: "me"}, func(t *testing.T, _ *Agent) {
			w.took()
			w.mu.Lock()
			w.doubt = doubt
			w.mu.Unlock()
			time.Sleep(15 * time.Minute)
			synctest.Wait()
			w.mu.Lock()
			expect(t, "it is put back", w.restored, []fleet.Owner{{Agent: "me", Epoch: 1}})
			w.mu.Unlock()
			if len(w.took()) == 0 {
				t.Error("the agent does nothing any more")
			}
		})
	})
	t.Run("unreadable", func(t *testing.T) {
		w := newWorld(fleetWithPool())
		bubble(t, w, Options{Name: "me"}, func(t *testing.T, _ *Agent) {
			w.mu.Lock()
			w.doubt = errors.New("no answer")
			w.mu.Unlock()
			time.Sleep(15 * time.Minute)
			w.mu.Lock()
			defer w.mu.Unlock()
			expect(t, "what cannot be read is not replaced", w.restored, []fleet.Owner(nil))
		})
	})
	t.Run("starting", func(t *testing.T) {
		w := newWorld(fleetWithPool())
		w.owner, w.doubt = fleet.Owner{Agent: "mallory", Epoch: 9, Place: "there"}, doubt
		err := w.agent(Options{Name: "me"}).Run(t.Context())
		want := `the fleet is owned by agent "mallory" (epoch 9, place there), without a signature by a request key: start that agent with the same --request-keys, so that it signs. If that agent is gone, start this one with --take-over mallory@9`
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		expect(t, "nothing is done", w.took(), []string(nil))
	})
}
