package azure_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/azure/azuretest"
)

// hub is the id of a VNet of people.
const hub = "/subscriptions/" + azuretest.Subscription + "/resourceGroups/shared/providers/Microsoft.Network/virtualNetworks/hub"

// peered is a cluster whose VNet is connected with hub, where its private zone is known.
var peered = strings.Replace(clusterSpec, "identityRef:", "networkSpec: {apiServerLB: {type: Internal}, vnet: {peerings: [{remoteVnetName: hub, resourceGroup: shared, forwardPeeringProperties: {useRemoteGateways: true}, reversePeeringProperties: {allowGatewayTransit: true}}]}}, identityRef:", 1)

// halves returns the states of the halves of peerings, by name.
func (w *world) halves() map[string]string {
	out := make(map[string]string)
	for _, h := range w.Resources("virtualnetworkpeerings") {
		p := h.Body["properties"].(map[string]any)
		out[h.Name], _ = p["peeringState"].(string)
	}
	return out
}

func (w *world) connected() bool {
	h := w.halves()
	return h["eu-1-vnet-To-hub"] == "Connected" && h["hub-To-eu-1-vnet"] == "Connected"
}

// TestPeerings: both halves of a peering are made, and the private zone is known in the other VNet, too. They come back if people
// delete one, and go with the cluster; what else the other VNet has stays.
func TestPeerings(t *testing.T) {
	in(t, func(w *world) {
		w.Put(hub, map[string]any{"location": azuretest.Location})
		w.Put(hub+"/virtualNetworkPeerings/hub-To-office", map[string]any{"properties": map[string]any{"remoteVirtualNetwork": map[string]any{"id": hub + "x"}, "peeringState": "Initiated"}})
		c := w.cluster(peered, machineSpec)
		w.Inject(azuretest.Fault{Method: "PUT virtualnetworkpeerings", Lose: true, Times: 1})
		w.ready(&c)
		if !w.connected() {
			t.Fatalf("the halves are %v", w.halves())
		}
		own, _ := w.Resource(groupID("rg-2") + "/providers/Microsoft.Network/virtualNetworks/eu-1-vnet/virtualNetworkPeerings/eu-1-vnet-To-hub")
		if p := own.Body["properties"].(map[string]any); p["useRemoteGateways"] != true {
			t.Errorf("the half is %v", p)
		}
		if n := len(w.Resources("virtualnetworklinks")); n != 2 {
			t.Errorf("the zone is known in %d VNets", n)
		}
		time.Sleep(settle)
		w.ResetCalls()
		w.observe(&c)
		if i := slices.IndexFunc(w.Calls(), func(c azuretest.Call) bool { return strings.Contains(c.Method, "peerings") }); i >= 0 {
			t.Errorf("an observation of a cluster at rest called %s", w.Calls()[i].Method)
		}
		w.create(&c, "m-0")
		for _, id := range []string{own.ID, hub + "/virtualNetworkPeerings/hub-To-eu-1-vnet"} {
			w.Remove(id)
			if w.connected() {
				t.Errorf("without %s: %v", id, w.halves())
			}
			time.Sleep(2 * tick)
			if got := w.observe(&c); !got.Ready || len(got.Drift) == 0 {
				t.Errorf("without %s machines wait: %q, drift %q", id, got.Message, got.Drift)
			}
			w.until(&c, "connected again", func(i fleet.Infrastructure) bool {
				if len(i.Drift) > 0 {
					_ = w.p.EnsureInfrastructure(w.Context(), "op", &c)
				}
				return w.connected() && len(i.Drift) == 0
			})
		}
		if err := w.p.DeleteMachine(w.Context(), "op", &c, "m-0", ""); err != nil {
			t.Error(err)
		}
		time.Sleep(settle)
		left := newCluster(t, strings.Replace(clusterSpec, "GROUP, ", "rg-2, networkSpec: {apiServerLB: {type: Internal}}, ", 1), machineSpec) // the peering left Git
		w.Inject(azuretest.Fault{Method: "DELETE virtualnetworkpeerings", Status: 503, Code: "ServiceUnavailable", Times: 4})
		w.dismantle(&left)
		if h := w.halves(); len(h) != 1 || h["hub-To-office"] != "Initiated" || len(w.Resources("virtualnetworks")) != 1 {
			t.Errorf("left are %v", h)
		}
	})
}

