package azure_test

import (
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
)

// TestEdgeZone: machines of a cluster in an edge zone, its VNet, addresses and load balancers are there, without availability zones and
// sets. It stays there.
func TestEdgeZone(t *testing.T) {
	edge := strings.Replace(clusterSpec, "identityRef:", "extendedLocation: {name: losangeles1, type: EdgeZone}, identityRef:", 1)
	in(t, func(w *world) {
		c := w.cluster(edge, machineSpec)
		for range 3 {
			if err := w.p.EnsureInfrastructure(w.Context(), "op", &c); err != nil {
				t.Errorf("of what was just made: %v", err)
			}
			time.Sleep(tick)
		}
		for _, name := range []fleet.MachineName{"cp-0", "m-0"} {
			w.create(&c, name)
		}
		for kind, want := range map[string]bool{"virtualnetworks": true, "publicipaddresses": true, "loadbalancers": true, "virtualmachines": true, "networksecuritygroups": false, "natgateways": false, "availabilitysets": false} {
			for _, r := range w.Resources(kind) {
				if got := says(r.Body["extendedLocation"]) == "map[name:losangeles1 type:EdgeZone]"; got != want || r.Zone != "" {
					t.Errorf("%s is in the edge zone: %t, and in zone %q", r.ID, got, r.Zone)
				}
			}
		}
		if n := len(w.Resources("availabilitysets")); n > 0 {
			t.Errorf("there are %d availability sets", n)
		}
		time.Sleep(settle)
		if got := w.observe(&c); !rest(got) || len(got.FailureDomains) > 0 {
			t.Errorf("%q, drift %q, zones %v", got.Message, got.Drift, got.FailureDomains)
		}
		config, err := w.p.AnswerSecrets(w.Context(), &c, c.Workers[0])
		if text := string(config["nodes-azure-json"]["worker-node-azure.json"].Reveal()); err != nil || !strings.Contains(text, `"extendedLocationType": "EdgeZone",`) || !strings.Contains(text, `"extendedLocationName": "losangeles1",`) {
			t.Errorf("azure.json is %s, %v", text, err)
		}
		for _, spec := range []string{clusterSpec, strings.Replace(edge, "losangeles1", "perth1", 1)} {
			moved := newCluster(t, strings.Replace(spec, "GROUP", "rg-2", 1), machineSpec)
			if got := w.observe(&moved); got.Ready || !strings.Contains(got.Message, `VNet eu-1-vnet is in edge zone "losangeles1" and the cluster in`) {
				t.Errorf("moved: ready %t, %q", got.Ready, got.Message)
			}
		}
		gone := c
		gone.Delete = true
		if err := w.p.DeleteMachine(w.Context(), "op", &gone, "cp-0", ""); err != nil {
			t.Error(err)
		}
		time.Sleep(settle)
		w.end(&c)
	})
}
