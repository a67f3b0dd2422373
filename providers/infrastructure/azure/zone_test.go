package azure_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/azure/azuretest"
)

// TestZoneElsewhere: a private zone is made in the resource group that Git names, which has to exist, and is found there by its tags. It
// stays where it is if Git names another group later, and goes with the cluster, without its group.
func TestZoneElsewhere(t *testing.T) {
	with := func(t *testing.T, more string) fleet.Cluster {
		return newCluster(t, strings.NewReplacer("identityRef:", "networkSpec: {apiServerLB: {type: Internal}, privateDNSZoneName: api.example.org"+more+"}, identityRef:", "GROUP", "rg-2").Replace(clusterSpec), machineSpec)
	}
	ofSubscription := func(c azuretest.Call) bool {
		return strings.HasPrefix(c.ID, "/subscriptions/"+azuretest.Subscription+"/providers/Microsoft.Network/")
	}
	in(t, func(w *world) {
		w.cluster(clusterSpec, machineSpec)
		c := with(t, ", privateDNSZoneResourceGroup: dns")
		for range 20 {
			_ = w.p.EnsureInfrastructure(w.Context(), "op", &c)
			time.Sleep(tick)
		}
		if err := w.p.EnsureInfrastructure(w.Context(), "op", &c); err == nil || !strings.Contains(err.Error(), "Resource group 'dns' could not be found") {
			t.Errorf("without the group: %v", err)
		}
		if slices.ContainsFunc(w.Calls(), ofSubscription) {
			t.Error("the zones of the subscription were listed before there was a machine")
		}
		w.Put(groupID("dns"), map[string]any{"location": azuretest.Location}) // of people
		w.Inject(azuretest.Fault{Method: "PUT privatednszones", Lose: true, Times: 1})
		w.create(&c, "cp-0")
		const zone = "/providers/Microsoft.Network/privateDnsZones/api.example.org"
		for _, id := range []string{zone, zone + "/A/apiserver", zone + "/virtualNetworkLinks/eu-1-vnet-link"} {
			if _, there := w.Resource(groupID("dns") + id); !there {
				t.Errorf("the group lacks %s", id)
			}
		}
		if n := len(w.Resources("privatednszones")); n != 1 {
			t.Fatalf("there are %d zones", n)
		}
		time.Sleep(settle)
		w.ResetCalls()
		at := w.observe(&c)
		if !rest(at) || at.Endpoint.Host != "apiserver.api.example.org" {
			t.Errorf("%v: %q, drift %q", at.Endpoint, at.Message, at.Drift)
		}
		if slices.ContainsFunc(w.Calls(), ofSubscription) {
			t.Error("the zones of the subscription were listed")
		}
		for _, more := range []string{"", ", privateDNSZoneResourceGroup: elsewhere"} {
			moved := with(t, more)
			if got := w.observe(&moved); !got.Ready || got.Endpoint != at.Endpoint || len(got.Drift) != 1 || !strings.Contains(got.Drift[0], "zone api.example.org stays where it is, "+groupID("dns")) {
				t.Errorf("with %q ready %t at %v: %q, drift %q", more, got.Ready, got.Endpoint, got.Message, got.Drift)
			}
			if err := w.p.EnsureInfrastructure(w.Context(), "op", &moved); err == nil || len(w.Resources("privatednszones")) != 1 {
				t.Errorf("%v, and there are %d zones", err, len(w.Resources("privatednszones")))
			}
		}
		other := with(t, ", privateDNSZoneResourceGroup: dns")
		other.Key.Name = "eu-2"
		for range 20 {
			_ = w.p.EnsureInfrastructure(w.Context(), "op", &other)
			time.Sleep(tick)
		}
		wantKind(t, "the zone of another cluster", w.p.EnsureInfrastructure(w.Context(), "op", &other), fleet.Conflict)
		w.dismantle(&other)

		w.Allow("*", "!Microsoft.Network/privateDnsZones/A/write")
		found, err := w.p.Check(w.Context(), []*fleet.Cluster{&c})
		if err != nil || !slices.ContainsFunc(found, func(f providers.Finding) bool {
			return f.Err != nil && strings.Contains(f.Err.Error(), "for "+groupID("dns")+" it lacks Microsoft.Network/privateDnsZones/A/write")
		}) {
			t.Errorf("the check says %+v, %v", found, err)
		}
		if slices.ContainsFunc(found, func(f providers.Finding) bool {
			return f.Err != nil && strings.Contains(f.Err.Error(), groupID("rg-2"))
		}) {
			t.Errorf("the check wants rights of zones in the resource group of the cluster: %+v", found)
		}
		w.Allow()
		gone := with(t, "") // as Git has it by now
		gone.Delete = true
		if err := w.p.DeleteMachine(w.Context(), "op", &gone, "cp-0", ""); err != nil {
			t.Error(err)
		}
		time.Sleep(settle)
		w.dismantle(&gone)
		w.unrefused()
		if _, there := w.Resource(groupID("dns")); !there || len(w.Resources("privatednszones"))+len(w.Resources("virtualnetworklinks")) > 0 {
			t.Errorf("the group of people is there: %t, and zones are %v", there, w.Resources("privatednszones"))
		}
	})
}
