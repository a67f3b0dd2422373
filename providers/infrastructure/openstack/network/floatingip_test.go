package network_test

import (
	"testing"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// TestKnownFloatingIPIsNoSurplus: of two floating IPs of a cluster that are on nothing, the one
// that the machines know stays, and comes back to the API server.
func TestKnownFloatingIPIsNoSurplus(t *testing.T) {
	inBubble(t, managed(), func(w *world) {
		w.settle()
		w.server("cp-0", fleet.RoleControlPlane, 0)
		was := w.settle()
		w.cluster.Residence = fleet.Residence{Endpoint: was.Endpoint, ControlPlane: fleet.InitializedOnce}
		known := w.one(ost.FloatingIPs, all)
		older := w.cloud.Add("alpha", ost.FloatingIPs, ost.Object{
			"floating_network_id": known["floating_network_id"], "floating_ip_address": "198.18.0.77", "description": cloud.FormatOwner("API server", w.owner()),
		})
		w.cloud.Edit(ost.FloatingIPs, older, func(o ost.Object) { o["created_at"] = time.Now().Add(-time.Hour).UTC().Format(time.RFC3339) })
		w.cloud.Edit(ost.FloatingIPs, known.ID(), func(o ost.Object) { o["port_id"], o["fixed_ip_address"] = nil, nil })
		st := w.settle()
		if left := w.one(ost.FloatingIPs, all); left.ID() != known.ID() || left.String("port_id") == "" || st.Endpoint != was.Endpoint {
			t.Errorf("endpoint %v, floating IP %v; want %v with the address that the machines know", st.Endpoint, left, was.Endpoint)
		}
	})
}

// TestFloatingIPBehindNamedHost: a floating IP that people put on the load balancer, or on a
// device of theirs, and that Git names as the host, is theirs: nothing is told of it or done to it.
func TestFloatingIPBehindNamedHost(t *testing.T) {
	for name, on := range map[string]func(w *world) string{
		"on the load balancer": func(w *world) string { return w.one(ost.LoadBalancers, all).String("vip_port_id") },
		"on their device":      func(w *world) string { return w.cloud.Add("alpha", ost.Ports, ost.Object{"name": "haproxy"}) },
	} {
		t.Run(name, func(t *testing.T) {
			spec := managed()
			spec.APIServer.EnableFloatingIP = ptr(false)
			spec.ControlPlaneEndpoint = &clusterv1.APIEndpoint{Host: "198.18.0.99", Port: 6443}
			inBubble(t, spec, func(w *world) {
				w.settle()
				id := w.cloud.Add("alpha", ost.FloatingIPs, ost.Object{"floating_network_id": w.one(ost.Networks, named(ost.External)).ID(), "floating_ip_address": "198.18.0.99", "port_id": on(w)})
				w.server("cp-0", fleet.RoleControlPlane, 0)
				w.settle()
				w.cluster.Residence = fleet.Residence{Endpoint: fleet.Endpoint{Host: "198.18.0.99", Port: 6443}, ControlPlane: fleet.InitializedOnce}
				before, _ := w.cloud.Object(ost.FloatingIPs, id)
				if st := w.observe(); !st.Ready || len(st.Drift) > 0 || st.Endpoint.Host != "198.18.0.99" {
					t.Errorf("ready %v, drift %q, endpoint %v", st.Ready, st.Drift, st.Endpoint)
				}
				_ = w.ensure()
				if after, _ := w.cloud.Object(ost.FloatingIPs, id); after.String("port_id") != before.String("port_id") {
					t.Errorf("the floating IP was moved to %s", after.String("port_id"))
				}
			})
		})
	}
}

// TestFloatingIPOnOthersDevice: a floating IP by which machines know the API server, and that is
// on a device of people, is not said to be of the cluster.
func TestFloatingIPOnOthersDevice(t *testing.T) {
	spec := managed()
	spec.APIServer = &api.APIServer{EnableFloatingIP: ptr(false), FixedIP: ptr("10.6.0.9")}
	inBubble(t, spec, func(w *world) {
		w.settle()
		w.server("cp-0", fleet.RoleControlPlane, 0)
		w.settle()
		port := w.cloud.Add("alpha", ost.Ports, ost.Object{"name": "haproxy"})
		w.cloud.Add("alpha", ost.FloatingIPs, ost.Object{"floating_network_id": w.one(ost.Networks, named(ost.External)).ID(), "floating_ip_address": "198.18.0.99", "port_id": port})
		w.cluster.Residence = fleet.Residence{Endpoint: fleet.Endpoint{Host: "198.18.0.99", Port: 6443}, ControlPlane: fleet.InitializedOnce}
		if st := w.observe(); !st.Ready || len(st.Drift) > 0 || st.Endpoint.Host != "10.6.0.9" {
			t.Errorf("ready %v, drift %q, endpoint %v", st.Ready, st.Drift, st.Endpoint)
		}
	})
}
