package reconcile_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/providers/workload"
	"fairlead.dev/reconcile"
)

// withVirtualIP has servers serve the endpoint.
func withVirtualIP(w *world) {
	w.edit = strings.NewReplacer("{backend: {inMemory: {}}}\n---", "{backend: {inMemory: {virtualIP: {}}}}\n---")
}

// TestServersServeTheEndpoint: three servers reach each other through an address that they
// have by turns, and the cluster answers there as long as etcd has a quorum.
func TestServersServeTheEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.cloud.Close()
		withVirtualIP(w)
		wanted := clusterSpec{3, 1, "v1.33.5", false}
		if !strings.Contains(w.edit.Replace(wanted.manifests()), "virtualIP") {
			t.Fatal("the manifests have no place for a virtual address")
		}
		w.reach(wanted, fleet.PhaseProvisioned)
		w.reach(clusterSpec{3, 1, "v1.34.1", false}, fleet.PhaseProvisioned)
		servers := slices.DeleteFunc(w.ours(), func(v inmemory.VM) bool { return v.Tags[fleet.TagRole] != string(fleet.RoleControlPlane) })
		if len(servers) != 3 {
			t.Fatalf("%d servers", len(servers))
		}
		for _, v := range servers { // whichever has the address
			if err := w.cloud.StopVM(t.Context(), v.ID); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			a := w.start()
			if o := w.passWithMemory(a, decoded(t, w.edit.Replace(clusterSpec{3, 1, "v1.34.1", false}.manifests()))).Observed; !o.Workload.Reachable {
				t.Errorf("without %s nothing answers: %s", v.Name, o.Workload.Message)
			}
			a.workload.Close()
			if err := w.cloud.StartVM(t.Context(), v.ID); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		w.reach(clusterSpec{3, 1, "v1.34.1", true}, fleet.PhaseDeleted)
	})
}

// unable is infrastructure without abilities.
type unable struct{ providers.Infrastructure }

// TestNobodyServesTheEndpoint: where the user data of servers has nothing that announces the
// address, no cluster begins: the cloud is as strict as a network.
func TestNobodyServesTheEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.cloud.Close()
		withVirtualIP(w)
		c := decoded(t, w.edit.Replace(clusterSpec{1, 0, "v1.33.5", false}.manifests()))
		client := workload.New(workload.Options{Log: logger(), Dial: w.dial})
		defer client.Close()
		r := reconcile.New(reconcile.Options{
			Infrastructure: func(string) (providers.Infrastructure, error) {
				return unable{inmemory.NewProvider(w.cloud, settle)}, nil
			},
			Workload: client, Distributions: w.distributions(client), Secrets: w.secrets, Log: logger(),
		})
		for range 60 {
			r.Pass(t.Context(), c, fleet.Memory{})
			time.Sleep(10 * time.Second)
		}
		vms := w.ours()
		if len(vms) != 1 || !strings.Contains(vms[0].Message, "nothing answers at") {
			t.Errorf("machines %+v", vms)
		}
	})
}
