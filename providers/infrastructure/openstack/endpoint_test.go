package openstack_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack/api"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// jam leaves the load balancer in PENDING_UPDATE for good: the worker of Octavia died that
// was to change it. It goes on forwarding.
func (w *world) jam() {
	w.cloud.Edit(ost.LoadBalancers, w.cloud.Objects(ost.LoadBalancers)[0].ID(), func(o ost.Object) {
		o["provisioning_status"], o["updated_at"] = "PENDING_UPDATE", time.Now().UTC().Format("2006-01-02T15:04:05")
	})
}

// behind returns the machines that the load balancer leads to, sorted.
func (w *world) behind() (out []string) {
	for _, m := range w.cloud.Objects(ost.Members) {
		for _, s := range w.cloud.Objects(ost.Servers) {
			if s.String("name") == m.String("name") {
				out = append(out, s.String("name"))
			}
		}
	}
	slices.Sort(out)
	return out
}

func (w *world) controlPlaneID(n int) fleet.ProviderID {
	w.Helper()
	for _, m := range w.observe().Machines {
		if m.Name == w.controlPlaneName(n) {
			return m.ProviderID
		}
	}
	w.Fatalf("machine %s is not there", w.controlPlaneName(n))
	return ""
}

// A control plane is rolled behind a load balancer that takes no change: no machine leaves
// etcd and none is deleted as long as one that stays is not behind it.
func TestStuckLoadBalancerKeepsMachines(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		w.settle()
		for n := range 3 {
			w.mustCreateControlPlane(n)
		}
		time.Sleep(time.Minute)
		w.settle()
		before := w.behind()
		w.jam()
		time.Sleep(2 * tick)
		w.wantError("LeaveEndpoint", w.provider.LeaveEndpoint(w.Context(), &w.cluster, w.controlPlaneName(0), w.controlPlaneID(0)), fleet.Conflict, "prod-eu-1-kubeapi is PENDING_UPDATE")
		w.mustCreateControlPlane(3)
		for _, after := range []time.Duration{time.Minute, 20 * time.Minute} {
			time.Sleep(after)
			_ = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster)
			got := w.observe()
			told := slices.ContainsFunc(got.Drift, func(d string) bool { return strings.Contains(d, "openstack loadbalancer failover") })
			if !got.Ready || told != (after > 15*time.Minute) {
				t.Errorf("after %s: ready %v (%s), drift %q", after, got.Ready, got.Message, got.Drift)
			}
			id := w.controlPlaneID(0)
			w.wantError("LeaveEndpoint", w.provider.LeaveEndpoint(w.Context(), &w.cluster, w.controlPlaneName(0), id), fleet.Conflict, string(w.controlPlaneName(3)), "PENDING_UPDATE")
			w.wantError("DeleteMachine", w.provider.DeleteMachine(w.Context(), "op", &w.cluster, w.controlPlaneName(0), id), fleet.Conflict, string(w.controlPlaneName(3)))
		}
		if got := w.behind(); !slices.Equal(got, before) {
			t.Errorf("behind the load balancer: %q, want still %q", got, before)
		}
		w.cloud.Edit(ost.Servers, w.serverNamed(w.controlPlaneName(3)).ID(), func(o ost.Object) { o["status"] = "SHUTOFF" })
		time.Sleep(2 * tick)
		if err := w.provider.LeaveEndpoint(w.Context(), &w.cluster, w.controlPlaneName(0), w.controlPlaneID(0)); err != nil {
			t.Errorf("a machine that does not run keeps the others: %v", err)
		}
		if err := w.provider.DeleteMachine(w.Context(), "op", &w.cluster, w.controlPlaneName(3), w.controlPlaneID(3)); err != nil {
			t.Errorf("a machine that nothing leads to stays: %v", err)
		}
		time.Sleep(time.Minute)
		if err := w.provider.LeaveEndpoint(w.Context(), &w.cluster, w.controlPlaneName(0), w.controlPlaneID(0)); err != nil {
			t.Errorf("where each machine that stays is behind the load balancer: %v", err)
		}
	})
}

