package network_test

import (
	"slices"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/network"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// Orphans are what a cluster left that the fleet has no more; removing them
// leaves nothing, and nothing of a cluster that lives.
func TestOrphans(t *testing.T) {
	inBubble(t, managed(), func(w *world) {
		lost := w.cluster
		w.settle()
		w.cloud.Add("alpha", ost.LoadBalancers, ost.Object{"name": "kube_service_eu-1_default_web", "provisioning_status": "ACTIVE", "vip_network_id": "shared"})
		w.cloud.Add("alpha", ost.LoadBalancers, ost.Object{"name": "kube_service_eu-10_default_web", "provisioning_status": "ACTIVE", "vip_network_id": "shared"})
		w.cluster = cluster("eu-2")
		w.settle()
		living := []fleet.Key{w.cluster.Key}
		if got := network.Orphans(w.snapshot(), "fleet-a", append(living, lost.Key)); len(got) != 0 {
			t.Errorf("with both clusters in the fleet: %v", got)
		}
		if got := network.Orphans(w.snapshot(), "fleet-b", nil); len(got) != 0 {
			t.Errorf("of another fleet: %v", got)
		}
		var kinds []string
		for _, o := range network.Orphans(w.snapshot(), "fleet-a", living) {
			if o.Cluster != lost.Key {
				t.Errorf("%+v is not of %s", o, lost.Key)
			}
			kinds = append(kinds, o.Kind)
		}
		want := []string{"floating IP", "load balancer", "load balancer", "network", "router", "security group", "security group"}
		if !slices.Equal(kinds, want) {
			t.Errorf("orphans %v, want %v", kinds, want)
		}
		living2 := append(living, fleet.Key{Namespace: "test", Name: "eu-1"})
		if got := network.Orphans(w.snapshot(), "fleet-a", living2); len(got) != len(want)-1 {
			t.Errorf("with a cluster of the same name elsewhere: %v", got)
		}
		mine := len(w.snapshot().Networks.SharedBy(snapshot.OwnerOf(w.cluster)))
		for range 20 {
			left := network.Orphans(w.snapshot(), "fleet-a", living)
			for _, o := range left {
				_ = network.RemoveOrphan(w.Context(), w.project, w.snapshot(), "fleet-a", living, o) // one that another hangs on comes again
			}
			if len(left) == 0 {
				break
			}
		}
		if st := w.observe(); !st.Ready || len(st.Drift) > 0 || mine != 1 {
			t.Errorf("the living cluster: %+v", st)
		}
		w.remove()
		same(t, "left", w.things(), map[ost.Kind]int{ost.LoadBalancers: 1})
	})
}

// What a cloud controller manager made on a network of others for a cluster that is
// deleted and left nothing else is found by its name, where that is the name of no
// other cluster.
func TestEnded(t *testing.T) {
	inBubble(t, office(), func(w *world) {
		userNetwork(w)
		add := func(k ost.Kind, o ost.Object) { w.cloud.Add("alpha", k, o) }
		for _, name := range []string{"eu-1", "eu-10", "kubernetes"} {
			add(ost.LoadBalancers, ost.Object{"name": "kube_service_" + name + "_default_web", "provisioning_status": "ACTIVE", "vip_network_id": "shared"})
			add(ost.FloatingIPs, ost.Object{"floating_ip_address": "198.18.0.7", "description": "Floating IP for Kubernetes external service default/web from cluster " + name})
			add(ost.SecurityGroups, ost.Object{"name": "lb-sg-1", "description": "Security Group for default/web Service LoadBalancer in cluster " + name})
		}
		kinds := func(cluster string, others ...fleet.Key) (out []string) {
			o := snapshot.Owner{Fleet: "fleet-a", Cluster: fleet.Key{Namespace: "prod", Name: cluster}}
			for _, is := range network.Ended(w.snapshot(), []snapshot.Owner{o}, append(others, o.Cluster)) {
				out = append(out, is.Kind+" "+is.Name)
			}
			return out
		}
		want := []string{"floating IP 198.18.0.7", "load balancer kube_service_eu-1_default_web", "security group lb-sg-1"}
		if got := kinds("eu-1"); !slices.Equal(got, want) {
			t.Errorf("of eu-1: %q, want %q", got, want)
		}
		if got := kinds("eu-1", fleet.Key{Namespace: "dev", Name: "eu-1"}); len(got) > 0 {
			t.Errorf("of a name that another cluster has: %q", got)
		}
		if got := kinds("kubernetes"); len(got) > 0 {
			t.Errorf("of the name of all: %q", got)
		}
		w.settle()
		if got := kinds("eu-1"); len(got) > 0 {
			t.Errorf("of a cluster that is there: %q", got)
		}
	})
}
