package network_test

import (
	"testing"

	"fairlead.dev/fleet"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// A cluster with all that is managed, from nothing to nothing.
func TestLife(t *testing.T) {
	inBubble(t, managed(), func(w *world) {
		if st := w.observe(); st.Exists || st.Ready {
			t.Fatalf("in an empty project: %+v", st)
		}
		st := w.settle()
		same(t, "made", w.things(), map[ost.Kind]int{
			ost.Networks: 1, ost.Subnets: 1, ost.Routers: 1, ost.Ports: 4, ost.SecurityGroups: 2,
			ost.FloatingIPs: 1, ost.LoadBalancers: 1, ost.Listeners: 1, ost.Pools: 1, ost.Monitors: 1,
		})
		fip := w.one(ost.FloatingIPs, all)
		if want := (fleet.Endpoint{Host: fip.String("floating_ip_address"), Port: 6443}); st.Endpoint != want {
			t.Errorf("endpoint %v, want %v", st.Endpoint, want)
		}
		first := w.server("cp-0", fleet.RoleControlPlane, 0)
		w.server("cp-1", fleet.RoleControlPlane, 1)
		w.server("md-0", fleet.RoleWorker, 2)
		if st := w.observe(); !st.Ready || len(st.Drift) != 2 {
			t.Errorf("with new machines: ready %v, drift %q", st.Ready, st.Drift)
		}
		w.settle()
		if n := len(w.cloud.Objects(ost.Members)); n != 2 {
			t.Errorf("%d members, want 2", n)
		}
		w.unserve("cp-1")
		w.settle()
		if m := w.one(ost.Members, all); m.String("address") != first {
			t.Errorf("member %s, want %s", m.String("address"), first)
		}
		w.unserve("cp-0")
		w.unserve("md-0")
		w.remove()
		same(t, "left", w.things(), map[ost.Kind]int{})
	})
}
