package openstack_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack/api"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// refusing has the cloud refuse requests, in its words.
func refusing(service, method, path, words string) func(w *world) func() {
	return func(w *world) func() {
		return w.cloud.Inject(ost.Fault{
			Service: service, Method: method, Path: path, Status: http.StatusConflict,
			Body: `{"NeutronError": {"type": "InUse", "message": "` + words + `"}}`,
		})
	}
}

// edit has all things of a kind that were made for the cluster changed by spoil, and by mend.
func edit(k ost.Kind, spoil, mend ost.Object) func(w *world) func() {
	return func(w *world) func() {
		change := func(to ost.Object) {
			for _, o := range w.ours(k) {
				w.cloud.Edit(k, o.ID(), func(o ost.Object) {
					o["updated_at"] = time.Now().UTC().Format("2006-01-02T15:04:05.000000")
					for key, v := range to {
						o[key] = v
					}
				})
			}
		}
		change(spoil)
		return func() { change(mend) }
	}
}

// ours returns the things of a kind that carry the mark of a cluster.
func (w *world) ours(k ost.Kind) (out []ost.Object) {
	for _, o := range w.cloud.Objects(k) {
		if strings.Contains(o.String("description"), "[fairlead.dev ") || o.Object("metadata")["fairlead.dev:fleet"] != nil {
			out = append(out, o)
		}
	}
	return out
}

// connects has a router connected to a subnet that was not made for the cluster.
func (w *world) connects(router, network string) func() {
	subnet := w.cloud.Add("alpha", ost.Subnets, ost.Object{"network_id": network, "cidr": "10.99.0.0/24", "ip_version": 4})
	port := w.cloud.Add("alpha", ost.Ports, ost.Object{
		"network_id": network, "device_id": router, "device_owner": "network:router_interface",
		"fixed_ips": []ost.Object{{"subnet_id": subnet, "ip_address": "10.99.0.1"}},
	})
	return func() { w.cloud.Remove(ost.Ports, port) }
}

