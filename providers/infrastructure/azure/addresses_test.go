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

// publicOf returns the public addresses whose names have a text.
func (w *world) publicOf(text string) []azuretest.Resource {
	return slices.DeleteFunc(w.Resources("publicipaddresses"), func(r azuretest.Resource) bool { return !strings.Contains(r.Name, text) })
}

// TestPublicAddressOfMachine: a machine has a public address and DNS servers as Git says. The address goes with it, or after it if
// people keep Azure from that.
func TestPublicAddressOfMachine(t *testing.T) {
	in(t, func(w *world) {
		w.Put(groupID("rg-2"), map[string]any{"location": azuretest.Location}) // of people
		c := w.cluster(clusterSpec, strings.Replace(machineSpec, "{", "{allocatePublicIP: true, dnsServers: [10.0.0.10], networkInterfaces: [{}, {}], ", 1))
		names := []fleet.MachineName{"m-0", "m-1", "m-2"}
		for _, name := range names {
			w.create(&c, name)
		}
		all := w.publicOf("-public-ip")
		if len(all) != 3 || all[0].Tags["fairlead.dev_machine"] != "m-0" {
			t.Fatalf("public addresses are %v", all)
		}
		for _, nic := range w.Resources("networkinterfaces") {
			dns, _ := nic.Body["properties"].(map[string]any)["dnsSettings"].(map[string]any)
			if list, _ := dns["dnsServers"].([]any); !slices.Equal(list, []any{"10.0.0.10"}) {
				t.Errorf("DNS servers of %s are %v", nic.Name, dns)
			}
		}
		w.Edit(groupID("rg-2")+"/providers/Microsoft.Network/networkInterfaces/m-1-nic", func(body map[string]any) {
			conf := body["properties"].(map[string]any)["ipConfigurations"].([]any)[0].(map[string]any)["properties"].(map[string]any)
			conf["publicIPAddress"].(map[string]any)["properties"] = map[string]any{"deleteOption": "Detach"}
		})
		w.Edit(groupID("rg-2")+"/providers/Microsoft.Compute/virtualMachines/m-2", func(body map[string]any) { // its interface stays for a while
			for _, x := range body["properties"].(map[string]any)["networkProfile"].(map[string]any)["networkInterfaces"].([]any) {
				x.(map[string]any)["properties"] = map[string]any{"deleteOption": "Detach"}
			}
		})
		gone := c
		gone.Delete = true
		for _, name := range names {
			if err := w.p.DeleteMachine(w.Context(), "op", &gone, name, ""); err != nil {
				t.Error(err)
			}
			time.Sleep(settle)
		}
		if left := w.publicOf("-public-ip"); len(left) != 2 || left[0].Name != "m-1-public-ip" {
			t.Errorf("left are %v", left)
		}
		if got := w.observe(&gone); strings.Contains(got.Message, "is no part of a machine") {
			t.Errorf("people are told %s", got.Message)
		}
		w.Inject(azuretest.Fault{Method: "DELETE publicipaddresses", When: func(c azuretest.Call) bool { return strings.HasSuffix(c.ID, "/m-1-public-ip") }, Status: 503, Code: "ServiceUnavailable", Times: 9})
		w.dismantle(&c)
		w.unrefused()
		if left := w.publicOf(""); len(left) > 0 {
			t.Errorf("left are %v", left)
		}
	})
}

