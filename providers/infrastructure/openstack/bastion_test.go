package openstack_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack/api"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

func withBastion(change func(b *api.Bastion)) *api.OpenStackClusterSpec {
	s := clusterSpec()
	s.Bastion = &api.Bastion{Enabled: ptr(true), Spec: machineSpec()}
	change(s.Bastion)
	return s
}

// spec changes what Git says of the cluster.
func (w *world) spec(s *api.OpenStackClusterSpec) {
	w.cluster.Infrastructure = object(w, "OpenStackCluster", "eu-1", w.cloud.CloudsYAML(ost.URL, "alice"), s)
}

func (w *world) bastions() []ost.Object {
	return slices.DeleteFunc(w.cloud.Objects(ost.Servers), func(o ost.Object) bool { return o.String("name") != "eu-1-bastion" })
}

// A bastion comes with its floating IP, is made anew when Git changes it, and
// goes; it is no machine of the cluster.
func TestBastion(t *testing.T) {
	inBubble(t, withBastion(func(*api.Bastion) {}), machineSpec(), func(w *world) {
		if got := w.settle(); len(got.Machines) != 0 {
			w.Errorf("machines %v, want none", got.Machines)
		}
		w.mustCreate(0)
		time.Sleep(20 * time.Second)
		first := w.bastions()
		if len(first) != 1 {
			w.Fatalf("bastions %v, want one", first)
		}
		floating := 0
		for _, f := range w.cloud.Objects(ost.FloatingIPs) {
			if strings.HasSuffix(f.String("description"), " machine=eu-1-bastion]") && f.String("port_id") != "" {
				floating++
			}
		}
		if floating != 1 {
			w.Errorf("%d floating IPs of the bastion, want 1", floating)
		}
		w.spec(withBastion(func(b *api.Bastion) { b.AvailabilityZone = ptr("az3") }))
		if got := w.observe().Drift; !slices.Contains(got, "remove bastion eu-1-bastion") {
			w.Errorf("drift %q, want the bastion to go", got)
		}
		w.calm()
		w.calm()
		second := w.bastions()
		if len(second) != 1 || second[0].ID() == first[0].ID() || second[0].String("OS-EXT-AZ:availability_zone") != "az3" {
			w.Errorf("bastions %v, want another in az3", second)
		}
		w.spec(withBastion(func(b *api.Bastion) { b.Enabled = ptr(false) }))
		w.calm()
		w.calm()
		if left := slices.DeleteFunc(w.mine(), func(s string) bool { return !strings.Contains(s, "bastion") }); len(left) > 1 {
			w.Errorf("left of the bastion: %q", left)
		}
		w.wantParts(0, "ports", "servers")
		w.spec(withBastion(func(*api.Bastion) {}))
		w.calm()
		w.remove()
		if left := w.mine(); len(left) > 0 {
			w.Errorf("left: %q", left)
		}
	})
}

// The floating IP that the user named stays.
func TestBastionWithGivenAddress(t *testing.T) {
	inBubble(t, withBastion(func(b *api.Bastion) { b.FloatingIP = ptr("198.18.0.99") }), machineSpec(), func(w *world) {
		id := w.cloud.Add("alpha", ost.FloatingIPs, ost.Object{
			"floating_network_id": w.cloud.Objects(ost.Networks)[0].ID(), "floating_ip_address": "198.18.0.99",
		})
		time.Sleep(2 * tick)
		w.calm()
		if o, _ := w.cloud.Object(ost.FloatingIPs, id); o.String("port_id") == "" {
			w.Error("the floating IP is attached to nothing")
		}
		w.remove()
		if o, ok := w.cloud.Object(ost.FloatingIPs, id); !ok || o.String("port_id") != "" {
			w.Errorf("floating IP %v, %v, want it detached", o, ok)
		}
		if left := w.mine(); len(left) > 0 {
			w.Errorf("left: %q", left)
		}
	})
}

// A bastion that fails does not keep machines from being made.
func TestBastionFails(t *testing.T) {
	inBubble(t, withBastion(func(*api.Bastion) {}), machineSpec(), func(w *world) {
		w.cloud.Set(func(o *ost.Options) {
			o.FailServer = func(s ost.Object) string {
				if s.String("name") == "eu-1-bastion" {
					return "No valid host was found."
				}
				return ""
			}
		})
		w.settle()
		time.Sleep(20 * time.Second)
		w.mustCreate(0)
		w.await(0, fleet.MachineRunning)
		first := w.bastions()
		if len(first) != 1 || first[0].String("status") != "ERROR" {
			w.Fatalf("bastions %v, want one in ERROR", first)
		}
		w.cloud.Set(func(o *ost.Options) { o.FailServer = nil })
		time.Sleep(6 * time.Minute)
		w.calm()
		w.calm()
		if now := w.bastions(); len(now) != 1 || now[0].String("status") != "ACTIVE" {
			w.Errorf("bastions %v, want a new one", now)
		}
	})
}

