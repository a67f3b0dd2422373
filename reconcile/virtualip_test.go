package reconcile_test

import (
	"fmt"
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

// TestPortOfAVirtualAddress: another port of a virtual address, and of the API servers behind it,
// removes no machine, although machines go before their replacements: none can join at a port where
// nothing answers. The plan says why, and Git with the former port has nothing to do.
func TestPortOfAVirtualAddress(t *testing.T) {
	const (
		named    = "virtualIP: {}}}, controlPlaneEndpoint: {host: 127.200.3.4, port: %d}}\n---"
		machines = "  machineTemplate: {spec: {infra"
		config   = "  rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0}}}\n" +
			"  kubeadmConfigSpec: {initConfiguration: {localAPIEndpoint: {bindPort: %[1]d}}, joinConfiguration: {controlPlane: {localAPIEndpoint: {bindPort: %[1]d}}}}\n"
	)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.cloud.Close()
		at := func(port int) *strings.Replacer {
			return strings.NewReplacer("inMemory: {}}}\n---", "inMemory: {"+fmt.Sprintf(named, port), machines, fmt.Sprintf(config, port)+machines)
		}
		spec := clusterSpec{3, 1, "v1.33.5", false}
		w.edit = at(6443)
		w.reach(spec, fleet.PhaseProvisioned)
		had := names(w)
		text := at(7443).Replace(spec.manifests())
		if strings.Count(text, "7443") != 3 {
			t.Fatal("the manifests have no place for a port")
		}
		c := decoded(t, text)
		a := w.start()
		told := false
		for range 60 {
			res := w.passWithMemory(a, c)
			c = c.WithResidence(res.Report.Residence)
			told = told || slices.ContainsFunc(res.Plan.Waiting, func(s string) bool {
				return strings.Contains(s, "no machine can be made in its place") && strings.Contains(s, "its port is 6443, but the API server of the machine listens at 7443")
			})
			time.Sleep(10 * time.Second)
		}
		a.workload.Close()
		defer time.Sleep(10 * time.Minute) // connections to etcd end
		if got := names(w); !slices.Equal(got, had) {
			t.Errorf("machines %v, want %v", got, had)
		}
		if !told {
			t.Error("no plan says why the machines stay")
		}
		w.reach(spec, fleet.PhaseProvisioned)
		if got := names(w); !slices.Equal(got, had) {
			t.Errorf("after the former port is back: machines %v, want %v", got, had)
		}
	})
}
