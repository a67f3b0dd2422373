package azure_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
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
		w.p = azure.New(azure.Options{ARM: arm.Options{Base: lagging{w.Cloud}}, Tick: tick, Settle: settle, Secret: func(context.Context, fleet.Key) (fleet.SecretData, error) {
			return fleet.SecretData{"clientSecret": fleet.NewSecret([]byte(azuretest.Password))}, nil
		}})
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
		id := w.AddVM("rg-1", "restored")
		w.Retag(id, func(tags map[string]string) {
			for k, v := range vm.Tags {
				tags[k] = v
			}
		})
		time.Sleep(2 * tick)
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