// A machine leaves the load balancer before it leaves etcd. It is led to again where it is
// not deleted after all, and by an agent that starts.
func TestMachineLeavesLoadBalancerFirst(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		w.settle()
		for n := range 2 {
			w.mustCreateControlPlane(n)
		}
		time.Sleep(time.Minute)
		w.settle()
		id, both := w.controlPlaneID(0), w.behind()
		leave := func() {
			t.Helper()
			if err := w.provider.LeaveEndpoint(w.Context(), &w.cluster, w.controlPlaneName(0), id); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				time.Sleep(10 * time.Second)
				w.settle()
			}
			if got := w.behind(); len(got) != 1 || got[0] != string(w.controlPlaneName(1)) {
				t.Errorf("behind the load balancer: %q, want the one that stays", got)
			}
		}
		leave()
		time.Sleep(15 * time.Minute)
		w.settle()
		time.Sleep(10 * time.Second)
		if got := w.behind(); !slices.Equal(got, both) {
			t.Errorf("long after a removal that was called off: %q, want %q", got, both)
		}
		leave()
		w.restart()
		w.settle()
		time.Sleep(10 * time.Second)
		if got := w.behind(); !slices.Equal(got, both) {
			t.Errorf("after a restart: %q, want %q", got, both)
		}
		if err := w.provider.DeleteMachine(w.Context(), "op", &w.cluster, w.controlPlaneName(0), id); err != nil {
			t.Error(err)
		}
	})
}

// The floating IP of the API server goes to a machine that stays before the one that has it
// leaves etcd, and stays there whatever follows. Where none can take it nothing goes.
func TestFloatingIPLeavesFirst(t *testing.T) {
	spec := clusterSpec()
	spec.APIServer = &api.APIServer{}
	inBubble(t, spec, machineSpec(), func(w *world) {
		w.settle()
		w.mustCreateControlPlane(0)
		time.Sleep(time.Minute)
		w.settle()
		on := func() fleet.MachineName {
			t.Helper()
			w.settle()
			for _, f := range w.cloud.Objects(ost.FloatingIPs) {
				p, _ := w.cloud.Object(ost.Ports, f.String("port_id"))
				s, _ := w.cloud.Object(ost.Servers, p.String("device_id"))
				return fleet.MachineName(s.String("name"))
			}
			return ""
		}
		leave := func() error {
			return w.provider.LeaveEndpoint(w.Context(), &w.cluster, w.controlPlaneName(0), w.controlPlaneID(0))
		}
		if err := leave(); err != nil || on() != w.controlPlaneName(0) {
			t.Errorf("the only machine: %v, on %q", err, on())
		}
		w.mustCreateControlPlane(1)
		time.Sleep(time.Minute)
		network := w.cloud.Inject(ost.Fault{Method: "PUT", Service: "network", Status: 500})
		if err := leave(); err == nil {
			t.Error("the floating IP could not be moved, and the machine may leave etcd")
		}
		network()
		time.Sleep(time.Minute)
		if err := leave(); err != nil || on() != w.controlPlaneName(1) {
			t.Errorf("with another: %v, on %q", err, on())
		}
		w.restart() // before the member left etcd, or its machine went
		if got := on(); got != w.controlPlaneName(1) {
			t.Errorf("after a restart on %q, want it to stay", got)
		}
	})
}

// TestFloatingIPLeavesTwice: where two machines are deleted one right after the other, the floating IP
// goes to the one that stays, though a listing may be good enough for the second that lacks the deletion
// of the first.
func TestFloatingIPLeavesTwice(t *testing.T) {
	spec := clusterSpec()
	spec.APIServer = &api.APIServer{}
	for gone := range 3 {
		inBubble(t, spec, machineSpec(), func(w *world) {
			w.settle()
			for n := range 3 {
				w.mustCreateControlPlane(n)
			}
			time.Sleep(time.Minute)
			w.settle()
			on := func() (fleet.MachineName, fleet.ProviderID) {
				for _, f := range w.cloud.Objects(ost.FloatingIPs) {
					p, _ := w.cloud.Object(ost.Ports, f.String("port_id"))
					s, _ := w.cloud.Object(ost.Servers, p.String("device_id"))
					return fleet.MachineName(s.String("name")), fleet.ProviderID("openstack:///" + s.ID())
				}
				return "", ""
			}
			first := w.controlPlaneName(gone)
			if err := w.provider.DeleteMachine(w.Context(), "op", &w.cluster, first, w.controlPlaneID(gone)); err != nil {
				t.Fatal(err)
			}
			second, id := on()
			if err := w.provider.DeleteMachine(w.Context(), "op", &w.cluster, second, id); err != nil {
				t.Fatal(err)
			}
			if third, _ := on(); first == second || third == "" || third == first || third == second {
				t.Errorf("%q is gone, the floating IP was on %q and is on %q", first, second, third)
			}
		})
	}
}