// A floating IP that a bastion names and that was made for something else of the
// cluster is not taken.
func TestBastionTakesNoOthersFloatingIP(t *testing.T) {
	for reason, description := range map[string]string{
		"a pool":  "floating IP pool nodes [fairlead.dev fleet=fleet-a cluster=prod/eu-1]",
		"another": "API server [fairlead.dev fleet=fleet-a cluster=prod/eu-2]",
	} {
		t.Run(reason, func(t *testing.T) {
			inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
				w.settle()
				id := w.cloud.Add("alpha", ost.FloatingIPs, ost.Object{"floating_ip_address": "198.18.0.77", "description": description, "floating_network_id": w.cloud.Objects(ost.Networks)[0].ID()})
				w.spec(withBastion(func(b *api.Bastion) { b.FloatingIP = ptr("198.18.0.77") }))
				var err error
				for range 5 { // its security group comes first
					time.Sleep(2 * tick)
					err = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster)
				}
				if o, ok := w.cloud.Object(ost.FloatingIPs, id); !ok || o.String("port_id") != "" {
					w.Errorf("floating IP %v, %v, want it left alone", o, err)
				}
				w.wantError("EnsureInfrastructure", err, fleet.Conflict, "made for something else")
			})
		})
	}
}

// bastionGroups returns the names of the security groups that the port of the bastion is in.
func (w *world) bastionGroups() (out []string) {
	for _, p := range w.cloud.Objects(ost.Ports) {
		if p.String("name") != "eu-1-bastion-0" {
			continue
		}
		for _, id := range p.Strings("security_groups") {
			g, _ := w.cloud.Object(ost.SecurityGroups, id)
			out = append(out, g.String("name"))
		}
	}
	return out
}

// TestBastionWaitsForItsGroup: a bastion that a cluster gets later is made in its security
// group, whose rules let people in.
func TestBastionWaitsForItsGroup(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		w.settle()
		w.mustCreate(0)
		w.await(0, fleet.MachineRunning)
		w.spec(withBastion(func(*api.Bastion) {}))
		w.calm()
		if got := w.bastionGroups(); !slices.Equal(got, []string{"prod-eu-1-bastion"}) {
			t.Errorf("the bastion is in the groups %q, want its own", got)
		}
	})
}

// TestBastionIsKeptUpWithoutEndpoint: what is wrong with the load balancer of the API server
// keeps no bastion from being made, replaced or removed.
func TestBastionIsKeptUpWithoutEndpoint(t *testing.T) {
	inBubble(t, withBastion(func(*api.Bastion) {}), machineSpec(), func(w *world) {
		w.settle()
		w.mustCreate(0)
		w.await(0, fleet.MachineRunning)
		first := w.bastions()
		w.cloud.Edit(ost.LoadBalancers, w.cloud.Objects(ost.LoadBalancers)[0].ID(), func(o ost.Object) {
			o["provisioning_status"], o["updated_at"] = "ERROR", time.Now().UTC().Format("2006-01-02T15:04:05")
		})
		w.cloud.Inject(ost.Fault{Service: "load-balancer", Path: "/loadbalancers/*/failover", Status: 403})
		work := func() {
			t.Helper()
			for range 8 {
				time.Sleep(2 * tick)
				if w.observe().Ready {
					t.Fatal("the cluster is ready without its load balancer")
				}
				_ = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster)
			}
		}
		w.spec(withBastion(func(b *api.Bastion) { b.AvailabilityZone = ptr("az3") }))
		work()
		if now := w.bastions(); len(now) != 1 || now[0].ID() == first[0].ID() || now[0].String("OS-EXT-AZ:availability_zone") != "az3" {
			t.Errorf("bastions %v, want another in az3", now)
		}
		w.spec(clusterSpec())
		work()
		if now := w.bastions(); len(now) != 0 {
			t.Errorf("bastions %v, want none", now)
		}
	})
}

// TestBastionComesAfterTheNetwork: before the first machine, the rest of the infrastructure
// comes first.
func TestBastionComesAfterTheNetwork(t *testing.T) {
	inBubble(t, withBastion(func(*api.Bastion) {}), machineSpec(), func(w *world) {
		for range 30 {
			if w.observe().Ready {
				return
			}
			if len(w.bastions()) > 0 {
				t.Fatal("there is a bastion, and the infrastructure is not ready")
			}
			_ = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster)
		}
		t.Error("the infrastructure does not get ready")
	})
}

// TestBastionInDoubt: no second bastion is made beside one whose mark somebody took off.
func TestBastionInDoubt(t *testing.T) {
	inBubble(t, withBastion(func(*api.Bastion) {}), machineSpec(), func(w *world) {
		w.settle()
		w.calm()
		w.cloud.Edit(ost.Servers, w.bastions()[0].ID(), func(o ost.Object) { o["metadata"] = ost.Object{} })
		time.Sleep(2 * tick)
		w.wantError("EnsureInfrastructure", w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster), fleet.Conflict, "lost the mark of that machine")
		if got := w.bastions(); len(got) != 1 {
			t.Errorf("bastions %v, want the one", got)
		}
	})
}
