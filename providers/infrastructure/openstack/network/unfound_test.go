package network_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack/api"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// What Git names is called otherwise in the cloud, is there twice, or is mistyped, while
// machines run. The cluster says so, goes on being cared for, and changes nothing.
func TestNamesNotFound(t *testing.T) {
	router := func(name string) *api.RouterParam { return &api.RouterParam{Filter: &api.RouterFilter{Name: name}} }
	rename := func(w *world) {
		w.cloud.Edit(ost.Routers, w.one(ost.Routers, named("edge")).ID(), func(o ost.Object) { o["name"] = "edge-old" })
	}
	edge := func() *api.OpenStackClusterSpec { s := managed(); s.Router = router("edge"); return s }
	on := func() *api.OpenStackClusterSpec { s := office(); s.Router = router("edge"); return s }
	gateway := func(subnet string) *api.ManagedRouter {
		return &api.ManagedRouter{ExternalIPs: []api.ExternalRouterIPParam{{FixedIP: "198.18.0.50", Subnet: api.SubnetParam{Filter: &api.SubnetFilter{Name: subnet}}}}}
	}
	inside := func() *api.OpenStackClusterSpec { s := office(); s.APIServer.EnableFloatingIP = ptr(false); return s }
	for reason, tc := range map[string]struct {
		spec   *api.OpenStackClusterSpec
		change func(w *world, s *api.OpenStackClusterSpec)
	}{
		"the router is renamed":                          {edge(), func(w *world, _ *api.OpenStackClusterSpec) { rename(w) }},
		"the router of a network that exists is renamed": {on(), func(w *world, _ *api.OpenStackClusterSpec) { rename(w) }},
		"another router of the name": {edge(), func(w *world, _ *api.OpenStackClusterSpec) {
			w.cloud.Add("alpha", ost.Routers, ost.Object{"name": "edge", "status": "ACTIVE"})
		}},
		"a router, mistyped":                    {managed(), func(_ *world, s *api.OpenStackClusterSpec) { s.Router = router("egde") }},
		"a subnet of the gateway, mistyped":     {managed(), func(_ *world, s *api.OpenStackClusterSpec) { s.ManagedRouter = gateway("pubilc") }},
		"the network, mistyped":                 {office(), func(_ *world, s *api.OpenStackClusterSpec) { s.Network = networkCalled("ofice") }},
		"subnets, mistyped":                     {office(), func(_ *world, s *api.OpenStackClusterSpec) { s.Subnets = subnetCalled("aa") }},
		"a primary subnet, mistyped":            {office(), func(_ *world, s *api.OpenStackClusterSpec) { s.PrimarySubnet = &subnetCalled("aa")[0] }},
		"the external network, mistyped":        {managed(), func(_ *world, s *api.OpenStackClusterSpec) { s.ExternalNetwork = networkCalled("pubilc") }},
		"an external network that nothing uses": {inside(), func(_ *world, s *api.OpenStackClusterSpec) { s.ExternalNetwork = networkCalled("pubilc") }},
		"the network of the load balancer, mistyped": {managed(), func(_ *world, s *api.OpenStackClusterSpec) {
			s.APIServer.ManagedLoadBalancer.Network = networkCalled("ofice")
		}},
	} {
		t.Run(reason, func(t *testing.T) {
			inBubble(t, tc.spec, func(w *world) {
				userNetwork(w)
				w.spec.APIServer.ManagedLoadBalancer.AllowedCIDRs = []string{"192.0.2.0/24"} // and the cluster itself
				w.settle()
				w.server("cp-0", fleet.RoleControlPlane, 0)
				was := w.settle()
				before := w.contents()
				tc.change(w, w.spec)
				renamed := w.contents()[ost.Routers]
				_ = w.ensure()
				st := w.observe()
				if !st.Ready || len(st.Drift) != 1 || st.Endpoint != was.Endpoint || st.Place.Network != was.Place.Network {
					t.Errorf("ready %v (%s), drift %q, endpoint %v, was %v", st.Ready, st.Message, st.Drift, st.Endpoint, was.Endpoint)
				}
				before[ost.Routers] = renamed
				if d := cmp.Diff(before, w.contents()); d != "" {
					t.Errorf("the cloud was changed (-before +after):\n%s", d)
				}
			})
		})
	}
}

