package network_test

import (
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	"fairlead.dev/providers/infrastructure/openstack/network"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// Before the first machine a floating IP can be corrected in Git.
func TestCorrected(t *testing.T) {
	inBubble(t, managed(), func(w *world) {
		w.settle()
		w.spec.APIServer.FloatingIP = ptr("198.18.0.99")
		w.cloud.Add("alpha", ost.FloatingIPs, ost.Object{
			"floating_ip_address": "198.18.0.99", "floating_network_id": w.one(ost.Networks, named(ost.External)).ID(),
		})
		if st := w.settle(); st.Endpoint.Host != "198.18.0.99" || len(w.cloud.Objects(ost.FloatingIPs)) != 1 {
			t.Errorf("endpoint %v, floating IPs %v", st.Endpoint, w.cloud.Objects(ost.FloatingIPs))
		}
	})
}

// A subnet that is connected to a router other than the one that Git names.
func TestConnectedElsewhere(t *testing.T) {
	spec := managed()
	inBubble(t, spec, func(w *world) {
		w.settle()
		w.server("cp-0", fleet.RoleControlPlane, 0)
		w.cloud.Add("alpha", ost.Routers, ost.Object{"name": "edge"})
		spec.Router = &api.RouterParam{Filter: &api.RouterFilter{Name: "edge"}}
		st, errs := w.work()
		if !st.Ready || !strings.Contains(strings.Join(st.Drift, "; "), "subnet 10.6.0.0/24 is connected to router") || len(errs) == 0 {
			t.Errorf("ready %v, drift %q, errors %v", st.Ready, st.Drift, errs)
		}
	})
}

// What a pool of floating IPs keeps for the cluster is not this package's.
func TestPool(t *testing.T) {
	inBubble(t, managed(), func(w *world) {
		text := cloud.FormatOwner("floating IP pool edge", w.owner())
		w.cloud.Add("alpha", ost.FloatingIPs, ost.Object{"floating_ip_address": "198.18.0.77", "description": text})
		w.cloud.Add("alpha", ost.Ports, ost.Object{"name": "other", "description": cloud.FormatOwner("other", w.owner())})
		before := w.things()
		if w.observe().Exists {
			t.Error("a floating IP of a pool counts as infrastructure")
		}
		w.settle()
		w.remove()
		same(t, "left", w.things(), before)
		if got := network.Orphans(w.snapshot(), "fleet-a", nil); len(got) != 0 {
			t.Errorf("orphans %v", got)
		}
	})
}

// A rule that is there already, or came since somebody looked, is success.
func TestDuplicateRule(t *testing.T) {
	inBubble(t, managed(), func(w *world) {
		w.settle()
		w.server("cp-0", fleet.RoleControlPlane, 0)
		w.settle()
		var rules []ost.Object
		for _, r := range w.cloud.Objects(ost.SecurityGroupRules) {
			if r.Int("port_range_min") == 10250 || r.Int("port_range_min") == 2379 {
				w.cloud.Remove(ost.SecurityGroupRules, r.ID())
				rules = append(rules, r)
			}
		}
		s := w.snapshot()
		w.cloud.Add("alpha", ost.SecurityGroupRules, rules[0])
		if err := network.Ensure(w.Context(), w.project, s, w.cluster, w.spec); err != nil {
			t.Error(err)
		}
		if st := w.observe(); len(st.Drift) != 0 {
			t.Errorf("drift %q", st.Drift)
		}
	})
}

// A Neutron without the extension says of no network that it has port security:
// security groups work there all the same.
func TestPortSecurity(t *testing.T) {
	inBubble(t, managed(), func(w *world) {
		if st := w.settle(); !st.Place.PortSecurity {
			t.Error("a network is said to have no port security")
		}
		for _, n := range w.cloud.Objects(ost.Networks) {
			w.cloud.Edit(ost.Networks, n.ID(), func(o ost.Object) { delete(o, "port_security_enabled") })
		}
		if st := w.observe(); !st.Place.PortSecurity {
			t.Error("without the extension ports are said to have no security groups")
		}
	})
	spec := managed()
	spec.ManagedNetwork = &api.ManagedNetwork{EnablePortSecurity: ptr(false)}
	inBubble(t, spec, func(w *world) {
		if st := w.settle(); st.Place.PortSecurity {
			t.Error("a network without port security is said to have it")
		}
	})
}

// A provider of load balancers without monitors holds up nothing.
func TestNoMonitor(t *testing.T) {
	inBubble(t, managed(), func(w *world) {
		w.cloud.Inject(ost.Fault{Service: "load-balancer", Method: "POST", Path: "/healthmonitors", Status: 501, Body: `{"faultstring": "Provider 'ovn' does not support a requested action"}`})
		st, errs := w.work()
		if !st.Ready || len(errs) > 0 {
			t.Errorf("ready %v (%s), errors %v", st.Ready, st.Message, errs)
		}
		if len(st.Drift) > 0 {
			t.Errorf("drift %q, want what there is none of not to be asked for again", st.Drift)
		}
	})
}

// Only what is of the family of the load balancer is allowed besides what Git
// names: Octavia refuses the rest.
func TestAllowed(t *testing.T) {
	spec := managed()
	spec.ManagedSubnets = append(spec.ManagedSubnets, api.SubnetSpec{CIDR: "fd00:6::/64"})
	spec.APIServer.ManagedLoadBalancer.AllowedCIDRs = []string{"192.0.2.0/24"}
	inBubble(t, spec, func(w *world) {
		w.settle()
		got := w.one(ost.Listeners, all).Strings("allowed_cidrs")
		if len(got) != 3 || slices.ContainsFunc(got, func(c string) bool { return strings.Contains(c, ":") }) {
			t.Errorf("allowed CIDRs %v", got)
		}
		bastion := w.cloud.Add("alpha", ost.Servers, ost.Object{"name": "bastion", "status": "ACTIVE", "metadata": cloud.Metadata(
			map[string]string{fleet.TagFleet: "fleet-a", fleet.TagCluster: "prod/eu-1", fleet.TagRole: "bastion", fleet.TagMachine: "eu-1-bastion"})})
		st := w.observe()
		port := w.cloud.Add("alpha", ost.Ports, ost.Object{"network_id": st.Place.Network, "device_id": bastion, "fixed_ips": []ost.Object{{"subnet_id": st.Place.Subnets[0], "ip_address": "10.6.0.60"}}})
		w.cloud.Add("alpha", ost.FloatingIPs, ost.Object{"port_id": port, "floating_ip_address": "198.18.0.60"})
		w.settle()
		got = w.one(ost.Listeners, all).Strings("allowed_cidrs")
		for _, want := range []string{"10.6.0.60/32", "198.18.0.60/32"} {
			if !slices.Contains(got, want) {
				t.Errorf("allowed CIDRs %v, want the bastion's %s", got, want)
			}
		}
	})
}

// A cluster stays on the external network that it uses, whatever others there are.
func TestExternalNetworksComeAndGo(t *testing.T) {
	for name, asked := range map[string]*api.NetworkParam{"not named": nil, "named": {Filter: &api.NetworkFilter{Name: ost.External}}} {
		t.Run(name, func(t *testing.T) {
			spec := managed()
			spec.ExternalNetwork = asked
			inBubble(t, spec, func(w *world) {
				before := w.settle()
				w.server("cp-0", fleet.RoleControlPlane, 0)
				w.settle()
				check := func(when string) {
					t.Helper()
					if st := w.observe(); !st.Ready || st.Endpoint != before.Endpoint || st.Place.ExternalNetwork != before.Place.ExternalNetwork {
						t.Errorf("%s: ready %v (%s), endpoint %v, want %v", when, st.Ready, st.Message, st.Endpoint, before.Endpoint)
					}
				}
				w.cloud.Add("admin", ost.Networks, ost.Object{"name": ost.External, "router:external": true})
				check("a second one")
				for _, n := range w.cloud.Objects(ost.Networks) {
					if n.String("name") == ost.External {
						w.cloud.Edit(ost.Networks, n.ID(), func(o ost.Object) { o["router:external"] = false })
					}
				}
				check("none")
			})
		})
	}
}
