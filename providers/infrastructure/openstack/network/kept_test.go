package network_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack/api"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// office is a cluster on a network of the user's.
func office() *api.OpenStackClusterSpec {
	spec := managed()
	spec.ManagedSubnets = nil
	spec.Network = &api.NetworkParam{Filter: &api.NetworkFilter{Name: "office"}}
	return spec
}

func subnetCalled(name string) []api.SubnetParam {
	return []api.SubnetParam{{Filter: &api.SubnetFilter{Name: name}}}
}

func networkCalled(name string) *api.NetworkParam {
	return &api.NetworkParam{Filter: &api.NetworkFilter{Name: name}}
}

// alone is a cluster whose API server answers at a floating IP on a machine.
func alone() *api.OpenStackClusterSpec {
	spec := managed()
	spec.APIServer = new(api.APIServer)
	return spec
}

// fixedAt is one whose API server answers at an address that its machines serve.
func fixedAt(address string) *api.OpenStackClusterSpec {
	spec := managed()
	spec.APIServer = &api.APIServer{EnableFloatingIP: ptr(false), FixedIP: &address}
	return spec
}

// named99 has spec name a floating IP that people made.
func named99(spec *api.OpenStackClusterSpec) *api.OpenStackClusterSpec {
	spec.APIServer.FloatingIP = ptr("198.18.0.99")
	return spec
}

// twoSubnets is a cluster with a second subnet.
func twoSubnets(second string) *api.OpenStackClusterSpec {
	spec := managed()
	spec.ManagedSubnets = append(spec.ManagedSubnets, api.SubnetSpec{CIDR: second})
	return spec
}

