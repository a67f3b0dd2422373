package plan_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
)

// rotate carries out an action, and judges it: all control-plane machines are of
// the stage before, so that all trust whoever signs next.
func (w *world) rotate(a fleet.Action) {
	now := w.secrets.Rotations[a.Authority]
	if now.Stage.Next() != a.Stage {
		w.violate("RotationInOrder: %s to %s at %s", a.Authority, a.Stage, now.Stage)
	}
	want := w.desired.Trust(fleet.RoleControlPlane, w.secrets.Marks)
	for _, m := range w.machines {
		if m.Role == fleet.RoleControlPlane && m.Origin.Trust.Lacks(want) != "" {
			w.violate("AllTrustWhoeverSigns: %s to %s while %s was made with %q, not %q", a.Authority, a.Stage, m.Name, m.Origin.Trust, want)
		}
	}
	w.secrets.Rotations, w.secrets.Marks = maps.Clone(w.secrets.Rotations), maps.Clone(w.secrets.Marks)
	if w.secrets.Rotations == nil {
		w.secrets.Rotations, w.secrets.Marks = map[fleet.SecretName]fleet.RotationState{}, map[fleet.SecretName]string{}
	}
	w.secrets.Rotations[a.Authority] = fleet.RotationState{Wish: a.Wish, Stage: a.Stage, Since: w.clock()}
	w.secrets.Marks[a.Authority] = string(a.Stage) + a.Wish
}

// trusted reads trusts=AUTHORITY:MARK of a machine.
func trusted(w words) map[fleet.SecretName]string {
	name, mark, ok := strings.Cut(w["trusts"], ":")
	if !ok {
		return nil
	}
	return map[fleet.SecretName]string{fleet.SecretName(name): mark}
}

// TestRotationsGoThroughTheirStages: wishes to rotate are granted one after the
// other, each stage by a rollout, though the agent forgets everything before each
// look; and what was granted is not granted again.
func TestRotationsGoThroughTheirStages(t *testing.T) {
	w, err := rested(cluster(3, 1))
	if err != nil {
		t.Fatal(err)
	}
	w.desired = change(w.desired, func(c *fleet.Cluster) {
		c.Rotate = map[fleet.Rotation]string{fleet.RotateServiceAccount: "1", fleet.RotateEtcdCA: "1"}
	})
	var stages []string
	run := func() {
		t.Helper()
		for range 6000 {
			w.attempts, w.since = nil, w.clock().Add(-w.settle)
			p := w.pass()
			for _, a := range p.Actions {
				if a.Kind == fleet.RotateAuthority {
					stages = append(stages, string(a.Authority)+" "+string(a.Stage))
				}
			}
			if w.done(p) {
				return
			}
			w.advance(30 * time.Second)
		}
		_, p := w.plan()
		t.Fatalf("not at rest: %v, waiting %q, stages %v", p.Actions, p.Waiting, stages)
	}
	var worker fleet.ProviderID
	for _, m := range w.machines {
		if m.Role == fleet.RoleWorker {
			worker = m.ProviderID
		}
	}
	began := w.now
	run()
	want := []string{"sa Trust", "sa Sign", "sa Done", "etcd Trust", "etcd Sign", "etcd Done"}
	if !slices.Equal(stages, want) {
		t.Errorf("stages %v, want %v", stages, want)
	}
	if w.now.Sub(began) < 25*time.Hour {
		t.Errorf("it took %s: tokens that the old key signed may be in use", w.now.Sub(began))
	}
	if w.ids != 4+6*3 {
		t.Errorf("%d machines were made, want 4 and 18: a rollout of the control plane for each stage", w.ids)
	}
	if !slices.ContainsFunc(w.machines, func(m *simMachine) bool { return m.ProviderID == worker }) {
		t.Error("a worker was replaced")
	}
	stages = nil
	w.desired = change(w.desired, func(c *fleet.Cluster) { c.Rotate = nil })
	run()
	w.desired = change(w.desired, func(c *fleet.Cluster) { c.Rotate = map[fleet.Rotation]string{fleet.RotateEtcdCA: "1"} })
	run()
	if len(stages) > 0 {
		t.Errorf("stages %v of wishes that were granted", stages)
	}
	if len(w.violations) > 0 {
		t.Fatal(w.violations[0])
	}
}