// TestPublicAddressesOfCluster: names and tags of the public addresses of a cluster. A name can change, tags stay.
func TestPublicAddressesOfCluster(t *testing.T) {
	with := func(name, tag string) string {
		return strings.Replace(clusterSpec, "identityRef:", "networkSpec: {subnets: [{role: control-plane}, {role: node, natGateway: {ip: {dnsName: "+name+".example.org, ipTags: [{type: RoutingPreference, tag: "+tag+"}]}}}]}, identityRef:", 1)
	}
	in(t, func(w *world) {
		c := w.cluster(with("out", "Internet"), machineSpec)
		w.create(&c, "m-0")
		is := func() (label, tag any) {
			p := w.publicOf("natgw")[0].Body["properties"].(map[string]any)
			dns, _ := p["dnsSettings"].(map[string]any)
			tags, _ := p["ipTags"].([]any)
			if len(tags) != 1 {
				return dns["domainNameLabel"], nil
			}
			return dns["domainNameLabel"], tags[0].(map[string]any)["tag"]
		}
		if label, tag := is(); label != "out" || tag != "Internet" {
			t.Errorf("the address has the name %v and the tag %v", label, tag)
		}
		time.Sleep(settle)
		other := newCluster(t, strings.Replace(with("other", "Microsoft"), "GROUP", "rg-2", 1), machineSpec)
		got := w.observe(&other)
		if !got.Ready || !slices.ContainsFunc(got.Drift, func(d string) bool { return strings.Contains(d, "keeps the tags that it was created with") }) {
			t.Errorf("ready %t: %q, drift %q", got.Ready, got.Message, got.Drift)
		}
		_ = w.p.EnsureInfrastructure(w.Context(), "op", &other) // which says the same
		if label, tag := is(); label != "other" || tag != "Internet" {
			t.Errorf("the address has the name %v and the tag %v", label, tag)
		}
	})
}

// TestOverrides: what Git sets for the cloud controller manager is in azure.json, and without it that is as ever.
func TestOverrides(t *testing.T) {
	in(t, func(w *world) {
		text := func(spec string) string {
			c := w.cluster(spec, machineSpec)
			config, err := w.p.AnswerSecrets(w.Context(), &c, c.Workers[0])
			if err != nil {
				t.Fatal(err)
			}
			return string(config["nodes-azure-json"]["worker-node-azure.json"].Reveal())
		}
		if got := text(clusterSpec); !strings.HasPrefix(got, "{\n  \"cloud\": \"AzurePublicCloud\",\n  \"tenantId\":") || strings.Contains(got, "cloudProvider") {
			t.Errorf("azure.json without overrides is %s", got)
		}
		got := text(strings.Replace(clusterSpec, "identityRef:", "cloudProviderConfigOverrides: {backOffs: {cloudProviderBackoff: true, cloudProviderBackoffExponent: '1.5', cloudProviderBackoffRetries: 6}, rateLimits: [{name: defaultRateLimit, config: {cloudProviderRateLimitQPS: 500m}}, {name: diskRateLimit, config: {cloudProviderRateLimit: true, cloudProviderRateLimitBucket: 7}}]}, identityRef:", 1))
		for _, want := range []string{
			`"cloudProviderBackoff": true`, `"cloudProviderBackoffExponent": 1.5`, `"cloudProviderBackoffRetries": 6`, "\n  \"cloudProviderRateLimitQPS\": 0.5",
			"\"diskRateLimit\": {\n    \"cloudProviderRateLimit\": true,\n    \"cloudProviderRateLimitBucket\": 7\n  }", `"vmType": "vmss"`, `"maximumLoadBalancerRuleCount": 250`,
		} {
			if !strings.Contains(got, want) {
				t.Errorf("azure.json lacks %s: %s", want, got)
			}
		}
	})
}

// TestSameAddresses: tags of an address and groups of a private endpoint are the same in any case and order.
func TestSameAddresses(t *testing.T) {
	tagged := "{role: node, privateEndpoints: [" + strings.Replace(endpoint, "groupIDs: [registry]", "groupIDs: [registry, Registry2]", 1) + "], natGateway: {ip: {ipTags: [{type: RoutingPreference, tag: Internet}, {type: FirstPartyUsage, tag: /Sql}]}}}"
	in(t, func(w *world) {
		c := w.cluster(strings.Replace(clusterSpec, "identityRef:", "networkSpec: {subnets: [{role: control-plane}, "+tagged+"]}, identityRef:", 1), machineSpec)
		w.create(&c, "m-0")
		w.Edit(w.publicOf("natgw")[0].ID, func(body map[string]any) {
			p := body["properties"].(map[string]any)
			list := p["ipTags"].([]any)
			slices.Reverse(list)
			list[1].(map[string]any)["tag"] = "internet"
		})
		w.Edit(w.Resources("privateendpoints")[0].ID, func(body map[string]any) {
			body["properties"].(map[string]any)["ipConfigurations"] = []any{map[string]any{"name": "a", "properties": map[string]any{"privateIPAddress": "10.1.0.50"}}}
			body["properties"].(map[string]any)["privateLinkServiceConnections"].([]any)[0].(map[string]any)["properties"].(map[string]any)["groupIds"] = []any{"registry2", "Registry"}
		})
		time.Sleep(settle)
		if got := w.observe(&c); !rest(got) {
			t.Errorf("%q, drift %q", got.Message, got.Drift)
		}
	})
}

