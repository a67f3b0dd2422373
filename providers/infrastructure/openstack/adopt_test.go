package openstack_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/openstack/api"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// asCAPO gives everything of the cluster the names and descriptions that Cluster
// API's provider gives, and no mark.
// Source: cluster-api-provider-openstack, pkg/utils/names and pkg/cloud/services.
func (w *world) asCAPO() {
	w.Helper()
	const theirs = "Created by cluster-api-provider-openstack cluster prod-eu-1"
	edit := func(k ost.Kind, change func(o ost.Object)) {
		for _, o := range w.cloud.Objects(k) {
			if strings.Contains(fmt.Sprint(o), "fairlead.dev") {
				w.cloud.Edit(k, o.ID(), change)
			}
		}
	}
	rename := func(name, description string) func(ost.Object) {
		return func(o ost.Object) { o["name"], o["description"] = name, description }
	}
	edit(ost.Networks, rename("k8s-clusterapi-cluster-prod-eu-1", ""))
	edit(ost.Subnets, rename("k8s-clusterapi-cluster-prod-eu-1", theirs))
	edit(ost.Routers, rename("k8s-clusterapi-cluster-prod-eu-1", theirs))
	edit(ost.LoadBalancers, rename("k8s-clusterapi-cluster-prod-eu-1-kubeapi", theirs))
	edit(ost.Listeners, rename("k8s-clusterapi-cluster-prod-eu-1-kubeapi-6443", ""))
	edit(ost.Pools, rename("k8s-clusterapi-cluster-prod-eu-1-kubeapi-6443", ""))
	edit(ost.Members, func(o ost.Object) { o["tags"] = []string{} })
	edit(ost.SecurityGroups, func(o ost.Object) {
		which, _, _ := strings.Cut(o.String("description"), " ")
		o["name"], o["description"] = "k8s-cluster-prod-eu-1-secgroup-"+which, "Cluster API managed group"
	})
	for _, k := range []ost.Kind{ost.Ports, ost.FloatingIPs, ost.Trunks} {
		edit(k, func(o ost.Object) { o["description"] = theirs })
	}
	edit(ost.Servers, func(o ost.Object) { o["metadata"] = ost.Object{"people": "theirs"} })
	edit(ost.Volumes, func(o ost.Object) { o["metadata"] = ost.Object{} })
	w.restart()
}

// marks lists what carries a mark of a fleet.
func (w *world) marks() []string {
	var out []string
	for _, k := range []ost.Kind{
		ost.Networks, ost.Subnets, ost.Routers, ost.SecurityGroups, ost.Ports, ost.FloatingIPs, ost.Trunks,
		ost.LoadBalancers, ost.Listeners, ost.Pools, ost.Members, ost.Servers, ost.Volumes,
	} {
		for _, o := range w.cloud.Objects(k) {
			if strings.Contains(fmt.Sprint(o), "fairlead.dev") {
				out = append(out, string(k)+" "+o.String("name"))
			}
		}
	}
	return out
}

// adoptWorld is a cluster of Cluster API: two machines, one of them of the control
// plane, with volumes, behind a load balancer.
func adoptWorld(t *testing.T, f func(w *world, machines []providers.AdoptedMachine, before fleet.Infrastructure)) {
	spec := machineSpec()
	spec.RootVolume = &api.RootVolume{SizeGiB: 10}
	spec.Trunk = true
	inBubble(t, clusterSpec(), spec, func(w *world) {
		w.cluster.ControlPlane.Replicas, w.cluster.Workers[0].Replicas = 1, 1
		w.settle()
		p := w.cluster.ControlPlane
		err := w.provider.CreateMachine(w.Context(), "op-cp", providers.MachineRequest{
			Cluster: &w.cluster, Pool: p, Name: fleet.NewMachineName(w.cluster.Key, p.Name, p.Template, 0),
			UserData: providers.UserData{Format: "cloud-config", Content: fleet.NewSecret([]byte("#cloud-config\n{}\n"))},
		})
		if err != nil {
			w.Fatal(err)
		}
		w.mustCreate(0)
		w.await(0, fleet.MachineRunning)
		before := w.settle()
		var machines []providers.AdoptedMachine
		for _, m := range before.Machines {
			// With a region, as the cloud controller manager writes it.
			id := fleet.ProviderID(strings.Replace(string(m.ProviderID), "openstack:///", "openstack://RegionOne/", 1))
			machines = append(machines, providers.AdoptedMachine{Name: m.Name, Pool: m.Pool, ID: id})
		}
		w.asCAPO()
		if left := w.marks(); len(left) > 0 {
			w.Fatalf("the stage is not set: %q carry marks", left)
		}
		f(w, machines, before)
	})
}

