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
var peered = strings.Replace(clusterSpec, "identityRef:", "networkSpec: {apiServerLB: {type: Internal}, vnet: {peerings: [{remoteVnetName: hub, resourceGroup: shared, forwardPeeringProperties: {useRemoteGateways: true}}]}}, identityRef:", 1)

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
		if wantKind(t, "EnsureInfrastructure", err, fleet.Conflict); !strings.Contains(err.Error(), "peering eu-1-vnet-To-hub leads to another VNet") {
			t.Error(err)
		}
		if err := w.p.CreateMachine(w.Context(), "op", request(&with, "m-1")); err != nil {
			t.Error(err)
		}
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
