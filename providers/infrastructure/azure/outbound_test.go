package azure_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/azure/azuretest"
)

// outbound is an internal cluster whose machines reach the internet through load balancers.
var outbound = strings.Replace(clusterSpec, "identityRef:", "networkSpec: {apiServerLB: {type: Internal}, nodeOutboundLB: {frontendIPsCount: 2}, controlPlaneOutboundLB: {backendPool: {name: servers}}}, identityRef:", 1)

// balancer returns the load balancer of a name, with the names of its frontends.
func (w *world) balancer(name string) (properties map[string]any, fronts []string) {
	r, _ := w.Resource(groupID("rg-2") + "/providers/Microsoft.Network/loadBalancers/" + name)
	p, _ := r.Body["properties"].(map[string]any)
	list, _ := p["frontendIPConfigurations"].([]any)
	for _, x := range list {
		fronts = append(fronts, fmt.Sprint(x.(map[string]any)["name"]))
	}
	return p, fronts
}

// pools returns the names of the pools that an interface is in.
func (w *world) pools(name string) (out []string) {
	nic, _ := w.Resource(groupID("rg-2") + "/providers/Microsoft.Network/networkInterfaces/" + name)
	conf := nic.Body["properties"].(map[string]any)["ipConfigurations"].([]any)[0].(map[string]any)["properties"].(map[string]any)
	list, _ := conf["loadBalancerBackendAddressPools"].([]any)
	for _, x := range list {
		id := x.(map[string]any)["id"].(string)
		out = append(out, id[strings.LastIndexByte(id, '/')+1:])
	}
	return out
}

// TestOutbound: outbound load balancers are made before machines, which are behind them from their beginning. Servers need no NAT
// gateway then. What Git adds follows, and what the cloud controller manager added stays.
func TestOutbound(t *testing.T) {
	in(t, func(w *world) {
		c := w.cluster(outbound, strings.Replace(machineSpec, "{", "{networkInterfaces: [{}, {}], ", 1))
		w.Inject(azuretest.Fault{Method: "PUT loadbalancers", Lose: true, Times: 2})
		for _, name := range []fleet.MachineName{"cp-0", "m-0"} {
			w.create(&c, name)
		}
		if got, want := fmt.Sprint(w.pools("cp-0-nic"), w.pools("m-0-nic"), w.pools("m-0-nic-1")), "[eu-1-internal-lb-backendPool servers] [eu-1-outboundBackendPool] []"; got != want {
			t.Errorf("machines are in the pools %s, want %s", got, want)
		}
		for _, s := range w.Resources("subnets") {
			if _, has := s.Body["properties"].(map[string]any)["natGateway"]; has != strings.Contains(s.Name, "node") {
				t.Errorf("%s has a NAT gateway: %t", s.Name, has)
			}
		}
		var ips []string
		for _, r := range w.publicOf("outbound") {
			ips = append(ips, r.Name)
		}
		if got, want := fmt.Sprint(ips), "[pip-eu-1-controlplane-outbound pip-eu-1-node-outbound-1 pip-eu-1-node-outbound-2]"; got != want {
			t.Errorf("addresses are %s, want %s", got, want)
		}
		p, fronts := w.balancer("eu-1")
		rules, _ := p["outboundRules"].([]any)
		if fmt.Sprint(fronts) != "[eu-1-frontEnd-1 eu-1-frontEnd-2]" || len(rules) != 1 || !strings.Contains(fmt.Sprint(rules), "eu-1-frontEnd-2") {
			t.Errorf("the load balancer has %v and %v", fronts, rules)
		}
		config, err := w.p.AnswerSecrets(w.Context(), &c, c.Workers[0])
		if text := string(config["nodes-azure-json"]["worker-node-azure.json"].Reveal()); err != nil || !strings.Contains(text, `"loadBalancerName": "eu-1"`) {
			t.Errorf("azure.json is %s, %v", text, err)
		}
		for _, call := range w.Calls() {
			if call.Method == "PUT loadbalancers" && strings.Contains(fmt.Sprint(call.Body), "publicIPAddress:map[id:]") {
				t.Errorf("a load balancer without an address was requested: %v", call.Body)
			}
		}
		time.Sleep(settle)
		if got := w.observe(&c); !rest(got) {
			t.Errorf("%q, drift %q, upkeep %q", got.Message, got.Drift, got.Upkeep)
		}

		lb := groupID("rg-2") + "/providers/Microsoft.Network/loadBalancers/eu-1"
		w.Edit(lb, func(body map[string]any) { // as for a Service
			p := body["properties"].(map[string]any)
			p["frontendIPConfigurations"] = append(p["frontendIPConfigurations"].([]any), map[string]any{"name": "a1b2", "id": lb + "/frontendIPConfigurations/a1b2"})
			p["loadBalancingRules"] = []any{map[string]any{"name": "a1b2-TCP-80"}}
		})
		more := newCluster(t, strings.NewReplacer("frontendIPsCount: 2", "frontendIPsCount: 3, idleTimeoutInMinutes: 9", "GROUP", "rg-2").Replace(outbound), machineSpec)
		w.follow(&more, "larger", func() bool { return true })
		p, fronts = w.balancer("eu-1")
		slices.Sort(fronts)
		if got := fmt.Sprint(p["outboundRules"]); fmt.Sprint(fronts) != "[a1b2 eu-1-frontEnd-1 eu-1-frontEnd-2 eu-1-frontEnd-3]" || !strings.Contains(got, "eu-1-frontEnd-3") || !strings.Contains(got, "idleTimeoutInMinutes:9") || len(p["loadBalancingRules"].([]any)) != 1 {
			t.Errorf("the load balancer has %v and %v", fronts, p)
		}
		idle := newCluster(t, strings.NewReplacer("frontendIPsCount: 2", "frontendIPsCount: 3, idleTimeoutInMinutes: 12", "GROUP", "rg-2").Replace(outbound), machineSpec)
		w.follow(&idle, "slower", func() bool { return true })
		if p, _ = w.balancer("eu-1"); !strings.Contains(fmt.Sprint(p["outboundRules"]), "idleTimeoutInMinutes:12") {
			t.Errorf("the rule is %v", p["outboundRules"])
		}
		less := newCluster(t, strings.NewReplacer("frontendIPsCount: 2", "frontendIPsCount: 1, idleTimeoutInMinutes: 12, frontendIPs: [{name: eu-1-frontEnd-1, publicIP: {name: pip-eu-1-node-outbound-1}}]", "GROUP", "rg-2").Replace(outbound), machineSpec)
		w.follow(&less, "smaller", func() bool { return true })
		if p, _ = w.balancer("eu-1"); strings.Contains(fmt.Sprint(p["outboundRules"]), "eu-1-frontEnd-2") {
			t.Errorf("machines still have the addresses %v", p["outboundRules"])
		}
		gone := c
		gone.Delete = true
		if err := w.p.DeleteMachine(w.Context(), "op", &gone, "cp-0", ""); err != nil {
			t.Error(err)
		}
		time.Sleep(settle)
		w.end(&c)
		if n := len(w.Resources("loadbalancers")) + len(w.Resources("publicipaddresses")); n > 0 {
			t.Errorf("%d things are left", n)
		}
	})
}