func TestAdopt(t *testing.T) {
	adoptWorld(t, func(w *world, machines []providers.AdoptedMachine, before fleet.Infrastructure) {
		ctx := w.Context()
		if got := w.observe(); got.Exists || len(got.Machines) > 0 {
			w.Fatalf("before the adoption: %+v", got)
		}
		w.cloud.ForgetCalls()
		left, err := w.provider.Adoptable(ctx, &w.cluster, machines)
		if err != nil {
			w.Fatal(err)
		}
		if i := slices.IndexFunc(w.cloud.Calls(), ost.Call.Changes); i >= 0 {
			w.Errorf("looking changed something: %+v", w.cloud.Calls()[i])
		}
		for _, want := range []string{
			"network k8s-clusterapi-cluster-prod-eu-1", "subnet k8s-clusterapi-cluster-prod-eu-1 10.6.0.0/24", "router k8s-clusterapi-cluster-prod-eu-1",
			"security group k8s-cluster-prod-eu-1-secgroup-controlplane", "security group k8s-cluster-prod-eu-1-secgroup-worker",
			"load balancer k8s-clusterapi-cluster-prod-eu-1-kubeapi", "listener k8s-clusterapi-cluster-prod-eu-1-kubeapi-6443",
			"pool k8s-clusterapi-cluster-prod-eu-1-kubeapi-6443", "server " + string(machines[0].Name), "server " + string(machines[1].Name),
			"port " + string(machines[0].Name) + "-0", "trunk " + string(machines[0].Name) + "-0", "volume " + string(machines[0].Name) + "-root",
			"member " + string(machines[0].Name),
		} {
			if !slices.Contains(left, want) {
				w.Errorf("%q is not to be marked; these are: %q", want, left)
			}
		}
		for range 2 {
			if err := w.provider.Adopt(ctx, &w.cluster, machines); err != nil {
				w.Fatal(err)
			}
			time.Sleep(tick)
		}
		if left, err := w.provider.Adoptable(ctx, &w.cluster, machines); err != nil || len(left) > 0 {
			w.Fatalf("after the adoption: %q, %v", left, err)
		}
		time.Sleep(tick)
		got := w.observe()
		if !got.Ready || len(got.Drift) > 0 || got.Endpoint != before.Endpoint {
			w.Errorf("ready %t, %q, drift %q, endpoint %v, want it as %v", got.Ready, got.Message, got.Drift, got.Endpoint, before.Endpoint)
		}
		for i := range got.Machines {
			if got.Machines[i].Operation != providers.AdoptionID(w.cluster.Key) {
				w.Errorf("machine %s has the operation %q", got.Machines[i].Name, got.Machines[i].Operation)
			}
			got.Machines[i].Operation = before.Machines[i].Operation
		}
		if diff := cmp.Diff(before.Machines, got.Machines); diff != "" {
			w.Errorf("the machines are others: %s", diff)
		}
		// It is Fairlead's: nothing is changed, another machine can be made, and one
		// goes with all that it has.
		w.cloud.ForgetCalls()
		if err := w.provider.EnsureInfrastructure(ctx, "op", &w.cluster); err != nil {
			w.Fatal(err)
		}
		if i := slices.IndexFunc(w.cloud.Calls(), ost.Call.Changes); i >= 0 {
			w.Errorf("there was something to do: %+v", w.cloud.Calls()[i])
		}
		w.mustCreate(1)
		w.await(1, fleet.MachineRunning)
		for _, m := range got.Machines {
			if err := w.provider.DeleteMachine(ctx, "op", &w.cluster, m.Name, m.ProviderID); err != nil {
				w.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		w.settle()
		for _, k := range []ost.Kind{ost.Servers, ost.Volumes, ost.Trunks} {
			if all := w.cloud.Objects(k); len(all) != 1 {
				w.Errorf("%d %s are there, want those of the machine that was made since", len(all), k)
			}
		}
		if all := w.cloud.Objects(ost.Members); len(all) > 0 {
			w.Errorf("the machine of the control plane is gone and still a member: %v", all)
		}
	})
}

func TestRelease(t *testing.T) {
	adoptWorld(t, func(w *world, machines []providers.AdoptedMachine, _ fleet.Infrastructure) {
		describe := func() map[string]string {
			out := make(map[string]string)
			for _, k := range []ost.Kind{ost.Networks, ost.Subnets, ost.Routers, ost.SecurityGroups, ost.Ports, ost.FloatingIPs, ost.LoadBalancers, ost.Servers, ost.Volumes, ost.Members} {
				for _, o := range w.cloud.Objects(k) {
					out[string(k)+o.ID()] = fmt.Sprint(o.String("description"), o["metadata"], o["tags"])
				}
			}
			return out
		}
		before := describe()
		if err := w.provider.Adopt(w.Context(), &w.cluster, machines); err != nil {
			w.Fatal(err)
		}
		time.Sleep(tick)
		if err := w.provider.Release(w.Context(), &w.cluster, machines); err != nil {
			w.Fatal(err)
		}
		if left := w.marks(); len(left) > 0 {
			w.Errorf("%q still carry marks", left)
		}
		if diff := cmp.Diff(before, describe()); diff != "" {
			w.Errorf("not as it was: %s", diff)
		}
	})
}

func TestAdoptRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(w *world, machines []providers.AdoptedMachine)
		want   string
		kind   fleet.ErrorKind
	}{
		"a network that others use too": {func(w *world, _ []providers.AdoptedMachine) {
			w.edit(ost.Networks, "k8s-clusterapi-cluster-prod-eu-1", func(o ost.Object) { o["shared"] = true })
		}, "other projects use it too", fleet.Conflict},
		"a network of another name": {func(w *world, _ []providers.AdoptedMachine) {
			w.edit(ost.Networks, "k8s-clusterapi-cluster-prod-eu-1", func(o ost.Object) { o["name"] = "ours" })
		}, "find network k8s-clusterapi-cluster-prod-eu-1: the project has none", fleet.NotFound},
		"another fleet's load balancer": {func(w *world, _ []providers.AdoptedMachine) {
			w.edit(ost.LoadBalancers, "k8s-clusterapi-cluster-prod-eu-1-kubeapi", func(o ost.Object) {
				o["description"] = "API server [fairlead.dev fleet=other cluster=prod/eu-1]"
			})
		}, "belongs to cluster prod/eu-1 of fleet other", fleet.Conflict},
		"a server that is gone": {func(_ *world, machines []providers.AdoptedMachine) { machines[0].ID = "openstack:///gone" }, "there is no server gone", fleet.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			adoptWorld(t, func(w *world, machines []providers.AdoptedMachine, _ fleet.Infrastructure) {
				tc.change(w, machines)
				w.cloud.ForgetCalls()
				err := w.provider.Adopt(w.Context(), &w.cluster, machines)
				if err == nil || !strings.Contains(err.Error(), tc.want) || fleet.KindOf(err) != tc.kind {
					w.Errorf("got %v (%s), want %q (%s)", err, fleet.KindOf(err), tc.want, tc.kind)
				}
				if i := slices.IndexFunc(w.cloud.Calls(), ost.Call.Changes); i >= 0 {
					w.Errorf("something was changed: %+v", w.cloud.Calls()[i])
				}
			})
		})
	}
}