// TestPeeringOfOthers: a peering of that name that leads elsewhere is not changed, and keeps no machine from being made. A VNet
// of people is not connected.
func TestPeeringOfOthers(t *testing.T) {
	const other = hub + "/virtualNetworkPeerings/hub-To-eu-1-vnet"
	in(t, func(w *world) {
		w.Put(hub, map[string]any{"location": azuretest.Location})
		w.Put(other, map[string]any{"properties": map[string]any{"remoteVirtualNetwork": map[string]any{"id": hub + "x"}, "peeringState": "Disconnected"}})
		c := w.cluster(clusterSpec, machineSpec)
		w.create(&c, "m-0")
		with := newCluster(t, strings.Replace(clusterSpec, "GROUP, ", "rg-2, networkSpec: {vnet: {peerings: [{remoteVnetName: hub, resourceGroup: shared}]}}, ", 1), machineSpec)
		time.Sleep(settle)
		err := w.p.EnsureInfrastructure(w.Context(), "op", &with)
		if wantKind(t, "EnsureInfrastructure", err, fleet.Conflict); !strings.Contains(err.Error(), "peering hub-To-eu-1-vnet of VNet hub leads to another VNet") {
			t.Error(err)
		}
		if err := w.p.CreateMachine(w.Context(), "op", request(&with, "m-1")); err != nil {
			t.Error(err)
		}
		first := w.cluster(strings.Replace(toHub(""), "rg-2", "GROUP", 1), machineSpec)
		for range 12 {
			_ = w.p.EnsureInfrastructure(w.Context(), "op", &first)
			time.Sleep(tick)
		}
		if got := w.observe(&first); got.Ready || !strings.Contains(got.Message, "leads to another VNet") {
			t.Errorf("a new cluster is ready %t, %q", got.Ready, got.Message)
		}
		w.dismantle(&first)
		gone := with
		gone.Delete = true
		time.Sleep(settle)
		for _, name := range []fleet.MachineName{"m-0", "m-1"} {
			if err := w.p.DeleteMachine(w.Context(), "op", &gone, name, ""); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(settle)
		w.dismantle(&with)
		if h := w.halves(); len(h) != 1 || h["hub-To-eu-1-vnet"] != "Disconnected" {
			t.Errorf("left are %v", h)
		}
	})
	in(t, func(w *world) {
		w.Put(hub, map[string]any{"location": azuretest.Location})
		for _, s := range []string{"a", "b"} {
			w.Put(hub+"/subnets/"+s, map[string]any{"properties": map[string]any{"addressPrefix": "10.0.0.0/16"}})
		}
		c := w.cluster(strings.Replace(clusterSpec, "identityRef:", "networkSpec: {vnet: {name: hub, resourceGroup: shared, peerings: [{remoteVnetName: x}]}, subnets: [{role: control-plane, name: a}, {role: node, name: b}]}, identityRef:", 1), machineSpec)
		got := w.ready(&c)
		if !slices.ContainsFunc(got.Drift, func(d string) bool { return strings.Contains(d, "leave peerings out, and connect it yourself") }) || len(w.halves()) > 0 {
			t.Errorf("drift %q, halves %v", got.Drift, w.halves())
		}
	})
}

// toHub is the spec of the cluster in rg-2 with a peering, and with more of its network.
func toHub(more string) string {
	return strings.Replace(clusterSpec, "GROUP, ", "rg-2, networkSpec: {"+more+"vnet: {peerings: [{remoteVnetName: hub, resourceGroup: shared}]}}, ", 1)
}

// TestPeeringLater: a peering that Git names later keeps no machine of a cluster with machines from being made, whatever is wrong
// with it, nor does the zone that the other VNet is to know. If nothing was made in the other VNet, the cluster goes without it.
func TestPeeringLater(t *testing.T) {
	for name, tc := range map[string]struct {
		do    func(w *world)
		other int  // halves that stay
		fine  bool // it is connected
	}{
		"one of others": {do: func(w *world) {
			w.Put(hub+"/virtualNetworkPeerings/hub-To-eu-1-vnet", map[string]any{"properties": map[string]any{"remoteVirtualNetwork": map[string]any{"id": hub + "x"}, "peeringState": "Disconnected"}})
		}, other: 1},
		"the other VNet is gone": {do: func(w *world) { w.Remove(hub) }},
		"the other VNet is denied": {do: func(w *world) {
			w.Inject(azuretest.Fault{Method: "* virtualnetworkpeerings", When: func(c azuretest.Call) bool { return strings.HasPrefix(c.ID, hub) }, Status: 403, Code: "AuthorizationFailed"})
			w.Inject(azuretest.Fault{Method: "PUT virtualnetworklinks", Status: 403, Code: "LinkedAuthorizationFailed"})
		}},
		"nothing is wrong": {do: func(*world) {}, fine: true},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				c := w.cluster(strings.Replace(clusterSpec, "identityRef:", "networkSpec: {apiServerLB: {type: Internal}}, identityRef:", 1), machineSpec)
				w.create(&c, "m-0")
				w.Put(hub, map[string]any{"location": azuretest.Location})
				tc.do(w)
				with := newCluster(t, toHub("apiServerLB: {type: Internal}, "), machineSpec)
				time.Sleep(settle)
				for range 12 {
					got := w.observe(&with)
					if done := w.connected() && len(w.Resources("virtualnetworklinks")) == 2; !got.Ready || len(got.Drift) == 0 && !done {
						t.Errorf("machines wait: %q, drift %q, halves %v", got.Message, got.Drift, w.halves())
					}
					err := w.p.EnsureInfrastructure(w.Context(), "op", &with)
					if tc.fine && err != nil {
						t.Error(err)
					}
					time.Sleep(tick)
				}
				if got := w.observe(&with); w.connected() != tc.fine || (len(got.Drift) == 0) != tc.fine {
					t.Errorf("the halves are %v, drift %q", w.halves(), got.Drift)
				}
				gone := with
				gone.Delete = true
				if err := w.p.DeleteMachine(w.Context(), "op", &gone, "m-0", ""); err != nil {
					t.Error(err)
				}
				time.Sleep(settle)
				w.dismantle(&with)
				if h := w.halves(); len(h) != tc.other {
					t.Errorf("left are %v", h)
				}
			})
		})
	}
}

