package network_test

import (
	"strings"
	"testing"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	"fairlead.dev/providers/infrastructure/openstack/network"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

func withoutBalancer(a *api.APIServer) *api.OpenStackClusterSpec {
	s := managed()
	s.APIServer = a
	return s
}

// Without a load balancer the floating IP is on the oldest machine of the control
// plane that runs, and moves when that one goes.
// What serves the API server and was lost comes back at the address that machines
// and certificates know.
func TestLostEndpointComesBack(t *testing.T) {
	for name, internal := range map[string]bool{"load balancer": true, "floating IP": false} {
		t.Run(name, func(t *testing.T) {
			spec := managed()
			if internal {
				spec.EnableExternalNetwork, spec.APIServer.EnableFloatingIP = ptr(false), ptr(false)
			}
			inBubble(t, spec, func(w *world) {
				was := w.settle().Endpoint
				w.server("cp-0", fleet.RoleControlPlane, 0)
				w.settle()
				// Another address than the one that would come next.
				was.Host = was.Host[:strings.LastIndexByte(was.Host, '.')] + ".77"
				w.cluster.Residence = fleet.Residence{ControlPlane: fleet.InitializedOnce, Endpoint: was}
				for _, k := range []ost.Kind{ost.FloatingIPs, ost.LoadBalancers} {
					for _, o := range w.cloud.Objects(k) {
						if k == ost.LoadBalancers {
							w.cloud.Remove(ost.Ports, o.String("vip_port_id"))
						}
						w.cloud.Remove(k, o.ID())
					}
				}
				if got := w.settle().Endpoint; got != was {
					t.Errorf("the endpoint came back at %v, want %v", got, was)
				}
			})
		})
	}
}

func TestFloatingIPMoves(t *testing.T) {
	inBubble(t, withoutBalancer(nil), func(w *world) {
		st := w.settle()
		fip := w.one(ost.FloatingIPs, all)
		if st.Endpoint.Host != fip.String("floating_ip_address") || fip.String("port_id") != "" {
			t.Fatalf("endpoint %v, floating IP %v", st.Endpoint, fip)
		}
		on := func() string {
			w.settle()
			p, _ := w.cloud.Object(ost.Ports, w.one(ost.FloatingIPs, all).String("port_id"))
			return p.String("name")
		}
		w.server("md-0", fleet.RoleWorker, 0)
		if got := on(); got != "" {
			t.Errorf("on %s, want nothing yet", got)
		}
		w.server("cp-1", fleet.RoleControlPlane, 1)
		status := func(s string) {
			w.cloud.Edit(ost.Servers, w.one(ost.Servers, named("cp-1")).ID(), func(o ost.Object) { o["status"] = s })
		}
		status("BUILD")
		if got := on(); got != "" {
			t.Errorf("on %q, want nothing while cp-1 is built", got)
		}
		status("ACTIVE")
		if got := on(); got != "cp-1-0" {
			t.Errorf("on %q, want cp-1", got)
		}
		w.server("cp-2", fleet.RoleControlPlane, 2)
		if got := on(); got != "cp-1-0" {
			t.Errorf("on %q, want cp-1 still", got)
		}
		w.cloud.Edit(ost.FloatingIPs, fip.ID(), func(o ost.Object) { o["port_id"] = "somewhere" })
		if got := on(); got != "cp-1-0" {
			t.Errorf("on %q, want cp-1 again after somebody moved it", got)
		}
		w.cloud.Edit(ost.FloatingIPs, fip.ID(), func(o ost.Object) { o["port_id"] = nil })
		w.unserve("cp-1")
		if got := on(); got != "cp-2-0" {
			t.Errorf("on %q, want cp-2", got)
		}
		w.unserve("md-0")
		w.unserve("cp-2")
		w.remove()
		same(t, "left", w.things(), map[ost.Kind]int{})
	})
}

// A floating IP of the user's is used and survives; one that is in use elsewhere,
// or another cluster's, is left alone.
func TestFloatingIPOfTheUser(t *testing.T) {
	const address = "203.0.113.50"
	give := func(w *world, o ost.Object) string {
		o["floating_ip_address"], o["floating_network_id"] = address, w.one(ost.Networks, named(ost.External)).ID()
		return w.cloud.Add("alpha", ost.FloatingIPs, o)
	}
	spec := func() *api.OpenStackClusterSpec {
		s := managed()
		s.APIServer.FloatingIP = ptr(address)
		return s
	}
	t.Run("used", func(t *testing.T) {
		inBubble(t, spec(), func(w *world) {
			id := give(w, ost.Object{"description": "ours for years"})
			if st := w.settle(); st.Endpoint.Host != address {
				t.Errorf("endpoint %v", st.Endpoint)
			}
			if got := w.one(ost.FloatingIPs, all); got.String("port_id") == "" || marked(got) {
				t.Errorf("floating IP %v", got)
			}
			w.remove()
			if got := w.one(ost.FloatingIPs, all); got.ID() != id || got.String("port_id") != "" {
				t.Errorf("floating IP %v", got)
			}
		})
	})
	for name, tc := range map[string]struct {
		object ost.Object
		words  string
	}{
		"in use":    {ost.Object{"port_id": "somewhere"}, "it is on port somewhere"},
		"another's": {ost.Object{"description": cloud.FormatOwner("API server", snapshot.Owner{Fleet: "fleet-b", Cluster: fleet.Key{Namespace: "prod", Name: "eu-1"}})}, "it belongs to cluster prod/eu-1 of fleet fleet-b"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, spec(), func(w *world) {
				id := give(w, tc.object)
				before, _ := w.cloud.Object(ost.FloatingIPs, id)
				st, _ := w.work()
				if st.Ready || !strings.Contains(st.Message, tc.words) {
					t.Errorf("ready %v: %q, want %q", st.Ready, st.Message, tc.words)
				}
				if after := w.one(ost.FloatingIPs, all); after.String("port_id") != before.String("port_id") {
					t.Errorf("floating IP moved: %v", after)
				}
			})
		})
	}
}