// edit changes the thing of that name.
func (w *world) edit(k ost.Kind, name string, change func(o ost.Object)) {
	w.Helper()
	for _, o := range w.cloud.Objects(k) {
		if o.String("name") == name {
			w.cloud.Edit(k, o.ID(), change)
			return
		}
	}
	w.Fatalf("there are no %s called %s", k, name)
}

// What people made and the manifests only name, stays theirs.
func TestAdoptLeavesWhatIsNotManaged(t *testing.T) {
	adoptWorld(t, func(w *world, machines []providers.AdoptedMachine, _ fleet.Infrastructure) {
		for _, o := range w.cloud.Objects(ost.FloatingIPs) {
			w.cloud.Edit(ost.FloatingIPs, o.ID(), func(o ost.Object) { o["description"] = "of people" })
		}
		port := w.cloud.Objects(ost.Ports)
		mine := slices.IndexFunc(port, func(o ost.Object) bool { return strings.HasPrefix(o.String("name"), string(machines[0].Name)) })
		w.cloud.Edit(ost.Ports, port[mine].ID(), func(o ost.Object) { o["name"] = "attached by hand" })
		if err := w.provider.Adopt(w.Context(), &w.cluster, machines); err != nil {
			w.Fatal(err)
		}
		for _, mark := range w.marks() {
			if strings.HasPrefix(mark, "floatingips") || mark == "ports attached by hand" {
				w.Errorf("%s carries a mark", mark)
			}
		}
	})
}
