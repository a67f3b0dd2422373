package reconcile_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
)

// namedOtherwise has every machine join with a Node, and so an etcd member, that
// is not called as it is.
func namedOtherwise() *strings.Replacer {
	const spec = "{nodeRegistration: {name: 'node-{{ ds.meta_data.local_hostname }}.example.org'}}"
	return strings.NewReplacer(
		"joinConfiguration: {nodeRegistration: {criSocket: unix:///run/containerd/containerd.sock}}", "joinConfiguration: "+spec,
		"  machineTemplate:", "  kubeadmConfigSpec: {initConfiguration: "+spec+", joinConfiguration: "+spec+"}\n  machineTemplate:")
}

// TestNodesNamedOtherwiseComeToRest takes a cluster whose Nodes are not called as
// their machines through its life: each Node is brought in line once, and an hour
// at rest brings none of them in line again.
func TestNodesNamedOtherwiseComeToRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.cloud.Close()
		w.edit = namedOtherwise()
		seen := map[fleet.MachineName]bool{}
		w.reported = func(r fleet.Report) {
			for _, m := range r.Machines {
				if m.Node == string(m.Machine.Name) {
					t.Fatalf("machine %s joined with its own name", m.Machine.Name)
				}
				seen[m.Machine.Name] = seen[m.Machine.Name] || m.Node != ""
			}
		}
		rest := clusterSpec{3, 2, "v1.33.5", false}
		w.reach(rest, fleet.PhaseProvisioned)
		if w.syncs < 5 || len(seen) != 5 {
			t.Fatalf("%d nodes were brought in line, of %d machines", w.syncs, len(seen))
		}
		time.Sleep(2 * time.Minute)
		w.syncs = 0
		a, c := w.start(), decoded(t, w.edit.Replace(rest.manifests()))
		defer a.workload.Close()
		for range 60 {
			if res := a.r.Pass(a.ctx, c, fleet.Memory{}); res.Err != nil || len(res.Plan.Actions) > 0 || len(res.Plan.Waiting) > 0 {
				t.Fatalf("at rest: %v, waiting %q, failure %v", res.Plan.Actions, res.Plan.Waiting, res.Err)
			}
			time.Sleep(time.Minute)
		}
		if w.syncs > 0 {
			t.Errorf("%d nodes were brought in line in an hour at rest", w.syncs)
		}
		w.reach(clusterSpec{3, 2, "v1.34.1", false}, fleet.PhaseProvisioned)
		w.checkVersion("v1.34.1")
		w.reach(clusterSpec{3, 2, "v1.34.1", true}, fleet.PhaseDeleted)
		w.nothingLeft()
	})
}