// A cluster that runs stays as it is where Git names another place for it: what is
// there, where the next machine goes and where the API server answers. It says so.
func TestStays(t *testing.T) {
	onLoadBalancer := func(spec *api.OpenStackClusterSpec, change func(lb *api.APIServerLoadBalancer)) *api.OpenStackClusterSpec {
		change(spec.APIServer.ManagedLoadBalancer)
		return spec
	}
	cases := map[string]struct {
		spec   *api.OpenStackClusterSpec
		change func(s *api.OpenStackClusterSpec)
		words  string
	}{
		"another network": {
			office(), func(s *api.OpenStackClusterSpec) { s.Network = networkCalled("lab") },
			"cannot change network: the machines are on network office (put it back, or make a new cluster)",
		},
		"another network, without a load balancer": {
			onLoadBalancer(office(), func(lb *api.APIServerLoadBalancer) { lb.Enabled = ptr(false) }), func(s *api.OpenStackClusterSpec) { s.Network = networkCalled("lab") },
			"cannot change network: the machines are on network office",
		},
		"a network that is not there": {
			office(), func(s *api.OpenStackClusterSpec) { s.Network = networkCalled("ofice") },
			`the project sees no network like {"filter":{"name":"ofice"}}`,
		},
		"another subnet": {
			func() *api.OpenStackClusterSpec { s := office(); s.Subnets = subnetCalled("a"); return s }(),
			func(s *api.OpenStackClusterSpec) { s.Subnets = subnetCalled("b") },
			"cannot change subnets: the machines have addresses in 10.6.0.0/24",
		},
		"another primary subnet": {
			func() *api.OpenStackClusterSpec { s := office(); s.PrimarySubnet = &subnetCalled("a")[0]; return s }(),
			func(s *api.OpenStackClusterSpec) { s.PrimarySubnet = &subnetCalled("b")[0] },
			"cannot change primarySubnet: the machines have addresses in 10.6.0.0/24",
		},
		"another prefix": {
			managed(), func(s *api.OpenStackClusterSpec) { s.ManagedSubnets[0].CIDR = "10.66.0.0/24" },
			"cannot change managedSubnets: the network has the subnet 10.6.0.0/24",
		},
		"another prefix, internal": {
			func() *api.OpenStackClusterSpec { s := managed(); s.APIServer.EnableFloatingIP = ptr(false); return s }(),
			func(s *api.OpenStackClusterSpec) { s.ManagedSubnets[0].CIDR = "10.66.0.0/24" },
			"cannot change managedSubnets: the network has the subnet 10.6.0.0/24",
		},
		"another prefix of the second subnet": {
			twoSubnets("10.7.0.0/24"), func(s *api.OpenStackClusterSpec) { s.ManagedSubnets[1].CIDR = "10.8.0.0/24" },
			"cannot change managedSubnets: the network has the subnet 10.7.0.0/24",
		},
		"another prefix of the first subnet": {
			twoSubnets("10.7.0.0/24"), func(s *api.OpenStackClusterSpec) { s.ManagedSubnets[0].CIDR = "10.8.0.0/24" },
			"cannot change managedSubnets: the network has the subnet 10.6.0.0/24",
		},
		"another prefix of the second family": {
			twoSubnets("fd00:6::/64"), func(s *api.OpenStackClusterSpec) { s.ManagedSubnets[1].CIDR = "fd00:7::/64" },
			"cannot change managedSubnets: the network has the subnet fd00:6::/64",
		},
		"a family given up": {
			twoSubnets("fd00:6::/64"), func(s *api.OpenStackClusterSpec) { s.ManagedSubnets = s.ManagedSubnets[:1] },
			"cannot change managedSubnets: the network has the subnet fd00:6::/64",
		},
		"made, then named": {
			managed(), func(s *api.OpenStackClusterSpec) {
				s.ManagedSubnets, s.Network = nil, networkCalled("office")
			}, "cannot change network: the machines are on network prod-eu-1, which was made for the cluster",
		},
		"named, then to be made": {
			office(), func(s *api.OpenStackClusterSpec) {
				s.Network, s.ManagedSubnets = nil, []api.SubnetSpec{{CIDR: "10.9.0.0/24"}}
			}, "cannot change managedSubnets: the machines are on network office, which was not made for the cluster",
		},
		"another router": {
			managed(), func(s *api.OpenStackClusterSpec) {
				s.Router = &api.RouterParam{Filter: &api.RouterFilter{Name: "edge"}}
			}, "cannot change router: subnet 10.6.0.0/24 is connected to router",
		},
		"another external network": {
			managed(), func(s *api.OpenStackClusterSpec) { s.ExternalNetwork = networkCalled("second") },
			"cannot change externalNetwork: the cluster has its router and its floating IPs on network public",
		},
		"no floating IP": {
			managed(), func(s *api.OpenStackClusterSpec) { s.APIServer.EnableFloatingIP = ptr(false) },
			"cannot change apiServer.enableFloatingIP: the machines know the API server by the floating IP 198.18.",
		},
		"another floating IP than that of people": {
			named99(managed()), func(s *api.OpenStackClusterSpec) { s.APIServer.FloatingIP = ptr("198.18.0.98") },
			"cannot change the floating IP of the API server: the machines know the API server at 198.18.0.99, Git says 198.18.0.98",
		},
		"a floating IP that is not there instead of that of people": {
			named99(managed()), func(s *api.OpenStackClusterSpec) { s.APIServer.FloatingIP = ptr("198.18.0.97") },
			"cannot change the floating IP of the API server: the machines know the API server at 198.18.0.99, Git says 198.18.0.97",
		},
		"another floating IP than that of people, without a load balancer": {
			named99(alone()), func(s *api.OpenStackClusterSpec) { s.APIServer.FloatingIP = ptr("198.18.0.98") },
			"cannot change the floating IP of the API server: the machines know the API server at 198.18.0.99, Git says 198.18.0.98",
		},
		"a floating IP that is not there instead of that of people, without a load balancer": {
			named99(alone()), func(s *api.OpenStackClusterSpec) { s.APIServer.FloatingIP = ptr("198.18.0.97") },
			"cannot change the floating IP of the API server: the machines know the API server at 198.18.0.99, Git says 198.18.0.97",
		},
		"no floating IP instead of that of people": {
			named99(managed()), func(s *api.OpenStackClusterSpec) {
				s.APIServer.FloatingIP, s.APIServer.EnableFloatingIP = nil, ptr(false)
			},
			"cannot change apiServer.enableFloatingIP: the machines know the API server by the floating IP 198.18.0.99",
		},
		"no load balancer": {
			managed(), func(s *api.OpenStackClusterSpec) { s.APIServer.ManagedLoadBalancer.Enabled = ptr(false) },
			"cannot change apiServer.managedLoadBalancer: the machines know the API server behind load balancer prod-eu-1-kubeapi",
		},
		"nothing of the load balancer": {
			onLoadBalancer(managed(), func(lb *api.APIServerLoadBalancer) {
				lb.AdditionalPorts, lb.AllowedCIDRs = []int32{8132}, []string{"192.0.2.0/24"}
			}), func(s *api.OpenStackClusterSpec) { s.APIServer = nil },
			"cannot change apiServer.managedLoadBalancer: the machines know the API server behind load balancer prod-eu-1-kubeapi",
		},
		"network of the load balancer": {
			managed(), func(s *api.OpenStackClusterSpec) { s.APIServer.ManagedLoadBalancer.Network = networkCalled("office") },
			"cannot change apiServer.managedLoadBalancer.network: load balancer prod-eu-1-kubeapi is on network prod-eu-1",
		},
		"network of the load balancer, taken out": {
			onLoadBalancer(managed(), func(lb *api.APIServerLoadBalancer) { lb.Network = networkCalled("office") }),
			func(s *api.OpenStackClusterSpec) { s.APIServer.ManagedLoadBalancer.Network = nil },
			"cannot change apiServer.managedLoadBalancer.network: load balancer prod-eu-1-kubeapi is on network office",
		},
		"subnet of the load balancer": {
			onLoadBalancer(office(), func(lb *api.APIServerLoadBalancer) { lb.Subnets = subnetCalled("a") }),
			func(s *api.OpenStackClusterSpec) { s.APIServer.ManagedLoadBalancer.Subnets = subnetCalled("b") },
			"cannot change apiServer.managedLoadBalancer.subnets: load balancer prod-eu-1-kubeapi is in subnet 10.6.0.0/24",
		},
		"flavor of the load balancer": {
			managed(), func(s *api.OpenStackClusterSpec) { s.APIServer.ManagedLoadBalancer.Flavor = ptr("ha") },
			"cannot change apiServer.managedLoadBalancer.flavor: load balancer prod-eu-1-kubeapi is of flavor none",
		},
		"another flavor of the load balancer": {
			onLoadBalancer(managed(), func(lb *api.APIServerLoadBalancer) { lb.Flavor = ptr("ha") }),
			func(s *api.OpenStackClusterSpec) { s.APIServer.ManagedLoadBalancer.Flavor = ptr("small") },
			"cannot change apiServer.managedLoadBalancer.flavor: load balancer prod-eu-1-kubeapi is of flavor ha",
		},
		"the port of the API server": {
			managed(), func(s *api.OpenStackClusterSpec) { s.APIServer.Port = ptr(uint16(7443)) },
			"cannot change the port of the API server: the machines know it at 6443, Git says 7443 (put it back, or make a new cluster)",
		},
		"the port of the API server, without a load balancer": {
			alone(), func(s *api.OpenStackClusterSpec) { s.APIServer.Port = ptr(uint16(7443)) },
			"cannot change the port of the API server: the machines know it at 6443, Git says 7443 (put it back, or make a new cluster)",
		},
		"the fixed address": {
			fixedAt("10.6.0.9"), func(s *api.OpenStackClusterSpec) { s.APIServer.FixedIP = ptr("10.6.0.10") },
			"cannot change apiServer.fixedIP: the machines know the API server at 10.6.0.9, Git says 10.6.0.10 (put it back, or make a new cluster)",
		},
		"the fixed address and the port": {
			fixedAt("10.6.0.9"), func(s *api.OpenStackClusterSpec) { s.APIServer.FixedIP, s.APIServer.Port = nil, nil },
			"cannot change apiServer.fixedIP: the machines know the API server at 10.6.0.9, Git says none (put it back, or make a new cluster)",
		},
		"security groups, given up": {
			managed(), func(s *api.OpenStackClusterSpec) { s.ManagedSecurityGroups = nil },
			"cannot change managedSecurityGroups: the machines are in such groups",
		},
		"security groups, wanted later": {
			func() *api.OpenStackClusterSpec { s := managed(); s.ManagedSecurityGroups = nil; return s }(),
			func(s *api.OpenStackClusterSpec) { s.ManagedSecurityGroups = new(api.ManagedSecurityGroups) },
			"cannot change managedSecurityGroups: the machines were made without such groups",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, tc.spec, func(w *world) {
				userNetwork(w)
				otherNetworks(w)
				for _, a := range []string{"198.18.0.98", "198.18.0.99"} {
					w.cloud.Add("alpha", ost.FloatingIPs, ost.Object{"floating_ip_address": a, "floating_network_id": w.one(ost.Networks, named(ost.External)).ID()})
				}
				if lb := w.spec.APIServer.ManagedLoadBalancer; lb != nil {
					lb.AllowedCIDRs = []string{"192.0.2.0/24"} // and the cluster itself
				}
				w.settle()
				w.server("cp-0", fleet.RoleControlPlane, 0)
				w.inGroup("cp-0")
				was := w.settle()
				w.cluster.Residence = fleet.Residence{Endpoint: was.Endpoint, ControlPlane: fleet.InitializedOnce}
				before := w.contents()
				tc.change(w.spec)
				var errs []error
				for range 3 {
					errs = append(errs, w.ensure())
				}
				st := w.observe()
				if !st.Ready || !strings.Contains(strings.Join(st.Drift, "\n"), tc.words) || len(st.Drift) != 1 {
					t.Errorf("ready %v, drift %q, want only %q (%s)", st.Ready, st.Drift, tc.words, st.Message)
				}
				for _, err := range errs {
					if fleet.KindOf(err) != fleet.Invalid || !strings.Contains(err.Error(), tc.words) {
						t.Errorf("error %v, want one of kind Invalid with %q", err, tc.words)
					}
				}
				if st.Endpoint != was.Endpoint || st.Place.Network != was.Place.Network || st.Place.ControlPlaneGroup != was.Place.ControlPlaneGroup {
					t.Errorf("endpoint %v, place %+v; were %v, %+v", st.Endpoint, st.Place, was.Endpoint, was.Place)
				}
				if len(was.Place.Addresses) > 0 && !slices.Equal(st.Place.Addresses, was.Place.Addresses) {
					t.Errorf("the next machine gets addresses in %v, the others have them in %v", st.Place.Addresses, was.Place.Addresses)
				}
				if d := cmp.Diff(before, w.contents()); d != "" {
					t.Errorf("the cloud was changed (-before +after):\n%s", d)
				}
			})
		})
	}
}