// TestPeeringOfPeople: of a peering that people made nothing is looked at. The deletion of a cluster does not wait for the other
// half, if that cannot be read.
func TestPeeringOfPeople(t *testing.T) {
	const elsewhere = "/subscriptions/11111111-8f0b-4c0e-9d64-0d8b6f0a2f11/resourceGroups/shared/providers/Microsoft.Network/virtualNetworks/hub"
	for _, remote := range []string{hub, elsewhere} {
		in(t, func(w *world) {
			w.Put(hub, map[string]any{"location": azuretest.Location})
			c := w.cluster(clusterSpec, machineSpec)
			w.ready(&c)
			w.Put(groupID("rg-2")+"/providers/Microsoft.Network/virtualNetworks/eu-1-vnet/virtualNetworkPeerings/eu-1-vnet-To-hub", map[string]any{"properties": map[string]any{
				"remoteVirtualNetwork": map[string]any{"id": remote}, "peeringState": "Initiated",
			}})
			time.Sleep(settle)
			w.ResetCalls()
			if got := w.observe(&c); !got.Ready || len(got.Drift) > 0 || slices.ContainsFunc(w.Calls(), func(c azuretest.Call) bool { return strings.HasSuffix(c.Method, "peerings") }) {
				t.Errorf("ready %t, drift %q", got.Ready, got.Drift)
			}
			w.Edit(groupID("rg-2")+"/providers/Microsoft.Network/virtualNetworks/eu-1-vnet/virtualNetworkPeerings/eu-1-vnet-To-hub", func(body map[string]any) {
				body["properties"].(map[string]any)["peeringState"] = "Connected"
			})
			w.Inject(azuretest.Fault{Method: "* virtualnetworkpeerings", When: func(c azuretest.Call) bool { return strings.HasPrefix(c.ID, hub) }, Status: 403, Code: "AuthorizationFailed"})
			time.Sleep(settle)
			w.dismantle(&c)
		})
	}
	in(t, func(w *world) { // one of another name, whose other half has that of Cluster API
		w.Put(hub, map[string]any{"location": azuretest.Location})
		c := w.cluster(clusterSpec, machineSpec)
		w.ready(&c)
		vnet := groupID("rg-2") + "/providers/Microsoft.Network/virtualNetworks/eu-1-vnet"
		for id, to := range map[string]string{vnet + "/virtualNetworkPeerings/by-hand": hub, hub + "/virtualNetworkPeerings/hub-To-eu-1-vnet": vnet} {
			w.Put(id, map[string]any{"properties": map[string]any{"remoteVirtualNetwork": map[string]any{"id": to}, "peeringState": "Connected"}})
		}
		time.Sleep(settle)
		w.dismantle(&c)
		if h := w.halves(); h["hub-To-eu-1-vnet"] != "Disconnected" {
			t.Errorf("left are %v", h)
		}
	})
}

