package plan_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
)

// rotate carries out an action, and judges it: all machines that know the
// authority are of the stage before, so that all trust whoever signs next.
func (w *world) rotate(a fleet.Action) {
	now := w.secrets.Rotations[a.Authority]
	if now.Stage.Next(a.Authority) != a.Stage {
		w.violate("RotationInOrder: %s to %s at %s", a.Authority, a.Stage, now.Stage)
	}
	for _, m := range w.machines {
		want := w.desired.Trust(m.Role, w.secrets.Marks)
		if m.Origin.Trust.Lacks(want) != "" {
			w.violate("AllTrustWhoeverSigns: %s to %s while %s was made with %q, not %q", a.Authority, a.Stage, m.Name, m.Origin.Trust, want)
		}
	}
	w.secrets.Rotations, w.secrets.Marks = maps.Clone(w.secrets.Rotations), maps.Clone(w.secrets.Marks)
	if w.secrets.Rotations == nil {
		w.secrets.Rotations, w.secrets.Marks = map[fleet.SecretName]fleet.RotationState{}, map[fleet.SecretName]string{}
	}
	w.secrets.Rotations[a.Authority] = fleet.RotationState{Wish: a.Wish, Stage: a.Stage, Since: w.clock()}
	if a.Stage == fleet.RotationHold {
		return
	}
	mark := string(a.Stage) + a.Wish
	if a.Authority == fleet.ClusterCA {
		trusted := "both"
		if a.Stage == fleet.RotationDone {
			trusted = "new"
		}
		mark = trusted + a.Wish + "." + mark
		w.secrets.Kubeconfig.Former = true
	}
	w.secrets.Marks[a.Authority] = mark
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
		c.Rotate = map[fleet.Rotation]string{fleet.RotateServiceAccount: "1", fleet.RotateEtcdCA: "1", fleet.RotateCA: "1"}
	})
	var stages []string
	run := func() {
		t.Helper()
		for range 12000 {
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
	began := w.now
	run()
	want := []string{
		"sa Trust", "sa Sign", "sa Hold", "sa Done", "etcd Trust", "etcd Sign", "etcd Done",
		"ca Trust", "ca Spread", "ca Sign", "ca Hold", "ca Done",
	}
	if !slices.Equal(stages, want) {
		t.Errorf("stages %v, want %v", stages, want)
	}
	if w.now.Sub(began) < 75*time.Hour {
		t.Errorf("it took %s: what the old ones signed may be in use", w.now.Sub(began))
	}
	if want := 4 + (3+3+4)*3 + 2; w.ids != want {
		t.Errorf("%d machines were made, want %d: three, three and four rollouts of the control plane, two of the worker", w.ids, want)
	}
	if w.secrets.Kubeconfig.Former {
		t.Error("the kubeconfig is of a former authority")
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

// TestRotationOfTheClusterWaitsForWorkers: no stage ends while a machine is there
// that nobody replaces, and the wait names it.
func TestRotationOfTheClusterWaitsForWorkers(t *testing.T) {
	w, err := rested(cluster(1, 2))
	if err != nil {
		t.Fatal(err)
	}
	w.desired = change(w.desired, func(c *fleet.Cluster) {
		c.Rotate = map[fleet.Rotation]string{fleet.RotateCA: "1"}
		c.Workers[0].Strategy = fleet.OnDelete
	})
	for range 600 {
		w.attempts, w.since = nil, w.clock().Add(-w.settle)
		w.pass()
		w.advance(time.Minute)
	}
	if stage := w.secrets.Rotations[fleet.ClusterCA].Stage; stage != fleet.RotationTrust {
		t.Errorf("at stage %q, while the workers trust none but the old one", stage)
	}
	_, p := w.plan()
	var workers []string
	for _, m := range w.machines {
		if m.Role == fleet.RoleWorker {
			workers = append(workers, string(m.Name))
		}
	}
	slices.Sort(workers)
	want := "rotation of ca (stage Trust) waits for machines that have to be replaced by hand, as their pools are paused or replace none by themselves: " + strings.Join(workers, ", ")
	if !slices.Contains(p.Notes, want) {
		t.Errorf("notes %q\nwant %q", p.Notes, want)
	}
}
