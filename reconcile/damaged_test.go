package reconcile_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/reconcile"
)

// retag changes the tags of the machine with that id, as a tool does.
func (w *world) retag(vm inmemory.VM, change func(tags map[string]string)) {
	w.t.Helper()
	tags := maps.Clone(vm.Tags)
	change(tags)
	if err := w.cloud.SetTags(context.Background(), vm.ID, tags); err != nil {
		w.t.Fatal(err)
	}
}

// controlPlane returns the machines of ours that are called as those of the control
// plane, whatever their tags say.
func (w *world) controlPlane() []inmemory.VM {
	return slices.DeleteFunc(w.ours(), func(vm inmemory.VM) bool { return !strings.HasPrefix(vm.Name, "eu-1-cp-") })
}

func sameMachines(a, b []inmemory.VM) bool {
	return slices.EqualFunc(a, b, func(x, y inmemory.VM) bool { return x.ID == y.ID && x.State == y.State })
}

// TestLostRolesCostNoQuorum takes the role tag off machines of a control plane of
// three, or changes it, and asks for an upgrade and fewer machines meanwhile: no
// machine of the control plane goes and none is added, etcd keeps its three members,
// and the rest goes on when the tags are back.
func TestLostRolesCostNoQuorum(t *testing.T) {
	for reason, tc := range map[string]struct {
		machines int
		change   func(tags map[string]string)
		says     string
	}{
		"one lost it":             {1, func(tags map[string]string) { delete(tags, fleet.TagRole) }, fleet.TagRole + " is missing"},
		"two lost it":             {2, func(tags map[string]string) { delete(tags, fleet.TagRole) }, fleet.TagRole + " is missing"},
		"all lost it":             {3, func(tags map[string]string) { delete(tags, fleet.TagRole) }, fleet.TagRole + " is missing"},
		"one is a worker":         {1, func(tags map[string]string) { tags[fleet.TagRole] = "worker" }, "and pool eu-1-cp is of role control-plane"},
		"one is of another pool":  {1, func(tags map[string]string) { tags[fleet.TagRole], tags[fleet.TagPool] = "worker", "eu-1-md-0" }, "it runs a control plane"},
		"one has another purpose": {1, func(tags map[string]string) { tags[fleet.TagRole] = "bastion" }, fleet.TagRole + ` is "bastion"`},
	} {
		t.Run(reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				defer w.cloud.Close()
				w.reach(clusterSpec{3, 1, "v1.33.5", false}, fleet.PhaseProvisioned)
				before := w.controlPlane()
				for _, vm := range before[:tc.machines] {
					w.retag(vm, tc.change)
				}
				a := w.start()
				for _, asked := range []clusterSpec{{3, 1, "v1.33.5", false}, {3, 1, "v1.34.1", false}, {1, 1, "v1.33.5", false}} {
					c := decoded(t, asked.manifests())
					var last reconcile.Result
					for range 60 {
						last = w.passWithMemory(a, c)
						time.Sleep(10 * time.Second)
					}
					if got := strings.Join(last.Report.Waiting, "\n"); !strings.Contains(got, tc.says) {
						t.Errorf("asked for %+v it is told %q, want it to say %q", asked, got, tc.says)
					}
					if e := w.cloud.Facts().Etcd[before[0].Network]; !e.Quorum || len(e.Members) != 3 {
						t.Errorf("asked for %+v etcd has its quorum: %v, and members %+v", asked, e.Quorum, e.Members)
					}
					if got := w.controlPlane(); !sameMachines(got, before) {
						t.Fatalf("asked for %+v the control plane is %v, want %v", asked, got, before)
					}
				}
				a.workload.Close()
				for _, vm := range before[:tc.machines] {
					w.retag(vm, func(map[string]string) {})
				}
				w.reach(clusterSpec{3, 1, "v1.33.5", false}, fleet.PhaseProvisioned)
				if got := w.controlPlane(); !sameMachines(got, before) {
					t.Errorf("with its tags back the control plane is %v, want %v", got, before)
				}
				w.reach(clusterSpec{3, 1, "v1.33.5", true}, fleet.PhaseDeleted)
				w.nothingLeft()
			})
		})
	}
}
