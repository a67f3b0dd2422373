package azure_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/azure"
	"fairlead.dev/providers/infrastructure/azure/arm"
	"fairlead.dev/providers/infrastructure/azure/azuretest"
)

// TestGroupWithUnlisted: the listing of all types of a group is a copy that lags, and what is in the group of others stays.
func TestGroupWithUnlisted(t *testing.T) {
	in(t, func(w *world) {
		w.ready(&w.c)
		theirs := w.AddVM("rg-1", "theirs") // the VM listing shows it, the copy does not yet
		gone := w.c
		gone.Delete = true
		w.p = on(lagging{w.Cloud})
		for range 20 {
			if err := w.p.DeleteInfrastructure(w.Context(), "op", &gone); err != nil {
				t.Log(err)
			}
			time.Sleep(settle)
		}
		if _, ok := w.Resource(theirs); !ok {
			t.Error("a VM of somebody else is gone with the group")
		}
	})
}

// TestBalancerOfOthers: what others added to the load balancer stays.
func TestBalancerOfOthers(t *testing.T) {
	in(t, func(w *world) {
		m := w.create(&w.c, "cp-0")
		lb := w.Resources("loadbalancers")[0]
		w.Edit(lb.ID, func(body map[string]any) {
			p := body["properties"].(map[string]any)
			add := func(key, name string, props map[string]any) {
				list, _ := p[key].([]any)
				p[key] = append([]any{map[string]any{"name": name, "id": lb.ID + "/" + key + "/" + name, "properties": props}}, list...)
			}
			add("backendAddressPools", "kubernetes", map[string]any{})
			add("loadBalancingRules", "a-service-TCP-443", map[string]any{"frontendPort": 443, "backendPort": 443})
			add("probes", "a-service-TCP-443", map[string]any{"port": 30443})
			add("outboundRules", "theirs", map[string]any{})
		})
		time.Sleep(2 * tick)
		t.Log(w.observe(&w.c).Drift, w.observe(&w.c).Upkeep)
		for range 5 {
			if err := w.p.EnsureInfrastructure(w.Context(), "op", &w.c); err != nil {
				t.Log(err)
			}
			time.Sleep(settle)
		}
		text := fmt.Sprint(w.Resources("loadbalancers")[0].Body)
		for _, want := range []string{"/loadBalancingRules/a-service-TCP-443", "/probes/a-service-TCP-443", "/outboundRules/theirs"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s of others is gone", want)
			}
		}
		for _, nic := range w.Resources("networkinterfaces") {
			if strings.Contains(fmt.Sprint(nic.Body), "/backendAddressPools/kubernetes") {
				t.Errorf("server %s was put into the pool of others: %v", m.Name, nic.Body["properties"])
			}
			if !strings.Contains(fmt.Sprint(nic.Body), "eu-1-public-lb-backendPool") {
				t.Errorf("server %s left the pool of the API server", m.Name)
			}
		}
	})
}

// TestRestoredDisk: a disk that people made of one of a machine has its tags, and stays.
func TestRestoredDisk(t *testing.T) {
	in(t, func(w *world) {
		m := w.create(&w.c, "cp-0")
		vm, _ := w.Resource(vmID(m.ProviderID))
		tags := map[string]any{}
		for k, v := range vm.Tags {
			tags[k] = v
		}
		id := groupID("rg-1") + "/providers/Microsoft.Compute/disks/restored-etcd"
		w.Put(id, map[string]any{"location": azuretest.Location, "tags": tags, "properties": map[string]any{"diskState": "Unattached"}})
		if err := w.p.DeleteMachine(w.Context(), "op", &w.c, "cp-0", m.ProviderID); err != nil {
			t.Fatal(err)
		}
		w.until(&w.c, "gone", func(i fleet.Infrastructure) bool { return len(i.Machines) == 0 && len(i.Upkeep) == 0 })
		if _, ok := w.Resource(id); !ok {
			t.Error("a disk that people restored is gone")
		}
	})
}

