package network_test

import (
	"slices"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack/api"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// TestPortsOfTheDistribution: a port that the distribution has, where machines of RKE2 join,
// is let in on servers and led there by the load balancer, with nothing about it in Git.
func TestPortsOfTheDistribution(t *testing.T) {
	without := managed()
	without.APIServer = nil
	same9345 := managed()
	same9345.APIServer.ManagedLoadBalancer.AdditionalPorts = []int32{9345}
	for reason, tc := range map[string]struct {
		spec      *api.OpenStackClusterSpec
		listeners []int
	}{
		"a load balancer":              {managed(), []int{6443, 9345}},
		"the same port in Git as well": {same9345, []int{6443, 9345}},
		"no load balancer":             {without, nil},
	} {
		t.Run(reason, func(t *testing.T) {
			inBubble(t, tc.spec, func(w *world) {
				w.cluster.ControlPlane.Ports = []int32{9345}
				w.settle()
				address := w.server("cp-0", fleet.RoleControlPlane, 0)
				w.settle()
				if got := portsOf(w, ost.Listeners); !slices.Equal(got, tc.listeners) {
					t.Errorf("listeners on %v, want %v", got, tc.listeners)
				}
				if got := portsOf(w, ost.Members); !slices.Equal(got, tc.listeners) {
					t.Errorf("members are reached at %v, want %v", got, tc.listeners)
				}
				for _, m := range w.cloud.Objects(ost.Members) {
					if m.String("address") != address {
						t.Errorf("member %v, want it at %s", m, address)
					}
				}
				rule := w.one(ost.SecurityGroupRules, func(o ost.Object) bool { return o.Int("port_range_min") == 9345 })
				group := w.one(ost.SecurityGroups, func(o ost.Object) bool { return o.ID() == rule.String("security_group_id") })
				if rule.Int("port_range_max") != 9345 || rule.String("direction") != "ingress" || rule.String("remote_group_id") != "" ||
					group.String("name") != w.one(ost.SecurityGroups, func(o ost.Object) bool { return holdsEtcd(w, o.ID()) }).String("name") {
					t.Errorf("rule %v of group %v, want the port let into the group of servers", rule, group)
				}
				w.unserve("cp-0")
				w.remove()
				same(t, "left", w.things(), map[ost.Kind]int{})
			})
		})
	}
}

// holdsEtcd reports whether the group with an id lets members of etcd in: it is that of
// servers.
func holdsEtcd(w *world, id string) bool {
	return slices.ContainsFunc(w.cloud.Objects(ost.SecurityGroupRules), func(o ost.Object) bool {
		return o.String("security_group_id") == id && o.Int("port_range_min") == 2379
	})
}

// portsOf returns the ports of listeners, or of members.
func portsOf(w *world, k ost.Kind) []int {
	var out []int
	for _, o := range w.cloud.Objects(k) {
		out = append(out, o.Int("protocol_port"))
	}
	slices.Sort(out)
	return out
}