// TestSubnetTakenOut: a subnet that Git takes out of those of a network, and that machines have
// addresses in, keeps its rules, and its machines may use the load balancer.
func TestSubnetTakenOut(t *testing.T) {
	spec := office()
	spec.Subnets = append(append(subnetCalled("a"), subnetCalled("b")...), subnetCalled("c")...)
	spec.APIServer.ManagedLoadBalancer.AllowedCIDRs = []string{"192.0.2.0/24"}
	inBubble(t, spec, func(w *world) {
		n, a, b, _ := userNetwork(w)
		c := w.cloud.Add("alpha", ost.Subnets, ost.Object{"name": "c", "network_id": n, "cidr": "fd00:6::/64", "ip_version": 6})
		w.settle()
		w.server("cp-0", fleet.RoleControlPlane, 0)
		w.cloud.Edit(ost.Ports, w.one(ost.Ports, named("cp-0-0")).ID(), func(o ost.Object) {
			o["fixed_ips"] = []ost.Object{{"subnet_id": a, "ip_address": "10.6.0.100"}, {"subnet_id": b, "ip_address": "10.8.0.100"}, {"subnet_id": c, "ip_address": "fd00:6::100"}}
		})
		w.settle()
		before := w.contents()
		spec.Subnets = subnetCalled("a")
		for range 3 {
			if err := w.ensure(); err != nil {
				t.Error(err)
			}
		}
		if d := cmp.Diff(before, w.contents()); d != "" {
			t.Errorf("the cloud was changed (-before +after):\n%s", d)
		}
	})
}

// TestNetworkNotFoundWithOwnPorts: machines whose templates name their networks themselves are
// cared for, too, where the network of the cluster is not found.
func TestNetworkNotFoundWithOwnPorts(t *testing.T) {
	for name, change := range map[string]func(s *api.OpenStackClusterSpec){
		"network": func(s *api.OpenStackClusterSpec) { s.Network = networkCalled("ofice") },
		"subnets": func(s *api.OpenStackClusterSpec) { s.Subnets = subnetCalled("aa") },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, office(), func(w *world) {
				w.cluster.ControlPlane.Infrastructure.Spec = []byte(`{"ports":[{"network":{"filter":{"name":"office"}}}]}`)
				userNetwork(w)
				w.settle()
				w.server("cp-0", fleet.RoleControlPlane, 0)
				was := w.settle()
				before := w.contents()
				change(w.spec)
				_ = w.ensure()
				st := w.observe()
				if !st.Ready || len(st.Drift) != 1 || st.Endpoint != was.Endpoint || st.Place.Network != was.Place.Network || len(st.Place.Subnets) == 0 {
					t.Errorf("ready %v (%s), drift %q, endpoint %v, was %v", st.Ready, st.Message, st.Drift, st.Endpoint, was.Endpoint)
				}
				if d := cmp.Diff(before, w.contents()); d != "" {
					t.Errorf("the cloud was changed (-before +after):\n%s", d)
				}
			})
		})
	}
}

// TestMembersStayWhereTheyAre: machines with addresses in two subnets keep the members that they
// have where the primary subnet is not found.
func TestMembersStayWhereTheyAre(t *testing.T) {
	spec := office()
	spec.PrimarySubnet = &subnetCalled("b")[0]
	inBubble(t, spec, func(w *world) {
		_, a, b, _ := userNetwork(w)
		w.settle()
		w.server("cp-0", fleet.RoleControlPlane, 0)
		w.cloud.Edit(ost.Ports, w.one(ost.Ports, named("cp-0-0")).ID(), func(o ost.Object) {
			o["fixed_ips"] = []ost.Object{{"subnet_id": a, "ip_address": "10.6.0.100"}, {"subnet_id": b, "ip_address": "10.8.0.100"}}
		})
		w.settle()
		before := w.contents()
		if got := w.one(ost.Members, all).String("address"); got != "10.8.0.100" {
			t.Fatalf("the member is at %s", got)
		}
		spec.PrimarySubnet = &subnetCalled("bb")[0]
		for range 3 {
			_ = w.ensure()
		}
		if d := cmp.Diff(before, w.contents()); d != "" {
			t.Errorf("the cloud was changed (-before +after):\n%s", d)
		}
	})
}
