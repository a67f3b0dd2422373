package network_test

import (
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	"fairlead.dev/providers/infrastructure/openstack/network"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// A cluster gets ready on a Neutron without tags, which Git asks for.
func TestNoTags(t *testing.T) {
	spec := managed()
	spec.Tags = []string{"blue"}
	inBubble(t, spec, func(w *world) {
		w.cloud.Set(func(o *ost.Options) { o.WithoutExtensions = []string{"standard-attr-tag"} })
		w.settle()
		if got := w.one(ost.LoadBalancers, all).Strings("tags"); len(got) != 1 || got[0] != "blue" {
			t.Errorf("tags of the load balancer %q, want blue: Octavia has its own", got)
		}
		for _, c := range w.client.Calls() {
			if strings.HasSuffix(c.Path, "/tags") {
				t.Errorf("call %s %s, want none for what Neutron does not have", c.Method, c.Path)
			}
		}
	})
}

// With the provider ovn a cluster gets ready; what ovn does not have is refused in
// its words.
func TestOVN(t *testing.T) {
	spec := managed()
	spec.APIServer.ManagedLoadBalancer = balancer()
	spec.APIServer.ManagedLoadBalancer.Provider = ptr("ovn")
	inBubble(t, spec, func(w *world) {
		w.settle()
		if got := w.one(ost.Pools, all).String("lb_algorithm"); got != "SOURCE_IP_PORT" {
			t.Errorf("algorithm %s", got)
		}
		spec.APIServer.ManagedLoadBalancer.AllowedCIDRs = []string{"192.0.2.0/24"}
		if _, errs := w.work(); len(errs) == 0 || !strings.Contains(errs[0].Error(), "OVN provider does not support allowed_cidrs option") {
			t.Errorf("allowed CIDRs: %v, want what ovn says", errs)
		}
	})
}

// A running cluster whose network is not there gets no other: machines are on none
// but theirs.
func TestNetworkLost(t *testing.T) {
	inBubble(t, managed(), func(w *world) {
		w.settle()
		w.server("cp-0", fleet.RoleControlPlane, 0)
		w.settle()
		w.cloud.Edit(ost.Networks, w.one(ost.Networks, marked).ID(), func(o ost.Object) { o["description"] = "" })
		st, _ := w.work()
		if n := len(w.cloud.Objects(ost.Networks)); n != 2 {
			t.Errorf("%d networks, want the external one and that of the cluster (%s, drift %q)", n, st.Message, st.Drift)
		}
	})
}

// The floating IP of the API server leaves a machine before it goes, for one that a
// rollout takes late and that has joined.
func TestHandOver(t *testing.T) {
	for reason, tc := range map[string]struct {
		templates []string // of cp-0, which goes, and the others, the oldest first
		want      string
	}{
		"nothing to roll":      {[]string{"new", "new", "new"}, "cp-1-0"},
		"outdated ones":        {[]string{"old", "old", "old", "new"}, "cp-2-0"},
		"the last but one":     {[]string{"old", "old", "new", "new"}, "cp-2-0"},
		"one that just joined": {[]string{"old", "old", "new"}, "cp-1-0"},
		"nobody else":          {[]string{"old"}, "cp-0-0"},
		"an older Fairlead's":  {[]string{"old", "old", "0-same", "0-same"}, "cp-2-0"},
	} {
		t.Run(reason, func(t *testing.T) {
			inBubble(t, withoutBalancer(nil), func(w *world) {
				w.settle()
				w.cluster.ControlPlane.Template, w.cluster.ControlPlane.Former = "new", []fleet.TemplateHash{"0-same"}
				for i, template := range tc.templates {
					name := "cp-" + string(rune('0'+i))
					w.server(name, fleet.RoleControlPlane, i)
					w.cloud.Edit(ost.Servers, w.one(ost.Servers, named(name)).ID(), func(o ost.Object) {
						o["metadata"].(map[string]string)["fairlead.dev:template"] = template //nolint:forcetypeassert // as server makes it
					})
					w.settle()
				}
				on := func() string {
					p, _ := w.cloud.Object(ost.Ports, w.one(ost.FloatingIPs, all).String("port_id"))
					return p.String("name")
				}
				if got := on(); got != "cp-0-0" {
					t.Fatalf("at first on %s, want cp-0", got)
				}
				if err := network.HandOver(w.Context(), w.project, w.snapshot(), w.cluster, w.spec, "cp-0"); err != nil || on() != tc.want {
					t.Errorf("on %s, %v, want %s", on(), err, tc.want)
				}
			})
		})
	}
}

// The floating IP leaves a machine that somebody else deletes, and none whose server
// lost its mark.
func TestFloatingIPLeaves(t *testing.T) {
	for reason, tc := range map[string]struct {
		change func(o ost.Object)
		want   string
	}{
		"deleted":   {func(o ost.Object) { o["OS-EXT-STS:task_state"] = "deleting" }, "cp-1-0"},
		"lost mark": {func(o ost.Object) { o["metadata"] = ost.Object{} }, "cp-0-0"},
	} {
		t.Run(reason, func(t *testing.T) {
			inBubble(t, withoutBalancer(nil), func(w *world) {
				w.settle()
				w.server("cp-0", fleet.RoleControlPlane, 0)
				w.settle()
				w.server("cp-1", fleet.RoleControlPlane, 1)
				w.settle()
				w.cloud.Edit(ost.Servers, w.one(ost.Servers, named("cp-0")).ID(), tc.change)
				w.work()
				p, _ := w.cloud.Object(ost.Ports, w.one(ost.FloatingIPs, all).String("port_id"))
				if got := p.String("name"); got != tc.want {
					t.Errorf("on %s, want %s", got, tc.want)
				}
			})
		})
	}
}

// A deletion says what it waits for.
func TestDeletionTells(t *testing.T) {
	inBubble(t, managed(), func(w *world) {
		w.settle()
		time.Sleep(time.Minute)
		w.cluster.Delete = true
		if st := w.observe(); !strings.HasPrefix(st.Message, "still to do: remove ") {
			t.Errorf("at first: %q", st.Message)
		}
		lb := w.one(ost.LoadBalancers, all).ID()
		w.cloud.Edit(ost.LoadBalancers, lb, func(o ost.Object) { o["provisioning_status"] = "PENDING_UPDATE" })
		_ = network.Delete(w.Context(), w.project, w.snapshot(), w.owner())
		if st := w.observe(); st.Message != "load balancer prod-eu-1-kubeapi is PENDING_UPDATE" {
			t.Errorf("while the load balancer is stuck: %q", st.Message)
		}
		w.cloud.Edit(ost.LoadBalancers, lb, func(o ost.Object) { o["provisioning_status"] = "ACTIVE" })
		w.cloud.Add("alpha", ost.Ports, ost.Object{"name": "m-0-0", "description": cloud.FormatOwner("", w.owner().Part("m-0"))})
		_ = network.Delete(w.Context(), w.project, w.snapshot(), w.owner())
		time.Sleep(time.Minute)
		if st := w.observe(); st.Message != "ports of machines are there" {
			t.Errorf("with a port of a machine: %q", st.Message)
		}
	})
}

// A subnet of the cluster in a network that lost its mark goes with the cluster: Neutron takes its
// own ports with it. A port of others keeps it, and is named.
func TestStrandedSubnetGoes(t *testing.T) {
	inBubble(t, managed(), func(w *world) {
		st := w.settle()
		n, s := st.Place.Network, st.Place.Subnets[0]
		w.cloud.Edit(ost.Networks, n, func(o ost.Object) { o["description"] = "" })
		add := func(owner, ip string) string {
			return w.cloud.Add("alpha", ost.Ports, ost.Object{"network_id": n, "device_owner": owner, "device_id": "x", "fixed_ips": []ost.Object{{"subnet_id": s, "ip_address": ip}}})
		}
		add("network:dhcp", "10.6.0.2")
		theirs := add("compute:az1", "10.6.0.3")
		w.cluster.Delete = true
		for range 20 {
			_ = network.Delete(w.Context(), w.project, w.snapshot(), w.owner())
		}
		if st := w.observe(); !st.Exists || st.Message != "subnet 10.6.0.0/24 ("+s+") has port "+theirs+" of compute:az1 (remove that port)" {
			t.Errorf("exists %v, message %q", st.Exists, st.Message)
		}
		w.cloud.Remove(ost.Ports, theirs)
		w.remove()
	})
}