// TestNATCalledAPIServer: the address of a NAT gateway called apiserver is not that of the API server.
func TestNATCalledAPIServer(t *testing.T) {
	for _, kind := range []string{"Public", "Internal", "elsewhere"} {
		in(t, func(w *world) {
			c := w.cluster(strings.Replace(clusterSpec, "identityRef:", "networkSpec: {apiServerLB: {type: "+strings.Replace(kind, "elsewhere", "Public", 1)+"}, subnets: [{role: control-plane}, {role: node, natGateway: {name: apiserver}}]}, identityRef:", 1), machineSpec)
			if c.APIElsewhere = kind == "elsewhere"; c.APIElsewhere {
				c.Endpoint = fleet.Endpoint{Host: "api.example.org", Port: 6443}
			}
			w.create(&c, "m-0")
			parts := map[string]string{}
			for _, r := range w.publicOf("") {
				parts[r.Name] = r.Tags["fairlead.dev_part"]
			}
			want := map[string]string{ // the last two as they ever were
				"Public":    "map[pip-apiserver:nat-ip-apiserver pip-eu-1-apiserver:ip-apiserver]",
				"Internal":  "map[pip-apiserver:ip-apiserver pip-eu-1-node-natgw:ip-eu-1-node-natgw]",
				"elsewhere": "map[pip-apiserver:ip-apiserver pip-eu-1-node-natgw:ip-eu-1-node-natgw]",
			}[kind]
			if got := fmt.Sprint(parts); got != want {
				t.Errorf("%s: addresses are %s, want %s", kind, got, want)
			}
			w.end(&c)
		})
	}
}

// TestNameInUse: of two clusters that give an address one name in DNS, the second says so, and its machines go on. What people set of
// the name otherwise stays.
func TestNameInUse(t *testing.T) {
	with := func(name string) string {
		return strings.Replace(clusterSpec, "identityRef:", "networkSpec: {subnets: [{role: control-plane}, {role: node, natGateway: {ip: {dnsName: "+name+".example.org}}}]}, identityRef:", 1)
	}
	in(t, func(w *world) {
		c := w.cluster(with("out"), machineSpec)
		w.create(&c, "m-0")
		d := w.cluster(with("other"), machineSpec)
		d.Key.Name = "eu-2"
		w.create(&d, "n-0")
		for _, r := range w.publicOf("natgw") {
			w.Edit(r.ID, func(body map[string]any) {
				body["properties"].(map[string]any)["dnsSettings"].(map[string]any)["reverseFqdn"] = "mail.example.org."
			})
		}
		same := newCluster(t, strings.Replace(with("out"), "GROUP", "rg-3", 1), machineSpec)
		same.Key.Name = "eu-2"
		time.Sleep(settle)
		err := w.p.EnsureInfrastructure(w.Context(), "op", &same)
		if wantKind(t, "EnsureInfrastructure", err, fleet.Conflict); !strings.Contains(err.Error(), "already used by another public IP") {
			t.Error(err)
		}
		if err := w.p.CreateMachine(w.Context(), "op", request(&same, "n-1")); err != nil {
			t.Error(err)
		}
		third := newCluster(t, strings.Replace(with("third"), "GROUP", "rg-3", 1), machineSpec)
		third.Key.Name = "eu-2"
		w.follow(&third, "renamed", func() bool { return true })
		for _, r := range w.publicOf("eu-2-node-natgw") {
			dns := r.Body["properties"].(map[string]any)["dnsSettings"].(map[string]any)
			if dns["domainNameLabel"] != "third" || dns["reverseFqdn"] != "mail.example.org." {
				t.Errorf("the address is called %v", dns)
			}
		}
	})
}