// contents returns everything that is in the cloud, without what passes by itself.
func (w *world) contents() map[ost.Kind][]string {
	w.Helper()
	out := make(map[ost.Kind][]string)
	for _, k := range append(slices.Clone(kinds), ost.SecurityGroupRules) {
		for _, o := range w.cloud.Objects(k) {
			for _, passing := range []string{"updated_at", "revision_number", "provisioning_status", "operating_status"} {
				delete(o, passing)
			}
			b, err := json.Marshal(o)
			if err != nil {
				w.Fatal(err)
			}
			out[k] = append(out[k], string(b))
		}
		slices.Sort(out[k])
	}
	return out
}

// inGroup puts the port of a machine of the control plane into the managed group.
func (w *world) inGroup(name string) {
	w.Helper()
	if g := w.observe().Place.ControlPlaneGroup; g != "" {
		w.cloud.Edit(ost.Ports, w.one(ost.Ports, named(name+"-0")).ID(), func(o ost.Object) { o["security_groups"] = []string{g} })
	}
}

// A load balancer that Git asks for no more goes on leading to the machines of the
// control plane: to those that come, and not to those that went.
func TestEndedLoadBalancerFollowsMachines(t *testing.T) {
	inBubble(t, managed(), func(w *world) {
		w.settle()
		w.server("cp-0", fleet.RoleControlPlane, 0)
		w.settle()
		w.spec.APIServer = nil
		w.server("cp-1", fleet.RoleControlPlane, 1)
		w.work()
		w.unserve("cp-0")
		w.work()
		if m := w.one(ost.Members, all); m.String("name") != "cp-1" {
			t.Errorf("the member is %s, want cp-1", m.String("name"))
		}
	})
}