// TestDeletionNamesWhatItWaitsFor: if a part of a cluster does not go, the message names the part
// and the reason, in the words of the cloud. Once the part goes, the cluster goes.
func TestDeletionNamesWhatItWaitsFor(t *testing.T) {
	disk := diskSpec()
	disk.Trunk = true
	for part, tc := range map[string]struct {
		keep  func(w *world) (free func())
		words []string
	}{
		"port": {refusing("network", "DELETE", "/ports/*", "Port is held by a service."), []string{
			"port eu-1-md-0", "Port is held by a service.",
		}},
		"trunk": {refusing("network", "DELETE", "/trunks/*", "Trunk is held."), []string{
			"trunk eu-1-md-0", "Trunk is held.",
		}},
		"volume": {refusing("block-storage", "DELETE", "/*/volumes/*", "Volume has snapshots."), []string{
			"volume eu-1-md-0", "Volume has snapshots.",
		}},
		"floating IP": {refusing("network", "DELETE", "/floatingips/*", "Floating IP is locked."), []string{
			"floating IP 198.18.", "Floating IP is locked.",
		}},
		"load balancer": {refusing("load-balancer", "DELETE", "/loadbalancers/*", "Load balancer is held."), []string{
			"load balancer prod-eu-1-kubeapi", "Load balancer is held.",
		}},
		"security group": {refusing("network", "DELETE", "/security-groups/*", "Security Group in use."), []string{
			"security group prod-eu-1-", "Security Group in use.",
		}},
		"router": {refusing("network", "DELETE", "/routers/*", "Router still has ports."), []string{
			"router prod-eu-1", "Router still has ports.",
		}},
		"subnet": {refusing("network", "PUT", "/routers/*/remove_router_interface", "Router interface is required by one or more floating IPs."), []string{
			"subnet 10.6.0.0/24 from router", "required by one or more floating IPs",
		}},
		"network": {refusing("network", "DELETE", "/networks/*", "There are one or more ports still in use."), []string{
			"network prod-eu-1", "There are one or more ports still in use.",
		}},
		"bastion": {refusing("compute", "DELETE", "/servers/*", "Server is locked."), []string{
			"server eu-1-bastion", "Server is locked.", "the bastion is there, server ",
		}},
		"image": {
			func(w *world) func() { // one that it refuses to delete Glance keeps
				return w.cloud.Inject(ost.Fault{Service: "image", Method: "DELETE", Status: http.StatusInternalServerError, Body: `{"message": "The store is gone."}`})
			},
			[]string{"image node", "The store is gone."},
		},
		"load balancer that takes no change": {
			edit(ost.LoadBalancers, ost.Object{"provisioning_status": "PENDING_UPDATE"}, ost.Object{"provisioning_status": "ACTIVE"}),
			[]string{"load balancer prod-eu-1-kubeapi is PENDING_UPDATE"},
		},
		"volume that Cinder does not finish": {
			edit(ost.Volumes, ost.Object{"status": "deleting"}, ost.Object{"status": "error"}),
			[]string{"has been deleting for more than 15 minutes", "cinder reset-state --state error "},
		},
		"router with a port in a subnet of others": {
			func(w *world) func() { return w.connects(w.ours(ost.Routers)[0].ID(), ownNetwork(w.cloud, "alpha")) },
			[]string{"router prod-eu-1 (", "that was not made for the cluster", "openstack router remove port "},
		},
		"network with a port of another router": {
			func(w *world) func() {
				return w.connects(w.cloud.Add("alpha", ost.Routers, ost.Object{"name": "theirs"}), w.ours(ost.Networks)[0].ID())
			},
			[]string{"network prod-eu-1 (", "that was not made for the cluster", "openstack router remove port "},
		},
	} {
		t.Run(part, func(t *testing.T) {
			inBubble(t, withBastion(func(*api.Bastion) {}), disk, func(w *world) {
				w.give(madeImage(nodeURL))
				w.lost(func(o ost.Object) { o["status"] = "available" })
				free := tc.keep(w)
				for range 60 {
					if done, _ := w.removeOnce(); done {
						t.Fatal("the cluster is gone")
					}
					time.Sleep(20 * time.Second)
				}
				message := w.observe().Message
				for _, words := range tc.words {
					if !strings.Contains(message, words) {
						t.Errorf("message %q, want it to say %q", message, words)
					}
				}
				free()
				w.remove()
				if left := w.mine(); len(left) > 0 {
					t.Errorf("left: %q", left)
				}
				if got := w.observe(); got.Message != "" {
					t.Errorf("message %q of a cluster that is gone", got.Message)
				}
			})
		})
	}
}

// TestUnansweredIsNoRefusal: a connection that is cut now and then is not told of as what the
// deletion waits for.
func TestUnansweredIsNoRefusal(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		w.settle()
		w.cluster.Delete = true
		w.cloud.Inject(ost.Fault{Service: "load-balancer", Method: "DELETE", Cut: ost.Before, Times: 1})
		if err := w.provider.DeleteInfrastructure(w.Context(), "op", &w.cluster); fleet.KindOf(err) != fleet.Unanswered {
			t.Fatalf("DeleteInfrastructure = %v, want kind Unanswered", err)
		}
		if got := w.observe().Message; strings.Contains(got, "cannot ") {
			t.Errorf("message %q", got)
		}
	})
}

// TestRefusalIsForgotten: if people removed what was left of the cluster, no refusal is told.
func TestRefusalIsForgotten(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		w.settle()
		refusing("load-balancer", "DELETE", "/loadbalancers/*", "Load balancer is held.")(w)
		_, _ = w.removeOnce()
		if got := w.observe().Message; !strings.Contains(got, "Load balancer is held.") {
			t.Fatalf("message %q", got)
		}
		for _, k := range []ost.Kind{ost.LoadBalancers, ost.FloatingIPs, ost.Routers, ost.Networks, ost.Subnets, ost.SecurityGroups, ost.Listeners, ost.Pools} {
			for _, o := range w.ours(k) {
				w.cloud.Remove(k, o.ID())
			}
		}
		time.Sleep(2 * tick)
		if got := w.observe(); got.Exists || got.Message != "" {
			t.Errorf("exists %v, message %q", got.Exists, got.Message)
		}
	})
}