// TestOutboundLater: a load balancer that Git adds to a running cluster, and that cannot be made, is told. A machine waits for its own.
func TestOutboundLater(t *testing.T) {
	in(t, func(w *world) {
		c := w.cluster(clusterSpec, machineSpec)
		w.create(&c, "m-0")
		w.Put(groupID("rg-2")+"/providers/Microsoft.Network/loadBalancers/eu-1", map[string]any{"location": azuretest.Location}) // of others
		with := newCluster(t, strings.NewReplacer("identityRef:", "networkSpec: {nodeOutboundLB: {}}, identityRef:", "GROUP", "rg-2").Replace(clusterSpec), machineSpec)
		var err error
		for range 3 {
			time.Sleep(settle)
			err = w.p.EnsureInfrastructure(w.Context(), "op", &with)
		}
		if wantKind(t, "EnsureInfrastructure", err, fleet.Conflict); !strings.Contains(err.Error(), "that is not of the cluster") {
			t.Error(err)
		}
		if got := w.observe(&with); !got.Ready || len(got.Drift) == 0 {
			t.Errorf("the cluster waits for it: %q, drift %q", got.Message, got.Drift)
		}
		wantKind(t, "a machine without its load balancer", w.p.CreateMachine(w.Context(), "op", request(&with, "m-1")), fleet.Conflict)
	})
}

// TestOutboundRenamed: an outbound load balancer keeps the names of what it has if Git has others by now, and new machines are behind
// it. One address becomes two.
func TestOutboundRenamed(t *testing.T) {
	with := func(t *testing.T, lb string) fleet.Cluster {
		return newCluster(t, strings.NewReplacer("identityRef:", "networkSpec: {apiServerLB: {type: Internal}, nodeOutboundLB: "+lb+"}, identityRef:", "GROUP", "rg-2").Replace(clusterSpec), machineSpec)
	}
	in(t, func(w *world) {
		w.cluster(clusterSpec, machineSpec)
		c := with(t, "{}")
		w.create(&c, "m-0")
		two := with(t, "{frontendIPsCount: 2}")
		w.follow(&two, "larger", func() bool { return true })
		p, fronts := w.balancer("eu-1")
		if rule := fmt.Sprint(p["outboundRules"]); fmt.Sprint(fronts) != "[eu-1-frontEnd eu-1-frontEnd-2]" || !strings.Contains(rule, "eu-1-frontEnd-2") || !strings.Contains(rule, "eu-1-frontEnd ") && !strings.Contains(rule, "eu-1-frontEnd]") {
			t.Errorf("the load balancer has %v and %v", fronts, p)
		}
		w.create(&two, "m-1")
		for name, lb := range map[string]string{"the load balancer": "{frontendIPsCount: 2, name: out}", "the pool": "{frontendIPsCount: 2, backendPool: {name: out}}"} {
			renamed := with(t, lb)
			time.Sleep(settle)
			if got := w.observe(&renamed); !got.Ready || len(got.Drift) != 1 || !strings.Contains(got.Drift[0], "cannot get the name out") {
				t.Errorf("%s has another name: ready %t, %q, drift %q", name, got.Ready, got.Message, got.Drift)
			}
			machine := fleet.MachineName("n-" + lb[len(lb)-3:len(lb)-2])
			if err := w.p.CreateMachine(w.Context(), "op", request(&renamed, machine)); err != nil {
				t.Errorf("%s has another name: %v", name, err)
			}
			if got := w.pools(string(machine) + "-nic"); !slices.Equal(got, []string{"eu-1-outboundBackendPool"}) {
				t.Errorf("%s has another name: the machine is in %v", name, got)
			}
		}
	})
}
