package agent

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/ownership"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

func TestOwnership(t *testing.T) {
	one := fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x"))

	t.Run("Refuses", func(t *testing.T) {
		w := newWorld(one)
		w.owner = fleet.Owner{Agent: "other", Epoch: 7}
		err := w.agent(Options{}).Run(t.Context())
		var refusal *ownership.NotOwnerError
		if !errors.As(err, &refusal) || refusal.Owner != w.owner {
			t.Errorf("a second agent must refuse and say who owns the fleet, got %v", err)
		}
		expect(t, "it touches nothing", w.took(), []string(nil))
	})
	t.Run("Waits", func(t *testing.T) {
		w := newWorld(one)
		w.owner = fleet.Owner{Agent: "other", Epoch: 7}
		bubble(t, w, Options{WaitForOwnership: true}, func(t *testing.T, _ *Agent) {
			time.Sleep(time.Hour)
			expect(t, "it touches nothing while it waits", w.took(), []string(nil))
			expect(t, "not even the status", w.publishing(), 0)
			w.mu.Lock()
			w.owner = fleet.Owner{Agent: "me", Epoch: 8}
			w.mu.Unlock()
			time.Sleep(time.Minute)
			synctest.Wait()
			expect(t, "and begins once the fleet is its own", w.took(), []string{"prod/a 1"})
		})
	})
	t.Run("Namesake", func(t *testing.T) {
		at := func(place string, o Options, w *world) *Agent {
			p := w.parts()
			p.Place = func(context.Context) (string, error) { return place, nil }
			return New(w.options(o), p)
		}
		w := newWorld(one)
		w.owner = fleet.Owner{Agent: "me", Epoch: 7, Place: "there"}
		var err error
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			err = at("here", Options{}, w).Run(ctx)
		})
		for _, want := range []string{`another agent of the name "me"`, "in there", "in here", "--take-over me@7"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("an agent of the owner's name ended with %v, want %q in it", err, want)
			}
		}
		expect(t, "it touches nothing", w.took(), []string(nil))
		if w.owner.Place != "there" {
			t.Errorf("the owner is now %v", w.owner)
		}

		// One that loses the fleet to another of its name must end as well.
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(one)
			done := make(chan error, 1)
			go func() { done <- at("here", Options{}, w).Run(t.Context()) }()
			synctest.Wait()
			if err := w.may(keyA); err != nil {
				t.Errorf("the owner may not act: %v", err)
			}
			w.mu.Lock()
			w.owner = fleet.Owner{Agent: "me", Epoch: 1, Place: "there"}
			w.mu.Unlock()
			if _, ok := errors.AsType[*ownership.NotOwnerError](<-done); !ok || w.may(keyA) == nil {
				t.Error("it goes on though another agent of its name owns the fleet")
			}
		})
	})
	t.Run("PlaceUnknown", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(one)
			p := w.parts()
			var mu sync.Mutex
			unknown := errors.New("the API server does not answer")
			p.Place = func(context.Context) (string, error) {
				mu.Lock()
				defer mu.Unlock()
				return "here", unknown
			}
			a := New(w.options(Options{}), p)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- a.Run(ctx) }()
			time.Sleep(time.Hour)
			w.mu.Lock()
			owner := w.owner
			w.mu.Unlock()
			if owner.Agent != "" {
				t.Errorf("it claimed as %v without knowing where it is", owner)
			}
			mu.Lock()
			unknown = nil
			mu.Unlock()
			time.Sleep(time.Hour)
			cancel()
			if err := <-done; err != nil || w.owner != (fleet.Owner{Agent: "me", Epoch: 1, Place: "here"}) {
				t.Errorf("then the owner is %v, it ended with %v", w.owner, err)
			}
		})
	})
	t.Run("Nobody", func(t *testing.T) {
		err := &ownership.NotOwnerError{Self: "me"}
		if !strings.Contains(err.Error(), "owner.yaml is gone from the status branch") {
			t.Errorf("where the status branch was deleted the error must say so, got %v", err)
		}
	})
	t.Run("Loses", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(one)
			done := make(chan error, 1)
			go func() { done <- w.agent(Options{}).Run(t.Context()) }()
			synctest.Wait()
			if err := w.may(keyA); err != nil {
				t.Errorf("the owner may not act: %v", err)
			}
			w.mu.Lock()
			w.owner = fleet.Owner{Agent: "other", Epoch: 2}
			w.mu.Unlock()
			err := <-done
			if _, ok := errors.AsType[*ownership.NotOwnerError](err); !ok || !strings.Contains(err.Error(), `owned by agent "other"`) {
				t.Errorf("an agent that lost the fleet must end and say so, got %v", err)
			}
			if w.may(keyA) == nil {
				t.Error("an agent that lost the fleet may still act")
			}
		})
	})
}

// told is a status branch that tells of cluster b at revision 1.
func told(phase fleet.Phase) status.Status {
	return status.Status{Fleet: sources.FleetStatus{Fleet: "f"}, Clusters: []status.Cluster{{Report: fleet.Report{
		Cluster: keyB, Revision: revision("1"), Overlay: "clusters/prod/b", Phase: phase,
	}}}}
}
