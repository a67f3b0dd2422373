package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
)

// The authority of a cluster is made anew, stage by stage, by machines that take
// the place of all others. The days that pass between stages are taken from the
// state of the rotation. In the end a kubeconfig is good that the new authority
// has signed, and none that the old one has.
func TestAuthority(t *testing.T) {
	w := newWorld(t, "", "control-plane", "control-plane", "worker", "worker", "balancer")
	c := w.cluster("authority", 1, 1)
	w.startAgent()
	w.put("a cluster of one and one", c)
	before := w.kubeconfigOf(c)
	w.podsReady(before)

	asked := time.Now()
	w.fairlead("rotate", "ca", "prod/"+c.Name, "--source", w.source)
	w.waitStage(c, fleet.RotationSpread)
	between := w.kubeconfig(c)
	w.podsReady(between)
	w.dayLater(c)
	w.startAgent()
	w.waitStage(c, fleet.RotationHold)
	w.podsReady(between) // which trusts both, and is signed by the old one
	signed := w.kubeconfig(c)
	w.podsReady(signed)
	w.dayLater(c)
	held, _ := w.report(c)
	w.startAgent()
	w.waitStage(c, fleet.RotationDone, held.Machines...)
	w.measure("the authority of a cluster of 1+1, but for its two days: rotated %s after it was asked for", since(asked))
	r, _ := w.report(c)
	w.podsReady(signed)
	w.checkNodes(signed, c, r)
	for name, config := range map[string]string{"before": before, "between": between} {
		if out, err := w.kubectl(config, "", "get", "nodes"); err == nil {
			t.Errorf("a kubeconfig of %s is accepted: %s", name, out)
		}
	}
	w.killAgent(c)
}

// waitStage waits until the rotation of the authority of c is at stage, and all
// machines are made of it, none of them one of before.
func (w *world) waitStage(c cluster, stage fleet.RotationStage, before ...fleet.MachineReport) {
	w.t.Helper()
	began := time.Now()
	w.wait("stage "+string(stage), func() (bool, string) {
		r, _ := w.report(c)
		at := fleet.RotationOf(w.authority(c)).Stage
		rests := stage == fleet.RotationDone || strings.Contains(strings.Join(r.Waiting, "\n"), "(stage "+string(stage)+") waits until 2")
		stays := slices.ContainsFunc(r.Machines, func(m fleet.MachineReport) bool {
			return slices.ContainsFunc(before, func(old fleet.MachineReport) bool { return m.Machine.Name == old.Machine.Name })
		})
		return at == stage && rests && !stays && complete(c, r), "stage " + string(at) + ": " + describe(r)
	})
	w.measure("rotation: stage %s %s later", stage, since(began))
}

// dayLater stops the agent, and has the stage that the rotation is at have begun a
// day before.
func (w *world) dayLater(c cluster) {
	w.t.Helper()
	w.stopAgent()
	d := w.authority(c)
	state := fleet.RotationOf(d)
	state.Since = state.Since.Add(-26 * time.Hour)
	d[fleet.RotationKey] = fleet.NewSecret([]byte(state.String()))
	store, err := secrets.OpenFile(w.ctx, w.secrets, secrets.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := store.Replace(w.ctx, fleet.Key{Namespace: "prod", Name: c.Name}, fleet.ClusterCA, d); err != nil {
		w.t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		w.t.Fatal(err)
	}
}

// authority returns that of c as the agent keeps it.
func (w *world) authority(c cluster) fleet.SecretData {
	w.t.Helper()
	store, err := secrets.OpenFile(w.ctx, w.secrets, secrets.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	defer store.Close()
	d, err := store.Get(w.ctx, fleet.Key{Namespace: "prod", Name: c.Name}, fleet.ClusterCA)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}
