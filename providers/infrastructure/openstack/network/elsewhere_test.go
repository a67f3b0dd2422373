package network_test

import (
	"strings"
	"testing"

	"fairlead.dev/fleet"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// otherNetworks puts what changes of Git lead to into the project.
func otherNetworks(w *world) {
	lab := w.cloud.Add("alpha", ost.Networks, ost.Object{"name": "lab"})
	w.cloud.Add("alpha", ost.Subnets, ost.Object{
		"name": "lab", "network_id": lab, "cidr": "10.12.0.0/24", "ip_version": 4, "gateway_ip": "10.12.0.1",
		"allocation_pools": []ost.Object{{"start": "10.12.0.2", "end": "10.12.0.254"}},
	})
	w.spec.ExternalNetwork = networkCalled(ost.External)
	second := w.cloud.Add("alpha", ost.Networks, ost.Object{"name": "second", "router:external": true})
	w.cloud.Add("alpha", ost.Subnets, ost.Object{"name": "second", "network_id": second, "cidr": "198.19.0.0/16", "ip_version": 4})
}

// Another answer of the cloud to what Git named all along changes nothing: a second
// network of the name, while machines are on the first.
func TestSecondOfTheName(t *testing.T) {
	inBubble(t, office(), func(w *world) {
		userNetwork(w)
		w.settle()
		w.server("cp-0", fleet.RoleControlPlane, 0)
		was := w.settle()
		w.cloud.Add("alpha", ost.Networks, ost.Object{"name": "office"})
		st := w.observe()
		if !st.Ready || st.Place.Network != was.Place.Network || len(st.Drift) != 1 || !strings.Contains(st.Drift[0], "2 are like") {
			t.Errorf("ready %v, on %s, drift %q; want it to stay on %s and to say why", st.Ready, st.Place.Network, st.Drift, was.Place.Network)
		}
	})
}

// A machine on a network of its own says nothing of the cluster's network.
func TestMachinesElsewhere(t *testing.T) {
	inBubble(t, office(), func(w *world) {
		userNetwork(w)
		otherNetworks(w)
		w.cluster.ControlPlane.Infrastructure.Spec = []byte(`{"ports": [{"network": {"filter": {"name": "lab"}}}]}`)
		w.spec.APIServer.ManagedLoadBalancer = nil
		w.settle()
		w.server("cp-0", fleet.RoleControlPlane, 0)
		lab := w.one(ost.Networks, named("lab")).ID()
		w.cloud.Edit(ost.Ports, w.one(ost.Ports, named("cp-0-0")).ID(), func(o ost.Object) { o["network_id"] = lab })
		st, errs := w.work()
		if len(errs) > 0 || len(st.Drift) > 0 || st.Place.Network != w.one(ost.Networks, named("office")).ID() {
			t.Errorf("on %s, drift %q, %v", st.Place.Network, st.Drift, errs)
		}
	})
}
