package network_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// What changed in Git, or behind everyone's back, shows while machines go on,
// and is mended.
func TestDrift(t *testing.T) {
	rule := func(name string) func(ost.Object) bool {
		return func(o ost.Object) bool { return o.String("description") == name }
	}
	cases := map[string]struct {
		reason string
		change func(w *world)
		drift  string // what the first line of drift holds
		mended func(w *world) bool
	}{
		"rule removed": {
			"etcd needs it",
			func(w *world) {
				w.cloud.Remove(ost.SecurityGroupRules, w.one(ost.SecurityGroupRules, rule("etcd")).ID())
			},
			"add to security group prod-eu-1-controlplane: ingress IPv4 tcp 2379-2380 from group",
			func(w *world) bool { return w.has(ost.SecurityGroupRules, rule("etcd")) },
		},
		"rule added by hand": {
			"Git is all there is",
			func(w *world) {
				g := w.one(ost.SecurityGroups, named("prod-eu-1-worker"))
				w.cloud.Add("alpha", ost.SecurityGroupRules, ost.Object{
					"security_group_id": g.ID(), "direction": "ingress", "ethertype": "IPv4", "protocol": "tcp",
					"port_range_min": 23, "port_range_max": 23, "description": "telnet",
				})
			},
			"remove from security group prod-eu-1-worker: ingress IPv4 tcp 23",
			func(w *world) bool { return !w.has(ost.SecurityGroupRules, rule("telnet")) },
		},
		"rule in Git": {
			"a rule can be added any time",
			func(w *world) {
				w.spec.ManagedSecurityGroups.WorkerNodesSecurityGroupRules = []api.SecurityGroupRuleSpec{
					{Name: "web", Description: ptr("web"), Direction: "ingress", Protocol: ptr("tcp"), PortRangeMin: ptr(int32(80)), PortRangeMax: ptr(int32(80))},
				}
			},
			"add to security group prod-eu-1-worker: ingress IPv4 tcp 80",
			func(w *world) bool { return w.has(ost.SecurityGroupRules, rule("web")) },
		},
		"name servers": {
			"they can change in place",
			func(w *world) { w.spec.ManagedSubnets[0].DNSNameservers = []string{"192.0.2.54"} },
			"give subnet 10.6.0.0/24 the name servers [192.0.2.54]",
			func(w *world) bool {
				return slices.Equal(w.one(ost.Subnets, named("prod-eu-1")).Strings("dns_nameservers"), []string{"192.0.2.54"})
			},
		},
		"allowed CIDRs": {
			"the cluster itself goes on reaching its API server",
			func(w *world) {
				w.spec.APIServer.ManagedLoadBalancer.AllowedCIDRs = []string{"192.0.2.7/24", "198.51.100.1"}
			},
			"let 10.6.0.0/24, 192.0.2.0/24, 198.18.0.",
			func(w *world) bool { return len(w.one(ost.Listeners, all).Strings("allowed_cidrs")) == 4 },
		},
		"additional port": {
			"a listener, a pool and members",
			func(w *world) { w.spec.APIServer.ManagedLoadBalancer.AdditionalPorts = []int32{8132} },
			"add to security group prod-eu-1-controlplane: ingress IPv4 tcp 8132",
			func(w *world) bool {
				return len(w.cloud.Objects(ost.Listeners)) == 2 && len(w.cloud.Objects(ost.Members)) == 2 && len(w.cloud.Objects(ost.Monitors)) == 2
			},
		},
		"monitor": {
			"its times can change in place",
			func(w *world) { w.spec.APIServer.ManagedLoadBalancer.Monitor.Delay = 20 },
			"change the monitor of pool",
			func(w *world) bool { return w.one(ost.Monitors, all).Int("delay") == 20 },
		},
		"monitor gone": {
			"somebody removed it",
			func(w *world) { w.cloud.Remove(ost.Monitors, w.one(ost.Monitors, all).ID()) },
			"make the monitor of pool",
			func(w *world) bool { return w.has(ost.Monitors, all) },
		},
		"member gone": {
			"somebody removed it",
			func(w *world) { w.cloud.Remove(ost.Members, w.one(ost.Members, all).ID()) },
			"add machine cp-0 (10.6.0.100) to pool",
			func(w *world) bool { return w.has(ost.Members, named("cp-0")) },
		},
		"address of a machine": {
			"its port was made again",
			func(w *world) {
				w.cloud.Edit(ost.Ports, w.one(ost.Ports, named("cp-0-0")).ID(), func(o ost.Object) {
					o["fixed_ips"].([]ost.Object)[0]["ip_address"] = "10.6.0.77"
				})
			},
			"add machine cp-0 (10.6.0.77) to pool",
			func(w *world) bool { return w.one(ost.Members, all).String("address") == "10.6.0.77" },
		},
		"machine on its way out": {
			"requests are not led to it any more",
			func(w *world) {
				w.server("cp-1", fleet.RoleControlPlane, 1)
				w.settle()
				w.cloud.Edit(ost.Servers, w.one(ost.Servers, named("cp-1")).ID(), func(o ost.Object) { o["OS-EXT-STS:task_state"] = "deleting" })
			},
			"remove member 10.6.0.101 of machine cp-1",
			func(w *world) bool { return w.one(ost.Members, all).String("name") == "cp-0" },
		},
		"tags": {
			"they are set on what can have them",
			func(w *world) { w.spec.Tags = []string{"team-a"} },
			"tag network prod-eu-1",
			func(w *world) bool {
				return slices.Contains(w.one(ost.SecurityGroups, named("prod-eu-1-worker")).Strings("tags"), "team-a") &&
					slices.Contains(w.one(ost.FloatingIPs, all).Strings("tags"), "team-a")
			},
		},
		"bastion": {
			"it gets a group of its own",
			func(w *world) { w.spec.Bastion = &api.Bastion{} },
			"make security group prod-eu-1-bastion",
			func(w *world) bool { return w.has(ost.SecurityGroupRules, rule("SSH from the bastion")) },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, managed(), func(w *world) {
				w.settle()
				w.server("cp-0", fleet.RoleControlPlane, 0)
				w.settle()
				tc.change(w)
				st := w.observe()
				if !slices.ContainsFunc(st.Drift, func(d string) bool { return strings.HasPrefix(d, tc.drift) }) {
					t.Errorf("%s: drift %q, want %q", tc.reason, st.Drift, tc.drift)
				}
				if !st.Ready {
					t.Errorf("%s: not ready: %s", tc.reason, st.Message)
				}
				w.settle()
				if !tc.mended(w) {
					t.Errorf("%s: not mended", tc.reason)
				}
			})
		})
	}
}