// Before the first machine a load balancer that Git asks for no more goes.
func TestLoadBalancerGivenUpEarly(t *testing.T) {
	inBubble(t, managed(), func(w *world) {
		w.settle()
		w.spec.APIServer.ManagedLoadBalancer.Enabled = ptr(false)
		w.settle()
		time.Sleep(time.Minute)
		if w.has(ost.LoadBalancers, all) {
			t.Error("the load balancer is still there")
		}
	})
}

// Tags that are taken out of Git go. Where Git names none, those that people set
// stay.
func TestTagsReplaced(t *testing.T) {
	inBubble(t, managed(), func(w *world) {
		w.settle()
		network := func() ost.Object { return w.one(ost.Networks, named("prod-eu-1")) }
		w.cloud.Edit(ost.Networks, network().ID(), func(o ost.Object) { o["tags"] = []string{"billing"} })
		w.settle()
		if got := network().Strings("tags"); !slices.Equal(got, []string{"billing"}) {
			t.Errorf("tags %q, want those that people set", got)
		}
		w.spec.Tags = []string{"team-b", "team-a"}
		w.settle()
		w.spec.Tags = []string{"team-a"}
		w.settle()
		if got := network().Strings("tags"); !slices.Equal(got, []string{"team-a"}) {
			t.Errorf("tags %q, want [team-a]", got)
		}
	})
}