// TestFixedIPOfOthers: a fixed address that another cluster or a server has is not taken; a port
// that people made to keep it, and that of their load balancer, are used. A cluster whose machines
// know it is told, and goes on.
func TestFixedIPOfOthers(t *testing.T) {
	another := cloud.FormatOwner("API server", snapshot.Owner{Fleet: "fleet-a", Cluster: fleet.Key{Namespace: "prod", Name: "eu-2"}})
	for name, tc := range map[string]struct {
		port  ost.Object
		lives bool
		words string // empty: it is used
	}{
		"of another cluster":                  {ost.Object{"description": another}, false, "it belongs to cluster prod/eu-2 of fleet fleet-a"},
		"of a server":                         {ost.Object{"device_owner": "compute:az1", "device_id": "9"}, false, "compute:az1 9 has it"},
		"of a router":                         {ost.Object{"device_owner": "network:router_interface", "device_id": "9"}, false, "name another address"},
		"of a load balancer":                  {ost.Object{"device_owner": "Octavia", "device_id": "lb-9"}, false, ""},
		"kept":                                {ost.Object{"description": "for the API server"}, false, ""},
		"of a cluster whose machines know it": {ost.Object{"description": another}, true, "it belongs to cluster prod/eu-2 of fleet fleet-a"},
	} {
		t.Run(name, func(t *testing.T) {
			s := clusterOn("office", "10.6.0.4")
			inBubble(t, s, func(w *world) {
				n := w.cloud.Add("alpha", ost.Networks, ost.Object{"name": "office"})
				subnet := w.cloud.Add("alpha", ost.Subnets, ost.Object{"name": "a", "network_id": n, "cidr": "10.6.0.0/24", "ip_version": 4, "gateway_ip": "10.6.0.1"})
				tc.port["network_id"], tc.port["fixed_ips"] = n, []ost.Object{{"subnet_id": subnet, "ip_address": "10.6.0.4"}}
				w.cloud.Add("alpha", ost.Ports, tc.port)
				if tc.lives {
					w.cluster.Residence = fleet.Residence{ControlPlane: fleet.InitializedOnce, Endpoint: fleet.Endpoint{Host: "10.6.0.4", Port: 6443}}
				}
				st, errs := w.work()
				if want := tc.words == "" || tc.lives; st.Ready != want || st.Endpoint.Host != "10.6.0.4" {
					t.Errorf("ready %t, want %t, at %s: %s", st.Ready, want, st.Endpoint.Host, st.Message)
				}
				if tc.words == "" != (len(errs) == 0) || tc.words != "" && (!strings.Contains(errs[0].Error(), tc.words) || fleet.KindOf(errs[0]) != fleet.Conflict) {
					t.Errorf("errors %v, want %q", errs, tc.words)
				}
			})
		})
	}
}

// clusterOn is a cluster on an existing network, whose API server answers at a fixed address.
func clusterOn(network, fixed string) *api.OpenStackClusterSpec {
	s := withoutBalancer(&api.APIServer{EnableFloatingIP: ptr(false), FixedIP: ptr(fixed)})
	s.ManagedSubnets, s.Network = nil, &api.NetworkParam{Filter: &api.NetworkFilter{Name: network}}
	return s
}

