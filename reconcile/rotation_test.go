package reconcile_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
)

// TestRotationOfTheCluster: the authority of a cluster is made anew while the
// cluster runs, though the agent is killed between the stages; every machine is of
// the new one in the end, and at no time is a kubelet locked out.
func TestRotationOfTheCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wanted := clusterSpec{3, 1, "v1.33.5", false}
		w := newWorld(t)
		defer w.cloud.Close()
		w.reach(wanted, fleet.PhaseProvisioned)
		key := fleet.Key{Namespace: "prod", Name: "eu-1"}
		before, err := w.secrets.Get(t.Context(), key, fleet.ClusterCA)
		if err != nil {
			t.Fatal(err)
		}
		first := make(map[string]bool)
		for _, vm := range w.ours() {
			first[vm.ID] = true
		}
		w.edit = strings.NewReplacer(`annotations: {fairlead.dev/delete:`, `annotations: {fairlead.dev/rotate-ca: "1", fairlead.dev/delete:`)
		var stages []fleet.RotationStage
		w.reported = func(fleet.Report) {
			d, err := w.secrets.Get(t.Context(), key, fleet.ClusterCA)
			if err != nil {
				t.Fatal(err)
			}
			if stage := fleet.RotationOf(d).Stage; !slices.Contains(stages, stage) {
				stages = append(stages, stage)
			}
			w.everyKubeletSpeaks()
		}
		for range 4 {
			w.live(wanted, 20*time.Hour)
		}
		w.reach(wanted, fleet.PhaseProvisioned)
		want := []fleet.RotationStage{fleet.RotationTrust, fleet.RotationSpread, fleet.RotationSign, fleet.RotationHold, fleet.RotationDone}
		if stages = slices.DeleteFunc(stages, func(s fleet.RotationStage) bool { return s == "" }); !slices.Equal(stages, want) {
			t.Errorf("stages %v, want %v", stages, want)
		}
		after, err := w.secrets.Get(t.Context(), key, fleet.ClusterCA)
		if err != nil {
			t.Fatal(err)
		}
		old := strings.TrimSpace(string(before[fleet.TLSCertKey].Reveal()))
		if strings.Contains(string(after[fleet.TLSCertKey].Reveal()), old) {
			t.Error("in the end the old one is trusted")
		}
		for _, vm := range w.ours() {
			if first[vm.ID] {
				t.Errorf("machine %s is of before", vm.Name)
			}
		}
	})
}

// live has an agent look after the cluster for a while.
func (w *world) live(clusterSpec clusterSpec, d time.Duration) {
	c := decoded(w.t, w.edit.Replace(clusterSpec.manifests()))
	a := w.start()
	defer a.workload.Close()
	for began := time.Now(); time.Since(began) < d; {
		last := w.passWithMemory(a, c)
		w.reported(last.Report)
		w.check()
		pause := max(last.After, 500*time.Millisecond)
		if last.Plan.Phase == fleet.PhaseProvisioned && len(last.Plan.Actions) == 0 && time.Since(began) > settle {
			pause = 10 * time.Minute // as long as the days of waiting take, nothing comes by itself
		}
		time.Sleep(pause)
	}
}

// everyKubeletSpeaks fails where a machine that had become a Node is not heard of.
func (w *world) everyKubeletSpeaks() {
	w.t.Helper()
	var nodes struct {
		Items []struct {
			Metadata struct{ Name string }
			Status   struct {
				Conditions []struct{ Type, Status, Message string }
			}
		}
	}
	running := make(map[string]bool)
	for _, vm := range w.ours() {
		running[vm.Name] = vm.State == fleet.MachineRunning
	}
	w.inside("/api/v1/nodes", &nodes)
	for _, n := range nodes.Items {
		for _, c := range n.Status.Conditions {
			if c.Type == "Ready" && c.Status == "Unknown" && running[n.Metadata.Name] {
				w.t.Errorf("node %s: %s", n.Metadata.Name, c.Message)
			}
		}
	}
}