// TestRestoredVM: a VM that people restored under another name has the tags of a machine, and stays.
func TestRestoredVM(t *testing.T) {
	in(t, func(w *world) {
		m := w.create(&w.c, "cp-0")
		vm, _ := w.Resource(vmID(m.ProviderID))
		id := w.AddVM("rg-1", "a-restored")
		w.Retag(id, func(tags map[string]string) {
			for k, v := range vm.Tags {
				tags[k] = v
			}
		})
		nic := groupID("rg-1") + "/providers/Microsoft.Network/networkInterfaces/a-restored"
		subnet := groupID("net") + "/providers/Microsoft.Network/virtualNetworks/corp/subnets/nodes"
		w.given()
		w.Put(nic, map[string]any{"location": azuretest.Location, "properties": map[string]any{"ipConfigurations": []any{map[string]any{"name": "a", "properties": map[string]any{"subnet": map[string]any{"id": subnet}}}}}})
		w.Edit(id, func(body map[string]any) {
			body["properties"].(map[string]any)["networkProfile"] = map[string]any{"networkInterfaces": []any{map[string]any{"id": nic}}}
		})
		time.Sleep(2 * tick)
		if got := w.observe(&w.c); !got.Ready {
			t.Errorf("the cluster is not ready beside a VM that was restored elsewhere: %s", got.Message)
		}
		for _, x := range w.observe(&w.c).Machines {
			t.Logf("%s %s damaged=%q", x.Name, x.ProviderID, x.Damaged)
			if x.ProviderID != m.ProviderID {
				err := w.p.DeleteMachine(w.Context(), "op", &w.c, x.Name, x.ProviderID)
				t.Log(err)
			}
		}
		time.Sleep(settle)
		if _, ok := w.Resource(id); !ok {
			t.Error("a VM that people restored is gone")
		}
	})
}

// TestWorkerPassword: the key of servers has no password for a worker.
func TestWorkerPassword(t *testing.T) {
	in(t, func(w *world) {
		got, err := w.p.AnswerSecrets(w.Context(), &w.c, w.c.Workers[0])
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(got["nodes-azure-json"]["control-plane-azure.json"].Reveal()), azuretest.Password) {
			t.Error("a worker can have the password")
		}
	})
}

// TestSameName: two clusters of one name in two namespaces without a resourceGroup.
func TestSameName(t *testing.T) {
	in(t, func(w *world) {
		c := w.cluster(strings.Replace(clusterSpec, ", resourceGroup: GROUP", "", 1), machineSpec)
		w.ready(&c)
		o := c
		o.Key.Namespace = "dev"
		before := fmt.Sprint(w.Resources("virtualnetworks"))
		for range 10 {
			got := w.observe(&o)
			t.Logf("ready=%v %s drift=%v", got.Ready, got.Message, got.Drift)
			t.Log(w.p.EnsureInfrastructure(w.Context(), "op", &o))
			time.Sleep(settle)
		}
		if fmt.Sprint(w.Resources("virtualnetworks")) != before {
			t.Error("changed")
		}
	})
}

