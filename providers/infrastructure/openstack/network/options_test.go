package network_test

import (
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack/api"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// The router gets the addresses that Git gives it, and keeps them.
func TestRouterAddresses(t *testing.T) {
	spec := managed()
	inBubble(t, spec, func(w *world) {
		external := w.one(ost.Networks, named(ost.External)).ID()
		subnet := w.one(ost.Subnets, func(o ost.Object) bool { return o.String("network_id") == external }).ID()
		spec.ManagedRouter = &api.ManagedRouter{ExternalIPs: []api.ExternalRouterIPParam{{FixedIP: "198.18.0.50", Subnet: api.SubnetParam{ID: &subnet}}}}
		w.settle()
		has := func() string {
			for _, ip := range w.one(ost.Routers, all).Object("external_gateway_info").Objects("external_fixed_ips") {
				return ip.String("ip_address")
			}
			return ""
		}
		if got := has(); got != "198.18.0.50" {
			t.Errorf("the router has %q, want 198.18.0.50", got)
		}
		w.server("cp-0", fleet.RoleControlPlane, 0)
		w.settle()
		spec.ManagedRouter.ExternalIPs[0].FixedIP = "198.18.0.51"
		if st := w.observe(); !st.Ready || !slices.Equal(st.Drift, []string{"lead router prod-eu-1 to the external network as 198.18.0.51 in " + subnet}) {
			t.Errorf("ready %v, drift %q", st.Ready, st.Drift)
		}
		w.settle()
		if got := has(); got != "198.18.0.51" {
			t.Errorf("the router has %q, want 198.18.0.51", got)
		}
	})
}

// The load balancer is on the network that Git names for it; its members are on
// that of the cluster.
func TestBalancerElsewhere(t *testing.T) {
	for name, param := range map[string]api.APIServerLoadBalancer{
		"network": {Network: &api.NetworkParam{Filter: &api.NetworkFilter{Name: "office"}}},
		"subnet":  {Network: &api.NetworkParam{Filter: &api.NetworkFilter{Name: "office"}}, Subnets: []api.SubnetParam{{Filter: &api.SubnetFilter{Name: "b"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := managed()
			lb := spec.APIServer.ManagedLoadBalancer
			lb.Network, lb.Subnets = param.Network, param.Subnets
			spec.APIServer.EnableFloatingIP = ptr(false)
			inBubble(t, spec, func(w *world) {
				n, _, b, _ := userNetwork(w)
				before := w.things()
				st := w.settle()
				w.server("cp-0", fleet.RoleControlPlane, 0)
				w.settle()
				got := w.one(ost.LoadBalancers, all)
				if got.String("vip_network_id") != n || name == "subnet" && got.String("vip_subnet_id") != b {
					t.Errorf("load balancer %v, want it on network %s", got, n)
				}
				if st.Endpoint.Host != got.String("vip_address") {
					t.Errorf("endpoint %v, want %s", st.Endpoint, got.String("vip_address"))
				}
				if m := w.one(ost.Members, all); m.String("subnet_id") != st.Place.Subnets[0] {
					t.Errorf("member %v, want it on %v", m, st.Place.Subnets)
				}
				w.unserve("cp-0")
				w.remove()
				same(t, "left", w.things(), before)
			})
		})
	}
}

// A port that Git gives up goes with its pool; what others put on the load
// balancer stays.
func TestPortGivenUp(t *testing.T) {
	spec := managed()
	spec.APIServer.ManagedLoadBalancer.AdditionalPorts = []int32{8132}
	inBubble(t, spec, func(w *world) {
		w.settle()
		w.server("cp-0", fleet.RoleControlPlane, 0)
		w.settle()
		lb := w.one(ost.LoadBalancers, all).ID()
		foreign := w.cloud.Add("alpha", ost.Listeners, ost.Object{"name": "mine", "protocol": "TCP", "protocol_port": 9000, "lb": lb})
		spec.APIServer.ManagedLoadBalancer.AdditionalPorts = nil
		w.settle()
		var ports []int
		for _, l := range w.cloud.Objects(ost.Listeners) {
			ports = append(ports, l.Int("protocol_port"))
		}
		if !slices.Equal(ports, []int{6443, 9000}) || len(w.cloud.Objects(ost.Pools)) != 1 || len(w.cloud.Objects(ost.Members)) != 1 {
			t.Errorf("listeners on %v, pools %v, want those of 6443 and the other's %s", ports, w.cloud.Objects(ost.Pools), foreign)
		}
	})
}

// Several subnets of both families, with rules for both.
func TestDualStack(t *testing.T) {
	spec := managed()
	spec.ManagedSubnets = append(spec.ManagedSubnets, api.SubnetSpec{CIDR: "fd00:6::/64"})
	inBubble(t, spec, func(w *world) {
		st := w.settle()
		if len(st.Place.Subnets) != 2 {
			t.Errorf("subnets %v", st.Place.Subnets)
		}
		six := w.one(ost.Subnets, func(o ost.Object) bool { return strings.HasPrefix(o.String("cidr"), "fd00") })
		if six.String("ipv6_address_mode") != "dhcpv6-stateful" || six.String("ipv6_ra_mode") != "dhcpv6-stateful" {
			t.Errorf("subnet %v", six)
		}
		w.one(ost.SecurityGroupRules, func(o ost.Object) bool { return o.String("description") == "etcd" && o.String("ethertype") == "IPv6" })
		w.remove()
		same(t, "left", w.things(), map[ost.Kind]int{})
	})
}