// TestFormerPeerings: halves in each state, of which Azure connects some to none, are connected in the end. Where both VNets
// have several peerings, Azure is asked for one at a time.
func TestFormerPeerings(t *testing.T) {
	for _, tc := range []struct{ own, other, ended string }{
		{"Initiated", "Disconnected", "Succeeded"},
		{"Initiated", "Initiated", "Failed"},
		{"Disconnected", "Disconnected", "Succeeded"},
		{"Disconnected", "Initiated", "Succeeded"},
		{"Initiated", "", "Failed"},
		{"Disconnected", "", "Succeeded"},
		{"", "Initiated", "Succeeded"},
		{"", "Disconnected", "Succeeded"},
	} {
		in(t, func(w *world) {
			w.Put(hub, map[string]any{"location": azuretest.Location})
			w.Put(hub+"2", map[string]any{"location": azuretest.Location})
			c := w.cluster(clusterSpec, machineSpec)
			w.ready(&c)
			vnet := groupID("rg-2") + "/providers/Microsoft.Network/virtualNetworks/eu-1-vnet"
			for id, half := range map[string][2]string{vnet + "/virtualNetworkPeerings/eu-1-vnet-To-hub": {tc.own, hub}, hub + "/virtualNetworkPeerings/hub-To-eu-1-vnet": {tc.other, vnet}} {
				if half[0] != "" {
					w.Put(id, map[string]any{"properties": map[string]any{"remoteVirtualNetwork": map[string]any{"id": half[1]}, "peeringState": half[0]}})
					w.Edit(id, func(body map[string]any) { body["properties"].(map[string]any)["provisioningState"] = tc.ended })
				}
			}
			with := newCluster(t, strings.Replace(toHub(""), "peerings: [", "peerings: [{remoteVnetName: hub2, resourceGroup: shared}, ", 1), machineSpec)
			time.Sleep(settle)
			w.ResetCalls()
			var said []string
			for n := 0; n < 50; n++ {
				if w.observe(&with).Ready {
					break
				}
				if err := w.p.EnsureInfrastructure(w.Context(), "op", &with); err != nil {
					t.Errorf("%v: %v", tc, err)
				}
				said = append(said, w.observe(&with).Message)
				time.Sleep(tick)
			}
			if h := w.halves(); !w.connected() || h["eu-1-vnet-To-hub2"] != "Connected" {
				t.Errorf("%v: the halves are %v", tc, h)
			}
			if !slices.ContainsFunc(said, func(s string) bool {
				return strings.HasPrefix(s, "the peering with VNet hub") && strings.HasSuffix(s, " is being created")
			}) {
				t.Errorf("%v: it said %q", tc, said)
			}
			if i := slices.IndexFunc(w.Calls(), func(c azuretest.Call) bool { return c.Status == 429 }); i >= 0 {
				t.Errorf("%v: %s while Azure was at work", tc, w.Calls()[i].Method)
			}
		})
	}
}