// A change that what exists cannot follow is told, as what waits for Git; what
// exists stays as it is, and machines go on.
func TestImmutable(t *testing.T) {
	cases := map[string]struct {
		change func(s *api.OpenStackClusterSpec)
		words  string
	}{
		"range": {func(s *api.OpenStackClusterSpec) { s.ManagedSubnets[0].CIDR = "10.7.0.0/24" }, "the network has the subnet 10.6.0.0/24"},
		"mtu":   {func(s *api.OpenStackClusterSpec) { s.ManagedNetwork = &api.ManagedNetwork{MTU: ptr(int32(1300))} }, "cannot change managedNetwork.mtu"},
		"security": {func(s *api.OpenStackClusterSpec) {
			s.ManagedNetwork = &api.ManagedNetwork{EnablePortSecurity: ptr(false)}
		}, "cannot change managedNetwork.enablePortSecurity"},
		"provider": {func(s *api.OpenStackClusterSpec) { s.APIServer.ManagedLoadBalancer.Provider = ptr("ovn") }, "is of provider amphora"},
		"port":     {func(s *api.OpenStackClusterSpec) { s.APIServer.Port = ptr(uint16(443)) }, "the machines know it at 6443, Git says 443"},
		"floating": {func(s *api.OpenStackClusterSpec) { s.APIServer.FloatingIP = ptr("203.0.113.99") }, "Git says 203.0.113.99"},
		"fixed":    {func(s *api.OpenStackClusterSpec) { s.APIServer.FixedIP = ptr("10.6.0.9") }, "cannot change apiServer.fixedIP"},
		"external": {func(s *api.OpenStackClusterSpec) {
			s.EnableExternalNetwork, s.APIServer.EnableFloatingIP = ptr(false), ptr(false)
		}, "cannot change enableExternalNetwork"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, managed(), func(w *world) {
				w.settle()
				w.server("cp-0", fleet.RoleControlPlane, 0)
				w.settle()
				before := w.contents()
				tc.change(w.spec)
				st, errs := w.work()
				if !st.Ready || !strings.Contains(strings.Join(st.Drift, "\n"), tc.words) {
					t.Errorf("ready %v, drift %q, want %q (%s)", st.Ready, st.Drift, tc.words, st.Message)
				}
				if len(errs) == 0 || fleet.KindOf(errs[len(errs)-1]) != fleet.Invalid || !strings.Contains(errs[len(errs)-1].Error(), tc.words) {
					t.Errorf("errors %v, want one of kind Invalid with %q", errs, tc.words)
				}
				if d := cmp.Diff(before, w.contents()); d != "" {
					t.Errorf("the cloud was changed (-before +after):\n%s", d)
				}
			})
		})
	}
}

