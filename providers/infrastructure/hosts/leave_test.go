package hosts

import (
	"encoding/json"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/hosts/host"
)

// A machine of the control plane goes once the load balancer leads to each one that stays,
// which a host that does not answer, or that takes no change, does not tell.
func TestMachineStaysUntilOthersAreServed(t *testing.T) {
	led := func(w *town) {
		b, err := w.r.balancer(w.c, w.spec)
		if err != nil {
			t.Fatal(err)
		}
		w.r[3].state.Balanced = host.Sum(b.config)
	}
	join := func(w *town) { w.note(*w.claim(1, "fedcba9876543210", w.tags("cp-1")), asItIs, 0, 2, 3) }
	for reason, tc := range map[string]struct {
		change func(w *town)
		stays  bool
	}{
		"it leads to both":                     {func(w *town) { join(w); led(w) }, false},
		"it does not lead to the new one":      {func(w *town) { led(w); join(w) }, true},
		"it does not answer":                   {func(w *town) { join(w); led(w); w.silence(3) }, true},
		"it is lost":                           {func(w *town) { join(w); w.r[3].host.Lost, w.r[3].state = true, nil }, true},
		"it does not answer, and nobody stays": {func(w *town) { led(w); w.silence(3) }, false},
		"it does not answer, and all is to go": {func(w *town) { join(w); w.silence(3); w.c.Delete = true }, false},
		"there is none":                        {func(w *town) { join(w); w.spec.LoadBalancer = nil }, false},
	} {
		for _, unlist := range []bool{false, true} {
			w := newTown()
			w.r[3].state.Claimed, w.r[3].state.Progress = true, host.Done
			w.r[3].state.Claim = &host.Claim{ID: "00000000deadbeef", Pool: "pool", Host: "gate", Tags: sharedNote(w.c, "op").Tags}
			tc.change(w)
			spec, err := json.Marshal(w.spec)
			if err != nil {
				t.Fatal(err)
			}
			w.c.Infrastructure = fleet.Object{GVK: schema.GroupVersionKind{Kind: "HostCluster"}, Spec: spec}
			// It has no key that would lead to a host: whatever it asks for fails.
			err = New(Options{Tick: time.Second, Settle: time.Second}).leave(t.Context(), w.c, w.r, "cp-0", unlist)
			if stays := fleet.KindOf(err) == fleet.Conflict; stays != tc.stays || !stays && err != nil {
				t.Errorf("%s (unlist %v): %v, want it to stay: %v", reason, unlist, err, tc.stays)
			}
		}
	}
}
