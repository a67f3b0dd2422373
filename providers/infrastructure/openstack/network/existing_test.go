package network_test

import (
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack/api"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// userNetwork puts a network of the user's with two subnets behind a router into
// the project.
func userNetwork(w *world) (n, a, b, router string) {
	n = w.cloud.Add("alpha", ost.Networks, ost.Object{"name": "office", "tags": []string{"blue"}})
	a = w.cloud.Add("alpha", ost.Subnets, ost.Object{
		"name": "a", "network_id": n, "cidr": "10.6.0.0/24", "ip_version": 4, "gateway_ip": "10.6.0.1",
		"allocation_pools": []ost.Object{{"start": "10.6.0.2", "end": "10.6.0.254"}},
	})
	b = w.cloud.Add("alpha", ost.Subnets, ost.Object{
		"name": "b", "network_id": n, "cidr": "10.8.0.0/24", "ip_version": 4, "gateway_ip": "10.8.0.1",
		"allocation_pools": []ost.Object{{"start": "10.8.0.2", "end": "10.8.0.254"}},
	})
	router = w.cloud.Add("alpha", ost.Routers, ost.Object{"name": "edge", "external_gateway_info": ost.Object{
		"network_id": w.one(ost.Networks, named(ost.External)).ID(), "external_fixed_ips": []ost.Object{{"ip_address": "198.18.0.200"}},
	}})
	for _, s := range []string{a, b} {
		w.cloud.Add("alpha", ost.Ports, ost.Object{"network_id": n, "device_owner": "network:router_interface", "device_id": router, "fixed_ips": []ost.Object{{"subnet_id": s, "ip_address": "10.6.0.1"}}})
	}
	return n, a, b, router
}

// A cluster on a network that exists adds its own things and leaves the network
// as it was.
func TestExistingNetwork(t *testing.T) {
	cases := map[string]struct {
		spec    api.OpenStackClusterSpec
		subnets []string
	}{
		"by name":        {api.OpenStackClusterSpec{Network: &api.NetworkParam{Filter: &api.NetworkFilter{Name: "office"}}}, []string{"a", "b"}},
		"by subnets":     {api.OpenStackClusterSpec{Subnets: []api.SubnetParam{{Filter: &api.SubnetFilter{CIDR: "10.8.0.0/24"}}}}, []string{"b"}},
		"primary subnet": {api.OpenStackClusterSpec{Network: &api.NetworkParam{Filter: &api.NetworkFilter{Name: "office"}}, PrimarySubnet: &api.SubnetParam{Filter: &api.SubnetFilter{Name: "b"}}}, []string{"b", "a"}},
		"by tags": {api.OpenStackClusterSpec{Network: &api.NetworkParam{Filter: &api.NetworkFilter{
			FilterByNeutronTags: api.FilterByNeutronTags{Tags: []api.NeutronTag{"blue"}, NotTagsAny: []api.NeutronTag{"red"}},
		}}}, []string{"a", "b"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			spec := tc.spec
			spec.ManagedSecurityGroups = new(api.ManagedSecurityGroups)
			spec.APIServer = &api.APIServer{ManagedLoadBalancer: balancer()}
			inBubble(t, &spec, func(w *world) {
				userNetwork(w)
				before := w.things()
				st := w.settle()
				var got []string
				for _, id := range st.Place.Subnets {
					s, _ := w.cloud.Object(ost.Subnets, id)
					got = append(got, s.String("name"))
				}
				if !slices.Equal(got, tc.subnets) {
					t.Errorf("subnets %v, want %v", got, tc.subnets)
				}
				if lb := w.one(ost.LoadBalancers, all); lb.String("vip_subnet_id") != st.Place.Subnets[0] {
					t.Errorf("load balancer %v, want it on %s", lb, st.Place.Subnets[0])
				}
				w.remove()
				same(t, "left", w.things(), before)
			})
		})
	}
}

// What Git names and does not find, or finds twice, is told; nothing is guessed.
func TestNotFound(t *testing.T) {
	cases := map[string]struct {
		change func(s *api.OpenStackClusterSpec)
		words  string
	}{
		"network": {func(s *api.OpenStackClusterSpec) {
			s.Network = &api.NetworkParam{Filter: &api.NetworkFilter{Name: "ofice"}}
		}, `the project sees no network like {"filter":{"name":"ofice"}}`},
		"networks": {func(s *api.OpenStackClusterSpec) {
			s.Network = &api.NetworkParam{Filter: &api.NetworkFilter{ProjectID: "x"}}
		}, "cannot look up network"},
		"subnet": {func(s *api.OpenStackClusterSpec) { s.Subnets = []api.SubnetParam{{ID: ptr("3f0b")}} }, `the project sees no subnet like {"id":"3f0b"}`},
		"subnets": {func(s *api.OpenStackClusterSpec) {
			s.Subnets = []api.SubnetParam{{Filter: &api.SubnetFilter{IPVersion: 4}}}
		}, "2 are like"},
		"router": {func(s *api.OpenStackClusterSpec) {
			s.Router = &api.RouterParam{Filter: &api.RouterFilter{Name: "egde"}}
		}, "the project sees no router like"},
		"external": {func(s *api.OpenStackClusterSpec) {
			s.ExternalNetwork = &api.NetworkParam{Filter: &api.NetworkFilter{Name: "office"}}
		}, "cannot look up externalNetwork"},
		"remote groups": {func(s *api.OpenStackClusterSpec) {
			s.ManagedSecurityGroups.ControlPlaneNodesSecurityGroupRules = []api.SecurityGroupRuleSpec{{Name: "ssh", Direction: "ingress", RemoteManagedGroups: []api.ManagedSecurityGroupName{"bastion"}}}
		}, `managedSecurityGroups.controlPlaneNodesSecurityGroupRules[ssh]: remoteManagedGroups names "bastion"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			spec := &api.OpenStackClusterSpec{
				Network:               &api.NetworkParam{Filter: &api.NetworkFilter{Name: "office"}},
				ManagedSecurityGroups: new(api.ManagedSecurityGroups), APIServer: &api.APIServer{ManagedLoadBalancer: balancer()},
			}
			inBubble(t, spec, func(w *world) {
				userNetwork(w)
				tc.change(spec)
				st, errs := w.work()
				said := st.Message + strings.Join(st.Drift, "; ")
				if len(errs) == 0 || fleet.KindOf(errs[0]) != fleet.Invalid || !strings.Contains(errs[len(errs)-1].Error(), tc.words) || !strings.Contains(said, tc.words) {
					t.Errorf("said %q, errors %v, want %q", said, errs, tc.words)
				}
			})
		})
	}
}

// A cluster may need nothing but what others made: then nothing of it exists, and
// machines may be made all the same.
func TestNothingToMake(t *testing.T) {
	spec := &api.OpenStackClusterSpec{
		Network:   &api.NetworkParam{Filter: &api.NetworkFilter{Name: "office"}},
		APIServer: &api.APIServer{EnableFloatingIP: ptr(false), FixedIP: ptr("198.51.100.9")},
	}
	inBubble(t, spec, func(w *world) {
		userNetwork(w)
		st := w.observe()
		if st.Exists || !st.Ready || len(st.Drift) != 0 || st.Place.Network == "" {
			t.Errorf("%+v", st)
		}
	})
}

// On a router that exists only the cluster's interface comes and goes.
func TestExistingRouter(t *testing.T) {
	spec := managed()
	spec.ManagedSubnets[0].CIDR = "10.9.0.0/24"
	spec.Router = &api.RouterParam{Filter: &api.RouterFilter{Name: "edge"}}
	inBubble(t, spec, func(w *world) {
		_, _, _, router := userNetwork(w)
		before := w.things()
		st := w.settle()
		iface := func(o ost.Object) bool {
			return o.String("device_id") == router && o.String("network_id") == st.Place.Network
		}
		w.one(ost.Ports, iface)
		w.remove()
		if w.has(ost.Ports, iface) {
			t.Error("the interface is still there")
		}
		same(t, "left", w.things(), before)
	})
}

// Without an external network, or with one that is switched off, there is neither
// router nor floating IP.
func TestInternalOnly(t *testing.T) {
	spec := managed()
	spec.EnableExternalNetwork, spec.APIServer.EnableFloatingIP = ptr(false), ptr(false)
	inBubble(t, spec, func(w *world) {
		st := w.settle()
		if len(w.cloud.Objects(ost.Routers))+len(w.cloud.Objects(ost.FloatingIPs)) != 0 {
			t.Error("there are routers or floating IPs")
		}
		if lb := w.one(ost.LoadBalancers, all); st.Endpoint.Host != lb.String("vip_address") {
			t.Errorf("endpoint %v, want %v", st.Endpoint, lb.String("vip_address"))
		}
	})
}

// What the cloud controller manager made for Services goes with the cluster's
// network; what it made for another cluster of the same name stays, and so does a
// floating IP that people gave to a Service.
func TestServices(t *testing.T) {
	inBubble(t, managed(), func(w *world) {
		n, a, _, _ := userNetwork(w)
		st := w.settle()
		service := func(net, subnet, port, name string) {
			w.cloud.Add("alpha", ost.Ports, ost.Object{"id": port, "network_id": net, "device_owner": "Octavia", "fixed_ips": []ost.Object{{"subnet_id": subnet, "ip_address": "10.6.0.40"}}})
			w.cloud.Add("alpha", ost.LoadBalancers, ost.Object{
				"name": "kube_service_kubernetes_default_" + name, "vip_network_id": net, "vip_subnet_id": subnet, "vip_port_id": port,
				"provisioning_status": "ACTIVE", "own_port": true,
			})
			w.cloud.Add("alpha", ost.FloatingIPs, ost.Object{"port_id": port, "description": "Floating IP for Kubernetes external service default/" + name + " from cluster kubernetes"})
		}
		group := func(name string) string {
			return w.cloud.Add("alpha", ost.SecurityGroups, ost.Object{"name": "lb-sg-" + name, "description": "Security Group for default/" + name + " Service LoadBalancer in cluster kubernetes"})
		}
		used := group("web") // of the neighbor: on a port of its node
		w.cloud.Add("alpha", ost.Ports, ost.Object{"network_id": n, "security_groups": []string{used}, "fixed_ips": []ost.Object{{"subnet_id": a, "ip_address": "10.6.0.41"}}})
		group("db")
		service(n, a, "neighbor", "web")
		service(st.Place.Network, st.Place.Subnets[0], "own", "web")
		group("web")
		w.cloud.Add("alpha", ost.LoadBalancers, ost.Object{
			"name": "kube_service_kubernetes_default_mail", "vip_network_id": st.Place.Network, "vip_subnet_id": st.Place.Subnets[0],
			"vip_port_id": "mail", "provisioning_status": "ERROR",
		})
		w.cloud.Add("alpha", ost.FloatingIPs, ost.Object{"port_id": "mail", "description": "mail of the office"})
		w.remove()
		for k, n := range map[ost.Kind]int{ost.LoadBalancers: 1, ost.SecurityGroups: 2, ost.FloatingIPs: 2} {
			if got := w.things()[k]; got != n {
				t.Errorf("%d %s, want %d: %v", got, k, n, w.cloud.Objects(k))
			}
		}
		if !w.has(ost.SecurityGroups, func(o ost.Object) bool { return o.ID() == used }) {
			t.Error("the neighbor's security group is gone")
		}
		for _, c := range w.client.Calls() {
			if strings.HasSuffix(c.Path, used) {
				t.Errorf("the neighbor's security group was not left alone: %s %s", c.Method, c.Path)
			}
		}
	})
}