// TestLeaveBoth: a server stays after all while the other one goes.
func TestLeaveBoth(t *testing.T) {
	in(t, func(w *world) {
		a := w.create(&w.c, "cp-0")
		b := w.create(&w.c, "cp-1")
		if err := w.p.LeaveEndpoint(w.Context(), &w.c, "cp-0", a.ProviderID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(settle)
		if err := w.p.DeleteMachine(w.Context(), "op", &w.c, "cp-1", b.ProviderID); err != nil {
			t.Log(err)
		}
		time.Sleep(settle)
		for range 3 {
			_ = w.p.EnsureInfrastructure(w.Context(), "op", &w.c)
			time.Sleep(settle)
		}
		_, there := w.Resource(vmID(b.ProviderID))
		nic := fmt.Sprint(w.Resources("networkinterfaces")[0].Body)
		if !there && !strings.Contains(nic, "eu-1-public-lb-backendPool") {
			t.Error("cp-1 is gone, and the load balancer leads to nothing")
		}
	})
}

// TestNotARM: an answer of 404 that is not of Azure Resource Manager ends no deletion while VMs run.
func TestNotARM(t *testing.T) {
	in(t, func(w *world) {
		w.create(&w.c, "cp-0")
		gone := w.c
		gone.Delete = true
		time.Sleep(2 * tick)
		w.Inject(azuretest.Fault{Method: "GET resourcegroups", Status: 404})
		if got, err := w.p.Observe(w.Context(), &gone); err == nil && !got.Exists {
			t.Error("the cluster is gone, and its VM runs")
		}
	})
}

// TestNoList: an answer of 200 without a list is no empty one.
func TestNoList(t *testing.T) {
	in(t, func(w *world) {
		w.create(&w.c, "cp-0")
		time.Sleep(2 * tick)
		w.Inject(azuretest.Fault{Method: "LIST virtualmachines", Status: 200, Code: "x"})
		if got, err := w.p.Observe(w.Context(), &w.c); err == nil && len(got.Machines) == 0 {
			t.Error("an answer without a list is taken for: there are no machines")
		}
	})
}

// TestSameNameOtherBalancer: two clusters of one name in one group are refused, also if their load balancers have other names.
func TestSameNameOtherBalancer(t *testing.T) {
	in(t, func(w *world) {
		c := w.cluster(strings.Replace(clusterSpec, ", resourceGroup: GROUP", "", 1), machineSpec)
		w.ready(&c)
		o := newCluster(t, strings.Replace(strings.Replace(clusterSpec, ", resourceGroup: GROUP", "", 1), "identityRef", "networkSpec: {apiServerLB: {name: other, frontendIPs: [{name: f, publicIP: {name: other-ip}}]}}, identityRef", 1), machineSpec)
		o.Key.Namespace = "dev"
		for range 10 {
			t.Log(w.p.EnsureInfrastructure(w.Context(), "op", &o))
			time.Sleep(settle)
		}
		if w.observe(&o).Ready {
			t.Error("a cluster of the same name lives in the VNet of the first, and their cloud controllers have one name")
		}
	})
}

// TestGroupOfPeople: people make the group between the look and the request, and Azure heeds no condition for groups.
func TestGroupOfPeople(t *testing.T) {
	in(t, func(w *world) {
		_ = w.observe(&w.c) // no group
		w.Put(groupID("rg-1"), map[string]any{"location": azuretest.Location, "tags": map[string]any{"owner": "people"}})
		w.p = azure.New(azure.Options{ARM: arm.Options{Base: unconditional{w.Cloud}}, Tick: time.Hour, Settle: settle, Secret: func(context.Context, fleet.Key) (fleet.SecretData, error) {
			return fleet.SecretData{"clientSecret": fleet.NewSecret([]byte(azuretest.Password))}, nil
		}})
		g, _ := w.Resource(groupID("rg-1"))
		w.Drop(g.ID)
		_ = w.observe(&w.c) // remembers that there is none
		w.Put(groupID("rg-1"), map[string]any{"location": azuretest.Location, "tags": map[string]any{"owner": "people"}})
		t.Log(w.p.EnsureInfrastructure(w.Context(), "op", &w.c))
		if g, _ := w.Resource(groupID("rg-1")); g.Tags["owner"] != "people" {
			t.Errorf("the group of people has the tags %v, and goes with the cluster", g.Tags)
		}
	})
}

type unconditional struct{ *azuretest.Cloud }

func (u unconditional) RoundTrip(q *http.Request) (*http.Response, error) {
	if strings.Count(q.URL.Path, "/") == 4 {
		q = q.Clone(q.Context())
		q.Header.Del("If-None-Match")
	}
	return u.Cloud.RoundTrip(q)
}

// lagging is a cloud whose listing of all types does not have what is new.
type lagging struct{ *azuretest.Cloud }

func (l lagging) RoundTrip(q *http.Request) (*http.Response, error) {
	if strings.HasSuffix(q.URL.Path, "/resources") {
		return &http.Response{StatusCode: 200, Status: "200 OK", Header: http.Header{}, Request: q, Body: io.NopCloser(strings.NewReader(`{"value": []}`))}, nil
	}
	return l.Cloud.RoundTrip(q)
}

// TestAzureJSONOfAnother: manifests of a pool refer to the azure.json of the template of another pool, as CAPZ allows.
func TestAzureJSONOfAnother(t *testing.T) {
	in(t, func(w *world) {
		c := w.c
		c.Workers = append(c.Workers, c.Workers[0])
		c.Workers[1].Name, c.Workers[1].Infrastructure.Name = "eu-1-md-1", "nodes-large"
		c.Secrets = map[string]fleet.SecretData{}
		for _, name := range []string{"nodes-azure-json", "nodes-large-azure-json"} {
			c.Secrets[name] = fleet.AnsweredLater([]string{"control-plane-azure.json", "worker-node-azure.json"})
		}
		got, err := w.p.AnswerSecrets(w.Context(), &c, c.Workers[1])
		if err != nil {
			t.Fatal(err)
		}
		if text := string(c.WithAnswers(got).Secrets["nodes-azure-json"]["worker-node-azure.json"].Reveal()); !strings.HasPrefix(text, "{") {
			t.Errorf("azure.json of the machine is %q", text)
		}
	})
}

// careless is a cloud that heeds no condition at births on anything but VMs: Azure documents none for its network.
type careless struct{ *azuretest.Cloud }

func (u careless) RoundTrip(q *http.Request) (*http.Response, error) {
	if !strings.Contains(q.URL.Path, "/virtualMachines/") {
		q = q.Clone(q.Context())
		q.Header.Del("If-None-Match")
	}
	return u.Cloud.RoundTrip(q)
}

// on returns a provider that knows nothing yet, of a cloud behind base.
func on(base http.RoundTripper) *azure.Provider {
	return azure.New(azure.Options{ARM: arm.Options{Base: base}, Tick: tick, Settle: settle, Secret: func(context.Context, fleet.Key) (fleet.SecretData, error) {
		return fleet.SecretData{"clientSecret": fleet.NewSecret([]byte(azuretest.Password))}, nil
	}})
}

// TestNamesOfOthers: what has the name of a part of the cluster and not its tags stays as it is, whether Azure heeds
// conditions at births or not.
func TestNamesOfOthers(t *testing.T) {
	in(t, func(w *world) {
		at := groupID("rg-1") + "/providers/Microsoft.Network/"
		ids := []string{at + "networkSecurityGroups/eu-1-node-nsg", at + "loadBalancers/eu-1-public-lb", at + "natGateways/eu-1-node-natgw"}
		for _, id := range ids {
			w.Put(id, map[string]any{"location": azuretest.Location, "properties": map[string]any{"theirs": true}})
		}
		w.p = on(careless{w.Cloud})
		for range 20 {
			err := w.p.EnsureInfrastructure(w.Context(), "op", &w.c)
			if err != nil && !strings.Contains(err.Error(), "is not of the cluster") {
				t.Error(err)
			}
			time.Sleep(settle)
		}
		for _, id := range ids {
			if r, _ := w.Resource(id); r.Body["properties"].(map[string]any)["theirs"] != true || len(r.Tags) > 0 {
				t.Errorf("%s of people is %v", r.Name, r.Body)
			}
		}
	})
}

// TestPoolOfOthers: a pool that got another name in Git leads servers into none of others.
func TestPoolOfOthers(t *testing.T) {
	in(t, func(w *world) {
		w.create(&w.c, "cp-0")
		lb := w.Resources("loadbalancers")[0]
		w.Edit(lb.ID, func(body map[string]any) {
			p := body["properties"].(map[string]any)
			for _, key := range []string{"backendAddressPools", "frontendIPConfigurations"} {
				p[key] = append([]any{map[string]any{"name": "theirs", "id": lb.ID + "/" + key + "/theirs", "properties": map[string]any{}}}, p[key].([]any)...)
			}
		})
		c := newCluster(t, strings.Replace(strings.Replace(clusterSpec, "GROUP", "rg-1", 1), "identityRef",
			"networkSpec: {apiServerLB: {idleTimeoutInMinutes: 9, backendPool: {name: other}, frontendIPs: [{name: other}]}}, identityRef", 1), machineSpec)
		time.Sleep(2 * tick)
		for range 5 {
			if err := w.p.EnsureInfrastructure(w.Context(), "op", &c); err != nil {
				t.Error(err)
			}
			time.Sleep(settle)
		}
		if text := fmt.Sprint(w.Resources("networkinterfaces")[0].Body); strings.Contains(text, "/backendAddressPools/theirs") || !strings.Contains(text, "/backendAddressPools/eu-1-public-lb-backendPool") {
			t.Errorf("the server is behind %s", text)
		}
		p := w.Resources("loadbalancers")[0].Body["properties"].(map[string]any)
		if rules := fmt.Sprint(p["loadBalancingRules"], p["outboundRules"]); strings.Contains(rules, "/theirs") || !strings.Contains(rules, "idleTimeoutInMinutes:9") {
			t.Errorf("the rules are %s", rules)
		}
	})
}

// TestKeptLeftover: a disk that is left of a machine stays if people take its tags away before it is deleted.
func TestKeptLeftover(t *testing.T) {
	in(t, func(w *world) {
		m := w.create(&w.c, "cp-0")
		w.setFree(m)
		disk := groupID("rg-1") + "/providers/Microsoft.Compute/disks/cp-0_etcd"
		w.Watch(func(c azuretest.Call) {
			if c.Method == "GET virtualmachines" {
				w.Retag(disk, func(tags map[string]string) { clear(tags) })
			}
		})
		time.Sleep(settle)
		for range 3 {
			if err := w.p.EnsureInfrastructure(w.Context(), "op", &w.c); err != nil {
				t.Log(err)
			}
			time.Sleep(settle)
		}
		if _, ok := w.Resource(disk); !ok {
			t.Error("a disk whose tags people took away is gone")
		}
	})
}

// TestSecondInterface: a server is led to by its first interface, also while that is not listed.
func TestSecondInterface(t *testing.T) {
	in(t, func(w *world) {
		c := w.cluster(clusterSpec, strings.Replace(machineSpec, "{", "{networkInterfaces: [{}, {}], ", 1))
		w.create(&c, "cp-0")
		w.Drop(groupID("rg-2") + "/providers/Microsoft.Network/networkInterfaces/cp-0-nic")
		time.Sleep(settle)
		if err := w.p.EnsureInfrastructure(w.Context(), "op", &c); err != nil {
			t.Log(err)
		}
		if text := fmt.Sprint(w.Resources("networkinterfaces")[0].Body); strings.Contains(text, "/backendAddressPools/") {
			t.Errorf("the second interface is behind the load balancer: %s", text)
		}
	})
}

// TestTakenOver: a network security group that another cluster has by now is not changed.
func TestTakenOver(t *testing.T) {
	in(t, func(w *world) {
		w.create(&w.c, "m-0")
		c := newCluster(t, strings.Replace(strings.Replace(clusterSpec, "GROUP", "rg-1", 1), "identityRef",
			"networkSpec: {subnets: [{role: control-plane}, {role: node, securityGroup: {securityRules: [{name: web, priority: 300, protocol: Tcp}]}}]}, identityRef", 1), machineSpec)
		w.Watch(func(call azuretest.Call) {
			if call.Method == "GET networksecuritygroups" {
				w.Retag(call.ID, func(tags map[string]string) { tags["fairlead.dev_cluster"] = "prod/theirs" })
			}
		})
		time.Sleep(2 * tick)
		wantKind(t, "EnsureInfrastructure", w.p.EnsureInfrastructure(w.Context(), "op", &c), fleet.Conflict)
		if text := fmt.Sprint(w.Resources("networksecuritygroups")); strings.Contains(text, "name:web") {
			t.Errorf("it has the rules of this cluster: %s", text)
		}
	})
}

// TestCopies: what people copied with the tags of a part is not taken for it.
func TestCopies(t *testing.T) {
	in(t, func(w *world) {
		w.create(&w.c, "cp-0")
		for _, kind := range []string{"loadbalancers", "virtualnetworks", "networksecuritygroups", "publicipaddresses"} {
			for _, r := range w.Resources(kind) {
				text := strings.ReplaceAll(jsonOf(t, r.Body), r.Name, "a-copy-of-"+r.Name)
				body := map[string]any{}
				if err := json.Unmarshal([]byte(text), &body); err != nil {
					t.Fatal(err)
				}
				w.Put(fmt.Sprint(body["id"]), body)
			}
		}
		m := w.create(&w.c, "cp-1")
		if got := w.observe(&w.c); len(got.Drift) > 0 {
			t.Errorf("drift %v", got.Drift)
		}
		for _, r := range append(w.Resources("networkinterfaces"), w.Resources("subnets")...) {
			if text := fmt.Sprint(r.Body); strings.Contains(text, "a-copy-of") {
				t.Errorf("%s leads to a copy: %s", r.Name, text)
			}
		}
		if got := w.served(&w.c, "rg-1"); !slices.Contains(got, m.Name) {
			t.Errorf("the load balancers lead to %v", got)
		}
	})
}

func jsonOf(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestNetworkOfPeople: a NAT gateway that people gave a subnet which needs none stays, and so do ranges that they added.
func TestNetworkOfPeople(t *testing.T) {
	in(t, func(w *world) {
		w.create(&w.c, "cp-0")
		nat := groupID("rg-1") + "/providers/Microsoft.Network/natGateways/theirs"
		w.Put(nat, map[string]any{"location": azuretest.Location})
		w.Edit(w.Resources("subnets")[0].ID, func(body map[string]any) {
			p := body["properties"].(map[string]any)
			p["natGateway"] = map[string]any{"id": nat}
			p["addressPrefixes"] = []any{p["addressPrefix"], "172.16.1.0/24"}
			delete(p, "addressPrefix")
		})
		w.Edit(w.Resources("virtualnetworks")[0].ID, func(body map[string]any) {
			space := body["properties"].(map[string]any)["addressSpace"].(map[string]any)
			space["addressPrefixes"] = append(space["addressPrefixes"].([]any), "172.16.0.0/16")
		})
		time.Sleep(2 * tick)
		if got := w.observe(&w.c); len(got.Drift) > 0 {
			t.Errorf("drift %v", got.Drift)
		}
		if err := w.p.EnsureInfrastructure(w.Context(), "op", &w.c); err != nil {
			t.Error(err)
		}
		w.Edit(w.Resources("subnets")[0].ID, func(body map[string]any) { delete(body["properties"].(map[string]any), "networkSecurityGroup") })
		time.Sleep(settle)
		if err := w.p.EnsureInfrastructure(w.Context(), "op", &w.c); err != nil {
			t.Error(err)
		}
		if text := fmt.Sprint(w.Resources("subnets")[0].Body); !strings.Contains(text, "natGateways/theirs") || !strings.Contains(text, "networkSecurityGroups/eu-1-controlplane-nsg") {
			t.Errorf("the NAT gateway of people is gone, or the network security group: %s", text)
		}
	})
}