// TestPeeringsOfTwo: two clusters are connected with one VNet. The deletion of one waits for a lock there, says so, and leaves the
// peering of the other.
func TestPeeringsOfTwo(t *testing.T) {
	in(t, func(w *world) {
		w.Put(hub, map[string]any{"location": azuretest.Location})
		a, b := w.cluster(peered, machineSpec), w.cluster(strings.NewReplacer("useRemoteGateways", "allowGatewayTransit", "allowGatewayTransit", "useRemoteGateways").Replace(peered), machineSpec)
		b.Key.Name = "eu-2"
		w.ready(&a)
		w.ready(&b)
		if i := slices.IndexFunc(w.Calls(), func(c azuretest.Call) bool { return c.Status == 429 }); i >= 0 {
			t.Errorf("%s while Azure was at work", w.Calls()[i].Method)
		}
		gone := a
		gone.Delete = true
		w.Lock("virtualnetworkpeerings", true)
		for range 8 {
			_ = w.p.DeleteInfrastructure(w.Context(), "op", &gone)
			time.Sleep(settle)
		}
		if got := w.observe(&gone); !strings.Contains(got.Message, "remove the lock in Azure") || len(w.Resources("virtualnetworks")) != 3 || len(w.Resources("loadbalancers")) != 1 {
			t.Errorf("it says %q, and %d VNets are left", got.Message, len(w.Resources("virtualnetworks")))
		}
		w.Lock("virtualnetworkpeerings", false)
		end := w.Inject(azuretest.Fault{Method: "GET virtualnetworkpeerings", Status: 403, Code: "AuthorizationFailed"})
		for range 3 {
			_ = w.p.DeleteInfrastructure(w.Context(), "op", &gone)
			time.Sleep(settle)
		}
		if got := w.observe(&gone); !strings.Contains(got.Message, "cannot find the peerings of other VNets") || len(w.Resources("virtualnetworks")) != 3 {
			t.Errorf("it says %q, and %d VNets are left", got.Message, len(w.Resources("virtualnetworks")))
		}
		end()
		w.dismantle(&a)
		if h := w.halves(); len(h) != 2 || h["eu-2-vnet-To-hub"] != "Connected" || h["hub-To-eu-2-vnet"] != "Connected" {
			t.Errorf("left are %v", h)
		}
	})
}

// TestNetworkOfAgentsThatDie: an answer is lost, or a request is not sent, at each change of a VNet and of a route table, and another
// agent goes on.
func TestNetworkOfAgentsThatDie(t *testing.T) {
	both := strings.Replace(peered, "vnet: {", "subnets: [{role: control-plane, routeTable: {name: routes}}, {role: node, routeTable: {name: routes}}], vnet: {", 1)
	for _, kind := range []string{"virtualnetwork*", "routetables", "subnets"} {
		for _, lose := range []bool{true, false} {
			for i, met := 0, 1; met > 0; i++ {
				in(t, func(w *world) {
					w.Put(hub, map[string]any{"location": azuretest.Location})
					c := w.cluster(both, machineSpec)
					end := w.Inject(azuretest.Fault{Changes: true, Method: "* " + kind, Skip: i, Times: 1, Lose: lose, Cut: !lose})
					again := func(err error) {
						if fleet.KindOf(err) == fleet.Unanswered {
							w.p = w.provider()
						}
					}
					for n := 0; !w.observe(&c).Ready && n < 50; n++ {
						again(w.p.EnsureInfrastructure(w.Context(), "op", &c))
						time.Sleep(tick)
					}
					if !w.connected() || w.tableOf("eu-1-node-subnet") != "routes" || w.tableOf("eu-1-controlplane-subnet") != "routes" {
						t.Errorf("%s %d: the halves are %v", kind, i, w.halves())
					}
					gone := c
					gone.Delete = true
					w.until(&gone, "gone", func(f fleet.Infrastructure) bool {
						if f.Exists {
							again(w.p.DeleteInfrastructure(w.Context(), "op", &gone))
						}
						return !f.Exists
					})
					if left := w.Resources(""); len(left) != 2 { // the other VNet and its group
						t.Errorf("%s %d: left are %v", kind, i, left)
					}
					met = end()
				})
			}
		}
	}
}
