package azure_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/azure/azuretest"
)

// routed is a cluster whose subnets share a route table.
var routed = strings.Replace(clusterSpec, "identityRef:", "networkSpec: {subnets: [{role: control-plane, routeTable: {name: routes}}, {role: node, routeTable: {name: routes}}]}, identityRef:", 1)

// tableOf returns the name of the route table of a subnet.
func (w *world) tableOf(subnet string) string {
	r, _ := w.Resource(groupID("rg-2") + "/providers/Microsoft.Network/virtualNetworks/eu-1-vnet/subnets/" + subnet)
	p, _ := r.Body["properties"].(map[string]any)
	table, _ := p["routeTable"].(map[string]any)
	id, _ := table["id"].(string)
	return id[strings.LastIndexByte(id, '/')+1:]
}

// TestRouteTables: route tables that Git names are made before their subnets, are not looked at afterwards, come back, and go
// with the cluster.
func TestRouteTables(t *testing.T) {
	in(t, func(w *world) {
		c := w.cluster(routed, machineSpec)
		w.Inject(azuretest.Fault{Method: "PUT routetables", Lose: true, Times: 1})
		w.ready(&c)
		for _, s := range []string{"eu-1-controlplane-subnet", "eu-1-node-subnet"} {
			if got := w.tableOf(s); got != "routes" {
				t.Errorf("%s has the table %q", s, got)
			}
		}
		config, err := w.p.AnswerSecrets(w.Context(), &c, c.Workers[0])
		if text := string(config["nodes-azure-json"]["worker-node-azure.json"].Reveal()); err != nil || !strings.Contains(text, `"routeTableName": "routes"`) {
			t.Errorf("azure.json is %s, %v", text, err)
		}
		time.Sleep(settle)
		w.ResetCalls()
		w.observe(&c)
		if i := slices.IndexFunc(w.Calls(), func(c azuretest.Call) bool { return strings.Contains(c.Method, "routetables") }); i >= 0 {
			t.Errorf("an observation of a cluster at rest called %s", w.Calls()[i].Method)
		}
		w.Edit(groupID("rg-2")+"/providers/Microsoft.Network/virtualNetworks/eu-1-vnet/subnets/eu-1-node-subnet", func(body map[string]any) {
			delete(body["properties"].(map[string]any), "routeTable")
		})
		w.create(&c, "m-0")
		w.until(&c, "repaired", func(i fleet.Infrastructure) bool {
			return len(i.Upkeep)+len(i.Drift) == 0 && w.tableOf("eu-1-node-subnet") == "routes"
		})
		w.Edit(groupID("rg-2")+"/providers/Microsoft.Network/virtualNetworks/eu-1-vnet/subnets/eu-1-node-subnet", func(body map[string]any) {
			delete(body["properties"].(map[string]any), "networkSecurityGroup")
		})
		time.Sleep(settle)
		w.ResetCalls()
		if err := w.p.EnsureInfrastructure(w.Context(), "op", &c); err != nil {
			t.Error(err)
		}
		if n := len(w.Calls()); n == 0 || slices.ContainsFunc(w.Calls(), func(c azuretest.Call) bool { return strings.Contains(c.Method, "routetables") }) {
			t.Errorf("of %d calls one is for the route table that the subnet has", n)
		}
		if err := w.p.DeleteMachine(w.Context(), "op", &c, "m-0", ""); err != nil {
			t.Error(err)
		}
		time.Sleep(settle)
		w.dismantle(&c)
		if left := w.Resources("routetables"); len(left) > 0 {
			t.Errorf("%s is left", left[0].ID)
		}
	})
}

// TestRouteTableAddedLater: a table that Git names later, or that cannot be used, keeps no machine from being made.
func TestRouteTableAddedLater(t *testing.T) {
	for name, tc := range map[string]struct {
		do   func(w *world)
		want string
	}{
		"one of others": {func(w *world) {
			w.Put(groupID("rg-2")+"/providers/Microsoft.Network/routeTables/routes", map[string]any{"location": azuretest.Location})
		}, "that is not of the cluster"},
		"a role that sees none": {func(w *world) { w.Deny("routetables", true) }, "routetables"},
		"none is there":         {func(*world) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				c := w.cluster(clusterSpec, machineSpec)
				w.create(&c, "m-0")
				with := newCluster(t, strings.Replace(routed, "GROUP", "rg-2", 1), machineSpec)
				tc.do(w)
				time.Sleep(settle)
				if got := w.observe(&with); !got.Ready || len(got.Drift) == 0 {
					t.Errorf("machines wait: %q, drift %q", got.Message, got.Drift)
				}
				err := w.p.EnsureInfrastructure(w.Context(), "op", &with)
				if got := w.observe(&with); !got.Ready || len(got.Drift) == 0 {
					t.Errorf("then machines wait: %q, drift %q", got.Message, got.Drift)
				}
				if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
					t.Errorf("EnsureInfrastructure = %v, want %q", err, tc.want)
				}
				if err := w.p.CreateMachine(w.Context(), "op", request(&with, "m-1")); err != nil {
					t.Error(err)
				}
				if tc.want == "" {
					w.until(&with, "routed", func(fleet.Infrastructure) bool {
						_ = w.p.EnsureInfrastructure(w.Context(), "op", &with)
						if got := w.observe(&with); !got.Ready {
							t.Errorf("machines wait: %q", got.Message)
						}
						return w.tableOf("eu-1-node-subnet") == "routes"
					})
				} else if got := w.tableOf("eu-1-node-subnet"); got != "" {
					t.Errorf("the subnet has table %s", got)
				}
			})
		})
	}
}

// TestSubnetWithTableLater: a subnet that Git names later waits for its route table, and the cluster says so.
func TestSubnetWithTableLater(t *testing.T) {
	in(t, func(w *world) {
		c := w.cluster(clusterSpec, machineSpec)
		w.create(&c, "m-0")
		with := newCluster(t, strings.Replace(clusterSpec, "GROUP, ", "rg-2, networkSpec: {vnet: {cidrBlocks: [10.0.0.0/8]}, subnets: [{role: control-plane}, {role: node}, {role: node, name: more, cidrBlocks: [10.2.0.0/16], routeTable: {name: routes}}]}, ", 1), machineSpec)
		w.Deny("routetables", true)
		for range 5 {
			if got := w.observe(&with); got.Ready {
				t.Error("it is ready without the subnet")
			}
			_ = w.p.EnsureInfrastructure(w.Context(), "op", &with)
			time.Sleep(tick)
		}
		w.Deny("routetables", false)
		w.ready(&with)
		if got := w.tableOf("more"); got != "routes" {
			t.Errorf("the subnet has the table %q", got)
		}
	})
}
