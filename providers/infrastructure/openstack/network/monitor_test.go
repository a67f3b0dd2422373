package network_test

import (
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack/api"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// TestMonitorAsksWhetherReady: a member whose API server has no etcd, or is not ready, gets
// no connections if the provider of the load balancer can ask. One that answers no
// request without a credential gets them.
func TestMonitorAsksWhetherReady(t *testing.T) {
	connects := []string{"TCP", "", "", ""}
	asks := []string{"HTTPS", "GET", "/readyz", "200,401,403"}
	for provider, want := range map[string][]string{"": asks, "amphora": asks, "octavia": asks, "ovn": connects} {
		t.Run("provider "+provider, func(t *testing.T) {
			spec := managed()
			spec.APIServer.ManagedLoadBalancer.AdditionalPorts = []int32{9345}
			if provider != "" {
				spec.APIServer.ManagedLoadBalancer.Provider = &provider
			}
			inBubble(t, spec, func(w *world) {
				w.settle()
				for _, m := range w.cloud.Objects(ost.Monitors) {
					p, _ := w.cloud.Object(ost.Pools, m.String("pool"))
					want := want
					if p.String("name") != "prod-eu-1-kubeapi-6443" {
						want = connects
					}
					for i, key := range []string{"type", "http_method", "url_path", "expected_codes"} {
						if got := m.String(key); got != want[i] {
							t.Errorf("monitor of pool %s has %s %q, want %q", p.String("name"), key, got, want[i])
						}
					}
				}
				if n := len(w.cloud.Objects(ost.Monitors)); n != 2 {
					t.Errorf("%d monitors, want one for each port", n)
				}
			})
		})
	}
}

// TestMonitorThatConnects: the monitor of a cluster that was made before stays as it is. How
// often it probes follows Git.
func TestMonitorThatConnects(t *testing.T) {
	inBubble(t, managed(), func(w *world) {
		w.settle()
		w.server("cp-0", fleet.RoleControlPlane, 0)
		w.settle()
		id := w.one(ost.Monitors, all).ID()
		w.cloud.Edit(ost.Monitors, id, func(o ost.Object) {
			o["type"], o["http_method"], o["url_path"], o["expected_codes"] = "TCP", nil, nil, nil
		})
		w.restart()
		if st := w.observe(); !st.Ready || len(st.Drift) > 0 {
			t.Errorf("ready %v, drift %q, want nothing to do", st.Ready, st.Drift)
		}
		w.spec.APIServer.ManagedLoadBalancer.Monitor = &api.APIServerLoadBalancerMonitor{Delay: 3, Timeout: 2, MaxRetries: 5, MaxRetriesDown: 3}
		time.Sleep(time.Minute)
		w.settle()
		if m := w.one(ost.Monitors, all); m.ID() != id || m.String("type") != "TCP" || m.Int("delay") != 3 {
			t.Errorf("monitor %v, want the one that was there, with a delay of 3 s", m)
		}
	})
}
