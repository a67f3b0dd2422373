package reconcile_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
)

// controlPlaneCheck replaces a control-plane machine whose Node is silent for a minute.
const controlPlaneCheck = `
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata: {name: cp, namespace: prod}
spec:
  clusterName: eu-1
  selector: {matchLabels: {cluster.x-k8s.io/control-plane: ""}}
  checks: {unhealthyNodeConditions: [{type: Ready, status: Unknown, timeoutSeconds: 60}]}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
`

// TestSilentControlPlane: the host of one control-plane machine of three loses its
// power. Another machine takes its place with etcd's quorum kept, though it is still
// to be deleted; it goes when its host is back. Agents that know nothing go on with it.
func TestSilentControlPlane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wanted := clusterSpec{3, 1, "v1.33.5", false}
		w := newWorld(t)
		defer w.cloud.Close()
		w.edit = strings.NewReplacer("\n---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: DevMachineTemplate\n", controlPlaneCheck)
		w.reach(wanted, fleet.PhaseProvisioned)
		if err := w.cloud.SetFaults(t.Context(), inmemory.Faults{Lag: lag, SlowDelete: time.Second, SilentWithoutPower: true}); err != nil {
			t.Fatal(err)
		}
		first := w.controlPlanes()
		off := first[0]
		if err := w.cloud.StopVM(t.Context(), off.ID); err != nil {
			t.Fatal(err)
		}
		w.reported = func(fleet.Report) {
			if e := w.cloud.Facts().Etcd[off.Network]; !e.Quorum || len(e.Members) > 3 {
				t.Fatalf("etcd has its quorum: %v, and members %+v", e.Quorum, e.Members)
			}
		}
		for range 3 {
			w.live(wanted, 5*time.Minute)
		}
		names := func(all []inmemory.MachineFacts) (out []string) {
			for _, m := range all {
				out = append(out, m.Name)
			}
			return out
		}
		now := w.controlPlanes()
		i := slices.IndexFunc(now, func(m inmemory.MachineFacts) bool { return m.ID == off.ID })
		if len(now) != 4 || i < 0 || !now[i].Deleted {
			t.Fatalf("a quarter of an hour later there are %q, want the three of %q that have power, another, and %s to be deleted", names(now), names(first), off.Name)
		}
		now = slices.Delete(now, i, i+1)
		w.allVote(now)
		if err := w.cloud.StartVM(t.Context(), off.ID); err != nil {
			t.Fatal(err)
		}
		w.live(wanted, time.Minute)
		w.reach(wanted, fleet.PhaseProvisioned)
		if end := w.controlPlanes(); !slices.Equal(names(end), names(now)) {
			t.Errorf("with its power back there are %q, want %q", names(end), names(now))
		}
		if nodes := w.cloud.Facts().Nodes[off.Network]; slices.Contains(nodes, off.Node) {
			t.Errorf("its Node stays: %q", nodes)
		}
		w.allVote(now)
		wanted.gone = true
		w.reported = nil
		w.reach(wanted, fleet.PhaseDeleted)
		w.nothingLeft()
	})
}

// controlPlanes returns what is true of the machines of the control plane.
func (w *world) controlPlanes() []inmemory.MachineFacts {
	return slices.DeleteFunc(w.cloud.Facts().Machines, func(m inmemory.MachineFacts) bool {
		return m.Tags[fleet.TagFleet] != "test" || m.Tags[fleet.TagCluster] != "prod/eu-1" || m.Tags[fleet.TagRole] != string(fleet.RoleControlPlane)
	})
}

// allVote fails where the machines want are not ready, or other ones than they are
// healthy voters of etcd.
func (w *world) allVote(want []inmemory.MachineFacts) {
	w.t.Helper()
	members := w.cloud.Facts().Etcd[want[0].Network].Members
	if len(members) != len(want) {
		w.t.Errorf("members of etcd are %+v", members)
	}
	for _, m := range want {
		i := slices.IndexFunc(members, func(e fleet.Member) bool { return e.ID == m.Member })
		if !m.Ready || i < 0 || !members[i].Healthy || members[i].Learner {
			w.t.Errorf("machine %s: ready %v, members of etcd %+v", m.Name, m.Ready, members)
		}
	}
}