// TestFloatingIPKeepsItsMachine: a machine with the floating IP of the API server is not deleted
// as long as the address cannot go to one that stays.
func TestFloatingIPKeepsItsMachine(t *testing.T) {
	for name, host := range map[string]string{"at its address": "", "at a name": "api.example.com"} {
		for reason, fault := range map[string]ost.Fault{
			"refused": {Status: 409}, "broken": {Status: 500}, "without an answer": {Cut: ost.Before}, "forbidden": {Status: 403},
		} {
			t.Run(name+", "+reason, func(t *testing.T) {
				spec := clusterSpec()
				spec.APIServer = &api.APIServer{}
				if host != "" {
					spec.APIServer.FloatingIP = ptr("198.18.0.99")
					spec.ControlPlaneEndpoint = &clusterv1.APIEndpoint{Host: host, Port: 6443}
				}
				inBubble(t, spec, machineSpec(), func(w *world) {
					if host != "" {
						w.cloud.Add("alpha", ost.FloatingIPs, ost.Object{"floating_network_id": w.cloud.Objects(ost.Networks)[0].ID(), "floating_ip_address": "198.18.0.99"})
					}
					w.settle()
					w.mustCreateControlPlane(0)
					time.Sleep(time.Minute)
					w.settle()
					w.mustCreateControlPlane(1)
					time.Sleep(time.Minute)
					w.settle()
					remove := func() error {
						return w.provider.DeleteMachine(w.Context(), "op", &w.cluster, w.controlPlaneName(0), w.controlPlaneID(0))
					}
					fault.Method, fault.Service, fault.Path = "PUT", "network", "/floatingips/*"
					end := w.cloud.Inject(fault)
					w.wantError("DeleteMachine", remove(), fleet.Conflict, "floating IP 198.18.")
					end()
					time.Sleep(time.Minute)
					if err := remove(); err != nil {
						t.Error(err)
					}
					time.Sleep(time.Minute)
					port, _ := w.cloud.Object(ost.Ports, w.cloud.Objects(ost.FloatingIPs)[0].String("port_id"))
					if servers := w.cloud.Objects(ost.Servers); len(servers) != 1 || port.String("device_id") != servers[0].ID() {
						t.Errorf("the floating IP is on port %v of servers %v", port, servers)
					}
				})
			})
		}
	}
}

// TestFloatingIPBehindNewName: the floating IP that Fairlead put on a machine goes on following the
// control plane where Git gives the API server a name later.
func TestFloatingIPBehindNewName(t *testing.T) {
	spec := clusterSpec()
	spec.APIServer = &api.APIServer{}
	inBubble(t, spec, machineSpec(), func(w *world) {
		w.settle()
		w.mustCreateControlPlane(0)
		time.Sleep(time.Minute)
		w.settle()
		spec.ControlPlaneEndpoint = &clusterv1.APIEndpoint{Host: "api.example.com", Port: 6443}
		w.spec(spec)
		w.mustCreateControlPlane(1)
		time.Sleep(time.Minute)
		w.settle()
		if err := w.provider.DeleteMachine(w.Context(), "op", &w.cluster, w.controlPlaneName(0), w.controlPlaneID(0)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		got := w.settle()
		port, _ := w.cloud.Object(ost.Ports, w.cloud.Objects(ost.FloatingIPs)[0].String("port_id"))
		if servers := w.cloud.Objects(ost.Servers); len(servers) != 1 || port.String("device_id") != servers[0].ID() || got.Endpoint.Host != "api.example.com" {
			t.Errorf("endpoint %v, the floating IP is on port %v of servers %v", got.Endpoint, port, servers)
		}
		address := w.cloud.Objects(ost.FloatingIPs)[0].ID()
		w.cloud.Edit(ost.FloatingIPs, address, func(o ost.Object) { o["port_id"], o["fixed_ip_address"] = nil, nil }) // its machine was lost
		time.Sleep(2 * tick)
		w.settle()
		if f, _ := w.cloud.Object(ost.FloatingIPs, address); f.String("port_id") == "" {
			t.Error("the floating IP is on no machine")
		}
	})
}