// A load balancer in ERROR is made again where no machine knows it, and failed
// over where the cluster may still be reached through it.
func TestLoadBalancerInError(t *testing.T) {
	fail := func(w *world) string {
		lb := w.one(ost.LoadBalancers, all)
		w.cloud.Edit(ost.LoadBalancers, lb.ID(), func(o ost.Object) {
			o["provisioning_status"], o["updated_at"] = "ERROR", time.Now().UTC().Format("2006-01-02T15:04:05")
		})
		return lb.ID()
	}
	t.Run("new", func(t *testing.T) {
		inBubble(t, managed(), func(w *world) {
			w.settle()
			old := fail(w)
			st := w.observe()
			if st.Ready || !strings.Contains(st.Message, "load balancer prod-eu-1-kubeapi is in ERROR") {
				t.Errorf("ready %v: %q", st.Ready, st.Message)
			}
			if err := w.ensure(); err != nil || w.one(ost.LoadBalancers, all).String("provisioning_status") != "ERROR" {
				t.Errorf("something was done at once, %v", err)
			}
			time.Sleep(time.Minute)
			after := w.settle()
			if w.one(ost.LoadBalancers, all).ID() == old {
				t.Error("the one in ERROR is still there")
			}
			if after.Endpoint != st.Endpoint {
				t.Errorf("endpoint %v, was %v", after.Endpoint, st.Endpoint)
			}
		})
	})
	t.Run("used", func(t *testing.T) {
		inBubble(t, managed(), func(w *world) {
			w.settle()
			w.server("cp-0", fleet.RoleControlPlane, 0)
			w.settle()
			old := fail(w)
			undo := w.cloud.Inject(ost.Fault{Service: "load-balancer", Path: "/loadbalancers/*/failover", Status: 403, Body: `{"faultstring": "Policy does not allow this request to be performed."}`})
			time.Sleep(time.Minute)
			if err := w.ensure(); err != nil {
				t.Errorf("a failover after a minute: %v", err)
			}
			time.Sleep(5 * time.Minute)
			if err := w.ensure(); err == nil || !strings.Contains(err.Error(), "openstack loadbalancer failover "+old) || !strings.Contains(err.Error(), "Policy does not allow") {
				t.Errorf("a refused failover: %v", err)
			}
			undo()
			w.settle()
			if w.one(ost.LoadBalancers, all).ID() != old {
				t.Error("the load balancer was made again")
			}
		})
	})
}

// Of two that a repeated call made the younger goes, and what nothing uses.
func TestTwice(t *testing.T) {
	inBubble(t, managed(), func(w *world) {
		w.settle()
		w.server("cp-0", fleet.RoleControlPlane, 0)
		w.settle()
		want := w.things()
		early := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
		used := w.ids()
		for k, text := range map[ost.Kind]string{ost.Networks: "nodes", ost.Routers: "nodes", ost.SecurityGroups: "worker", ost.FloatingIPs: "API server"} {
			for _, at := range []string{early, time.Now().UTC().Format(time.RFC3339)} {
				id := w.cloud.Add("alpha", k, ost.Object{"name": "twin", "description": cloud.FormatOwner(text, w.owner()), "floating_ip_address": "203.0.113.222"})
				w.cloud.Edit(k, id, func(o ost.Object) { o["created_at"] = at })
			}
		}
		// A group of workers is in use by their ports, as a network is.
		group := w.one(ost.SecurityGroups, named("prod-eu-1-worker")).ID()
		w.cloud.Edit(ost.Ports, w.one(ost.Ports, named("cp-0-0")).ID(), func(o ost.Object) { o["security_groups"] = []string{group} })
		w.settle()
		same(t, "made", w.things(), want)
		for k, ids := range w.ids() {
			if !slices.Equal(ids, used[k]) {
				t.Errorf("%s: %v, want those that are in use, %v", k, ids, used[k])
			}
		}
	})
}

func (w *world) has(k ost.Kind, match func(ost.Object) bool) bool {
	return slices.ContainsFunc(w.cloud.Objects(k), match)
}
