package metal3_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// late returns a provider that looked at w's cluster, and lists hosts again only after a change of its
// own.
func (w *world) late(c *fleet.Cluster) *metal3.Provider {
	w.Helper()
	p := metal3.New(metal3.Options{Ironic: ironic.Options{Rate: 10_000}, Tick: time.Hour, Settle: settle, Retry: retry})
	w.Cleanup(p.Close)
	if _, err := p.Observe(w.Context(), c); err != nil {
		w.Fatal(err)
	}
	return p
}

// taken gives a host to somebody else.
func (w *world) taken(name string) {
	w.Helper()
	for field, value := range map[string]any{"extra": map[string]any{}, "instance_info": map[string]any{}, "instance_uuid": nil} {
		w.set(name, field, value)
	}
	w.set(name, "instance_uuid", uuid.NewString())
}

// TestSecondLook: what changed at a host since it was listed is asked for by id before anything is done,
// and nothing is done that was decided on the listing alone.
func TestSecondLook(t *testing.T) {
	t.Parallel()
	ensure := func(ctx context.Context, p *metal3.Provider, c *fleet.Cluster) error {
		return p.EnsureInfrastructure(ctx, "op", c)
	}
	for name, tc := range map[string]struct {
		before  func(w *world) // the listing
		since   func(w *world)
		act     func(ctx context.Context, p *metal3.Provider, c *fleet.Cluster) error
		refused fleet.ErrorKind
	}{
		"an available host is to be prepared, and is claimed": {
			before: func(w *world) { w.settings(&w.c, "m1", virtualization("Enabled")) },
			since:  func(w *world) { w.taken("m1") },
			act:    ensure,
		},
		"cleaning failed, and people set it into maintenance": {
			before: func(w *world) {
				w.set("m1", "provision_state", "clean failed")
				w.set("m1", "maintenance", true)
				w.set("m1", "fault", "clean failure")
			},
			since: func(w *world) {
				w.set("m1", "fault", nil)
				w.set("m1", "maintenance_reason", "its disk is being changed")
			},
			act: ensure,
		},
		"a machine is to go, and its host is another's": {
			before: func(w *world) { w.create(&w.c, worker) },
			since:  func(w *world) { w.taken("m1") },
			act: func(ctx context.Context, p *metal3.Provider, c *fleet.Cluster) error {
				return p.DeleteMachine(ctx, "op", c, worker, "")
			},
		},
		"a machine is to be off, and its host is another's": {
			before: func(w *world) { w.create(&w.c, worker) },
			since:  func(w *world) { w.taken("m1") },
			act: func(ctx context.Context, p *metal3.Provider, c *fleet.Cluster) error {
				return p.SwitchMachine(ctx, "op", c, worker, fleet.ProviderID("metal3://"+c.Key.Namespace+"/m1/"+string(worker)), fleet.HostOff)
			},
		},
		"a host is to be claimed, and is not available": {
			since: func(w *world) {
				w.ask(http.MethodPut, "m1", "/states/provision", map[string]any{"target": "manage"})
			},
			act: func(ctx context.Context, p *metal3.Provider, c *fleet.Cluster) error {
				if err := p.EnsureInfrastructure(ctx, "op", c); err != nil { // there is nothing to be done
					return err
				}
				return p.CreateMachine(ctx, "op", request(c, worker))
			},
			refused: fleet.Exhausted,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := doubled(t, "m1")
			w.until(&w.c, "available", allFree)
			if tc.before != nil {
				tc.before(w)
			}
			w.observe(&w.c)
			p := w.late(&w.c)
			tc.since(w)
			w.ResetCalls()
			if err := tc.act(t.Context(), p, &w.c); err != nil && fleet.KindOf(err) != tc.refused {
				t.Error(err)
			}
			if did := w.changes(); len(did) > 0 {
				t.Errorf("it did %q", did)
			}
		})
	}
}

// TestConfigureKeepsWhatIsNoted: an account of a BMC that changed is told without what was listed before
// another process noted that it prepared the host.
func TestConfigureKeepsWhatIsNoted(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c := &w.c
	w.until(c, "available", allFree)
	c.Companions[0].Secrets = map[fleet.Key]fleet.SecretData{{Namespace: w.namespace, Name: "m1-bmc"}: secretOf(map[string]string{"username": metal3test.BMCUser, "password": "another"})}
	p := w.late(c)
	w.set("m1", "driver_info/fairlead_prepared", map[string]any{"settings": "by another process"})
	if err := p.EnsureInfrastructure(t.Context(), "op", c); err != nil {
		t.Fatal(err)
	}
	info, _ := w.node("m1")["driver_info"].(map[string]any)
	if info["fairlead_prepared"] == nil {
		t.Errorf("driver_info is %v", info)
	}
}

// TestOrphanIsLookedAtAgain: a host that is another's when an orphan is to be removed from it stays.
func TestOrphanIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c := &w.c
	w.create(c, worker)
	other := w.c
	other.Key.Name = "eu-2"
	clusters := []*fleet.Cluster{&other}
	found, err := w.p.Orphans(t.Context(), "acme", clusters)
	if err != nil || len(found) != 1 {
		t.Fatalf("Orphans = %v, %v", found, err)
	}
	w.ResetCalls()
	w.Watch(func(call metal3test.Call) {
		if strings.HasPrefix(call.Method, "GET /v1/nodes/") {
			w.Watch(nil)
			w.taken("m1")
		}
	})
	if err := w.p.RemoveOrphan(t.Context(), "acme", clusters, found[0]); err != nil {
		t.Fatal(err)
	}
	for _, call := range w.Calls() {
		if call.Contains(`"deleted"`) {
			t.Error("the host of another was released")
		}
	}
}