// The other ways to an endpoint.
func TestEndpoint(t *testing.T) {
	none := &api.APIServer{EnableFloatingIP: ptr(false)}
	cases := map[string]struct {
		reason string
		spec   func() *api.OpenStackClusterSpec
		want   fleet.Endpoint
		ports  int // that are marked
		words  string
	}{
		"fixed": {
			"kube-vip's address, kept from others by a port",
			func() *api.OpenStackClusterSpec {
				s := withoutBalancer(&api.APIServer{EnableFloatingIP: ptr(false), FixedIP: ptr("10.6.0.5"), Port: ptr(uint16(8443))})
				s.Tags = []string{"team-a"}
				return s
			},
			fleet.Endpoint{Host: "10.6.0.5", Port: 8443},
			1, "",
		},
		"fixed elsewhere": {
			"a load balancer of the user's",
			func() *api.OpenStackClusterSpec {
				return withoutBalancer(&api.APIServer{EnableFloatingIP: ptr(false), FixedIP: ptr("198.51.100.5")})
			},
			fleet.Endpoint{Host: "198.51.100.5", Port: 6443},
			0, "",
		},
		"host": {
			"a name of the user's",
			func() *api.OpenStackClusterSpec {
				s := withoutBalancer(none)
				s.ControlPlaneEndpoint = &clusterv1.APIEndpoint{Host: "api.example.org", Port: 443}
				return s
			},
			fleet.Endpoint{Host: "api.example.org", Port: 443},
			0, "",
		},
		"internal balancer": {
			"the address of the load balancer, as asked for",
			func() *api.OpenStackClusterSpec {
				s := managed()
				s.APIServer.EnableFloatingIP, s.APIServer.FixedIP = ptr(false), ptr("10.6.0.9")
				return s
			},
			fleet.Endpoint{Host: "10.6.0.9", Port: 6443},
			0, "",
		},
		"none": {
			"nothing says where", func() *api.OpenStackClusterSpec { return withoutBalancer(none) },
			fleet.Endpoint{},
			0, "set apiServer.managedLoadBalancer, apiServer.fixedIP or controlPlaneEndpoint",
		},
		"no such flavor": {
			"it is told, not ignored",
			func() *api.OpenStackClusterSpec {
				s := managed()
				s.APIServer.ManagedLoadBalancer.Flavor = ptr("huge")
				return s
			},
			fleet.Endpoint{},
			0, `the project sees no flavor of Octavia like "huge"`,
		},
		"no such provider": {
			"in Octavia's words",
			func() *api.OpenStackClusterSpec {
				s := managed()
				s.APIServer.ManagedLoadBalancer.Provider = ptr("nope")
				return s
			},
			fleet.Endpoint{},
			0, "Provider 'nope' is not enabled",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, tc.spec(), func(w *world) {
				st, errs := w.work()
				if st.Endpoint != tc.want || st.Ready != (tc.words == "") {
					t.Errorf("%s: endpoint %v, want %v; ready %v: %s", tc.reason, st.Endpoint, tc.want, st.Ready, st.Message)
				}
				if tc.words != "" && (len(errs) == 0 || !strings.Contains(errs[0].Error(), tc.words) || fleet.KindOf(errs[0]) != fleet.Invalid) {
					t.Errorf("%s: errors %v, want %q", tc.reason, errs, tc.words)
				}
				n := 0
				for _, p := range w.cloud.Objects(ost.Ports) {
					if marked(p) {
						n++
					}
				}
				if n != tc.ports {
					t.Errorf("%s: %d ports, want %d", tc.reason, n, tc.ports)
				}
				w.remove()
				same(t, "left", w.things(), map[ost.Kind]int{})
			})
		})
	}
}

// RemoveMember takes a machine out of all pools, and says when it cannot yet.
func TestRemoveMember(t *testing.T) {
	inBubble(t, managed(), func(w *world) {
		w.cloud.Set(func(o *ost.Options) { o.Delays.LoadBalancer = 5 * time.Second })
		w.settle()
		w.server("cp-0", fleet.RoleControlPlane, 0)
		w.server("cp-1", fleet.RoleControlPlane, 1)
		w.settle()
		w.cloud.Add("alpha", ost.Members, ost.Object{"name": "cp-0", "address": "192.0.2.1", "protocol_port": 6443, "pool": w.one(ost.Pools, all).ID()})
		part := w.owner().Part("cp-0")
		lb := w.one(ost.LoadBalancers, all).ID()
		w.cloud.Edit(ost.LoadBalancers, lb, func(o ost.Object) { o["provisioning_status"] = "PENDING_UPDATE" })
		if err := network.RemoveMember(w.Context(), w.project, w.snapshot(), part); fleet.KindOf(err) != fleet.Conflict {
			t.Errorf("while the load balancer is pending: %v", err)
		}
		for reason, change := range map[string]func(o ost.Object){
			"in ERROR": func(o ost.Object) { o["provisioning_status"] = "ERROR" },
			"pending for ever": func(o ost.Object) {
				o["provisioning_status"], o["updated_at"] = "PENDING_UPDATE", time.Now().Add(-time.Hour).UTC().Format("2006-01-02T15:04:05")
			},
		} {
			w.cloud.Edit(ost.LoadBalancers, lb, change)
			if err := network.RemoveMember(w.Context(), w.project, w.snapshot(), part); err != nil {
				t.Errorf("while the load balancer is %s: %v, want the machine to go", reason, err)
			}
		}
		w.cloud.Edit(ost.LoadBalancers, lb, func(o ost.Object) { o["provisioning_status"] = "ACTIVE" })
		for range 2 {
			if err := network.RemoveMember(w.Context(), w.project, w.snapshot(), part); err != nil {
				t.Error(err)
			}
			time.Sleep(10 * time.Second)
		}
		var left []string
		for _, m := range w.cloud.Objects(ost.Members) {
			left = append(left, m.String("name")+" "+m.String("address"))
		}
		if got := strings.Join(left, ", "); got != "cp-1 10.6.0.101, cp-0 192.0.2.1" {
			t.Errorf("members %s, want that of cp-1 and the one that has no mark", got)
		}
	})
}
