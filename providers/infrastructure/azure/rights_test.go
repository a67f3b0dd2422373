package azure_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/azure"
	"fairlead.dev/providers/infrastructure/azure/azuretest"
)

var update = flag.Bool("update", false, "write role.json")

// aRole is a definition of a role, as az role definition create takes it.
type aRole struct {
	Name, Description string
	IsCustom          bool
	Actions           []string
	AssignableScopes  []string
}

// TestRole: role.json has each action that the provider needs, and no other.
func TestRole(t *testing.T) {
	want := aRole{"Fairlead", "What the agent of Fairlead requests.", true, azure.Actions(), []string{"/subscriptions/SUBSCRIPTION"}}
	data, err := json.MarshalIndent(want, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("role.json", append(data, '\n'), 0o644); err != nil { //nolint:gosec // everyone may read it
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile("role.json")
	if d := cmp.Diff(string(data)+"\n", string(text)); d != "" || err != nil {
		t.Errorf("role.json (go test -run TestRole -update): %v %s", err, d)
	}
}

// A rightsLives runs lives of clusters with a role, and notes what people are told.
type rightsLives struct {
	*testing.T
	role   []string
	used   []string
	told   []string
	enough string // the lives end once people are told it
}

func (l *rightsLives) say(err error) {
	if err != nil {
		l.told = append(l.told, err.Error())
	}
}

func (l *rightsLives) text() string { return strings.Join(l.told, "\n") }

func (l *rightsLives) over() bool { return l.enough != "" && strings.Contains(l.text(), l.enough) }

func (l *rightsLives) check(w *world, c *fleet.Cluster) {
	found, err := w.p.Check(w.Context(), []*fleet.Cluster{c})
	l.say(err)
	for _, f := range found {
		l.say(f.Err)
		if f.What == "rights" || strings.HasPrefix(f.Text, "not checked") {
			l.told = append(l.told, f.Text)
		}
	}
}

// machines is the life of a cluster of VMs, with what cloud has.
func (l *rightsLives) machines(spec, machine string, cloud *azuretest.Cloud, before func(w *world)) {
	if l.over() {
		return
	}
	w := newWorld(l.T, cloud)
	c := w.cluster(spec, machine)
	if before != nil {
		before(w)
	}
	w.Allow(l.role...)
	look := func(c *fleet.Cluster) fleet.Infrastructure {
		time.Sleep(2 * tick)
		got, err := w.p.Observe(w.Context(), c)
		l.say(err)
		l.told = append(l.told, got.Message)
		return got
	}
	keep := func() {
		for range 12 {
			if got := look(&c); l.over() || got.Ready && len(got.Drift)+len(got.Upkeep) == 0 {
				return
			}
			l.say(w.p.EnsureInfrastructure(w.Context(), "op", &c))
		}
	}
	l.check(w, &c)
	keep()
	l.check(w, &c)
	for _, name := range []fleet.MachineName{"cp-0", "cp-1", "m-0"} {
		l.say(w.p.CreateMachine(w.Context(), fleet.OperationID("op-"+name), request(&c, name)))
		keep()
	}
	for _, s := range w.Resources("subnets") {
		w.Edit(s.ID, func(body map[string]any) { delete(body["properties"].(map[string]any), "networkSecurityGroup") })
	}
	keep()
	_, err := w.p.Orphans(w.Context(), "fleet-a", []*fleet.Cluster{&c})
	l.say(err)
	w.Edit(groupID("rg-2")+"/providers/Microsoft.Compute/virtualMachines/m-0", func(body map[string]any) { // its parts stay, as those of a VM of Cluster API
		p := body["properties"].(map[string]any)
		for _, x := range p["networkProfile"].(map[string]any)["networkInterfaces"].([]any) {
			x.(map[string]any)["properties"] = map[string]any{"deleteOption": "Detach"}
		}
		p["storageProfile"].(map[string]any)["osDisk"].(map[string]any)["deleteOption"] = "Detach"
	})
	gone := c
	gone.Delete = true
	for _, name := range []fleet.MachineName{"cp-1", "cp-0", "m-0"} {
		l.say(w.p.DeleteMachine(w.Context(), "op", &gone, name, ""))
		time.Sleep(settle)
	}
	for range 25 {
		if l.over() || !look(&gone).Exists {
			break
		}
		l.say(w.p.DeleteInfrastructure(w.Context(), "op", &gone))
		time.Sleep(settle)
	}
	if l.enough == "" && len(w.Resources("virtualmachines"))+len(w.Resources("loadbalancers"))+len(w.Resources("disks")) > 0 {
		l.Errorf("the life did not end: %s", l.text())
	}
	l.used = append(l.used, w.Used()...)
}

// all are lives that make each kind of request.
func (l *rightsLives) all() {
	const (
		identity = "/subscriptions/" + azuretest.Subscription + "/resourceGroups/ids/providers/Microsoft.ManagedIdentity/userAssignedIdentities/n"
		office   = "/subscriptions/" + azuretest.Subscription + "/resourceGroups/shared/providers/Microsoft.Network/virtualNetworks/office"
		group    = "/subscriptions/" + azuretest.Subscription + "/resourceGroups/g/providers/Microsoft.Network/applicationSecurityGroups/g"
		reserved = "/subscriptions/" + azuretest.Subscription + "/resourceGroups/g/providers/Microsoft.Compute/capacityReservationGroups/r"
		gallery  = "image: {sharedGallery: {subscriptionID: " + azuretest.Subscription + ", resourceGroup: g, gallery: g, name: ubuntu, version: 1.0.0}}, "
		own      = "image: {id: /subscriptions/" + azuretest.Subscription + "/resourceGroups/shared/providers/Microsoft.Compute/images/mine}, "
		market   = "image: {marketplace: {publisher: p, offer: o, sku: s, version: 1.0.0}}, capacityReservationGroupID: " + reserved + ", "
	)
	synctest.Test(l.T, func(t *testing.T) {
		l.T = t
		slow := func(zones ...string) *azuretest.Cloud {
			return azuretest.New(azuretest.Options{Zones: zones, Fast: true, Make: 4 * time.Second, Start: 8 * time.Second, Delete: 4 * time.Second})
		}
		l.machines(routed, strings.Replace(machineSpec, "{", "{"+gallery+"identity: UserAssigned, userAssignedIdentities: [{providerID: "+identity+"}], ", 1), slow("1", "2"), func(w *world) {
			w.Put(reserved, map[string]any{}) // with its group, in which the gallery is, too
			w.Put(identity, map[string]any{"properties": map[string]any{"clientId": "client-of-n"}})
			c := w.cluster(clusterSpec, strings.Replace(machineSpec, "{", "{identity: UserAssigned, userAssignedIdentities: [{providerID: "+identity+"}], ", 1))
			w.Allow(l.role...)
			_, err := w.p.AnswerSecrets(w.Context(), &c, c.Workers[0])
			l.say(err)
			w.n-- // the next one has this resource group
			w.Allow()
		})
		l.machines(strings.Replace(clusterSpec, "identityRef:", "networkSpec: {apiServerLB: {type: Internal}, vnet: {peerings: [{remoteVnetName: hub, resourceGroup: shared}]}}, identityRef:", 1), machineSpec, slow([]string{}...), func(w *world) {
			w.Put(hub, map[string]any{"location": azuretest.Location})
			c := w.cluster(clusterSpec, strings.Replace(machineSpec, "{", "{"+own, 1))
			w.Allow(l.role...)
			l.check(w, &c)
			w.n--
			w.Allow()
		})
		l.machines(strings.NewReplacer(endpoint, strings.Replace(endpoint, "{", "{applicationSecurityGroups: ["+group+"], ", 1), "identityRef:", "bastionSpec: {azureBastion: {}}, identityRef:").Replace(endpoints), strings.Replace(machineSpec, "{", "{allocatePublicIP: true, vmExtensions: ["+script+"], ", 1), slow("1"), func(w *world) {
			w.Put(group, map[string]any{"location": azuretest.Location})
		})
		l.machines(strings.Replace(clusterSpec, "identityRef:", "networkSpec: {vnet: {name: office, resourceGroup: shared}, subnets: [{role: control-plane, name: a}, {role: node, name: b}]}, identityRef:", 1), strings.Replace(machineSpec, "{", "{"+market, 1), slow("1"), func(w *world) {
			w.Put(reserved, map[string]any{})
			w.Put(office, map[string]any{"location": azuretest.Location, "properties": map[string]any{"addressSpace": map[string]any{"addressPrefixes": []any{"10.0.0.0/8"}}}})
			for _, s := range []string{"a", "b"} {
				w.Put(office+"/subnets/"+s, map[string]any{"properties": map[string]any{"addressPrefix": "10.0.0.0/16"}})
			}
		})
	})
	if l.over() {
		return
	}
	inAKS(l.T, withBeside("extensions: ["+flux+"], fleetsMember: {name: eu-1, managerName: all, managerResourceGroup: fleets}"), func(w *managedWorld) {
		w.Put(groupID("fleets")+fleets, map[string]any{"location": azuretest.Location})
		w.Allow(l.role...)
		for range 25 {
			if w.step() || l.over() {
				break
			}
		}
		s, _ := w.look()
		l.told = append(l.told, s.Message)
		l.check(w.world, &w.c)
		w.c.Delete = true
		for range 25 {
			if w.step() || l.over() {
				break
			}
		}
		for _, err := range w.errs {
			l.say(err)
		}
		l.used = append(l.used, w.Used()...)
	})
	if l.over() {
		return
	}
	adopts(l.T, azuretest.CAPZ{Sets: true}, "", func(a *adopting) {
		a.Allow(l.role...)
		for _, do := range []func() error{func() error { return a.p.Adopt(a.Context(), a.c, a.machines) }, func() error {
			id := a.left.Servers[0] // which leaves the load balancer
			return a.p.DeleteMachine(a.Context(), "op", a.c, fleet.MachineName(id[strings.LastIndexByte(id, '/')+1:]), fleet.ProviderID("azure://"+id))
		}} {
			l.say(do())
			time.Sleep(settle)
		}
		l.used = append(l.used, a.Used()...)
	})
}

// TestEachRight: lives of clusters need each action of role.json, and no other. Where one is missing, people are told its name.
func TestEachRight(t *testing.T) {
	lower := func(list []string) (out []string) {
		for _, a := range list {
			out = append(out, strings.ToLower(a))
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	whole := &rightsLives{T: t, role: azure.Actions()}
	whole.all()
	if d := cmp.Diff(lower(azure.Actions()), lower(whole.used)); d != "" {
		t.Errorf("actions of the role, and those that the lives needed: %s", d)
	}
	for _, text := range whole.told {
		if strings.Contains(text, "AuthorizationFailed") || strings.Contains(text, "it lacks") {
			t.Errorf("with the whole role people are told %s", text)
		}
	}
	for _, action := range azure.Actions() {
		t.Run(action, func(t *testing.T) {
			l := &rightsLives{T: t, role: slices.DeleteFunc(azure.Actions(), func(a string) bool { return a == action }), enough: "'" + action + "'"}
			if action == "Microsoft.Authorization/permissions/read" {
				l.enough = "the role lacks " + action
			}
			if l.all(); !l.over() && !strings.Contains(strings.ToLower(l.text()), strings.ToLower(l.enough)) {
				t.Errorf("people are told %s", l.text())
			}
		})
	}
}

// TestCheckRights: a check names the rights that the role lacks for a cluster as it is, the cores that a quota lacks, and an
// image that is not there.
func TestCheckRights(t *testing.T) {
	text := func(w *world, c *fleet.Cluster) string {
		found, err := w.p.Check(w.Context(), []*fleet.Cluster{c})
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, f := range found {
			out = append(out, f.What+": "+f.Text+fmt.Sprint(f.Err))
		}
		return strings.Join(out, "\n")
	}
	in(t, func(w *world) {
		w.Allow("*", "!Microsoft.Compute/disks/DELETE", "!Microsoft.Network/virtualNetworks/subnets/*/action")
		const all = "/subscriptions/" + azuretest.Subscription
		if got, want := text(w, &w.c), "for "+all+" it lacks Microsoft.Compute/disks/delete, Microsoft.Network/virtualNetworks/subnets/join/action (add"; !strings.Contains(got, want) {
			t.Errorf("the check lacks %q: %s", want, got)
		}
		w.Put(all+"/resourceGroups/shared/providers/Microsoft.Network/virtualNetworks/office", map[string]any{"location": azuretest.Location})
		c := w.cluster(strings.Replace(clusterSpec, "identityRef:", "networkSpec: {vnet: {name: office, resourceGroup: shared}}, identityRef:", 1), machineSpec)
		if got, want := text(w, &c), "for "+all+"/resourceGroups/shared it lacks Microsoft.Network/virtualNetworks/subnets/join/action (add"; !strings.Contains(got, want) {
			t.Errorf("the check lacks %q: %s", want, got)
		}
		w.Put(hub, map[string]any{"location": azuretest.Location})
		c = w.cluster(peered, machineSpec)
		w.Allow("*", "!Microsoft.Network/virtualNetworks/join/action", "!Microsoft.Network/virtualNetworks/peer/action")
		if got, want := text(w, &c), "for "+all+"/resourceGroups/shared it lacks Microsoft.Network/virtualNetworks/join/action, Microsoft.Network/virtualNetworks/peer/action (add"; !strings.Contains(got, want) {
			t.Errorf("the check lacks %q: %s", want, got)
		}
		c = w.cluster(toHub(""), machineSpec)
		if got := text(w, &c); strings.Contains(got, "/resourceGroups/shared it lacks Microsoft.Network/virtualNetworks/join") {
			t.Errorf("the check of a public endpoint wants the right of a private zone: %s", got)
		}
		w.Allow()
		w.ready(&w.c)
		w.Allow("Microsoft.Network/*", "Microsoft.Authorization/*", "*/read", "Microsoft.Resources/subscriptions/resourceGroups/write")
		got := text(w, &w.c)
		for _, want := range []string{
			"for /subscriptions/" + azuretest.Subscription + "/resourceGroups/rg-1 it lacks Microsoft.Compute/disks/delete, Microsoft.Compute/disks/write, Microsoft.Compute/virtualMachines/delete, Microsoft.Compute/virtualMachines/write, Microsoft.Resources/subscriptions/resourceGroups/delete (add them to the role)",
			"quota: cores: 0 of 1000 are used, and 24 more are needed", "quota: standardDSv5Family: 0 of 1000",
			"image: locations/westeurope/communityGalleries/ClusterAPI-f72ceb4f-5159-4c26-a0fe-2ea738f0d019/images/capi-ubun2-2404/versions/1.34.1<nil>",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("the check lacks %q: %s", want, got)
			}
		}
		w.Allow()
		w.create(&w.c, "cp-0")
		w.SetUsage("standardDSv5Family", 990, 1000)
		for _, first := range "abcd" { // it is on a later page
			w.SetUsage(string(first), 0, 1)
		}
		if got, want := text(w, &w.c), "standardDSv5Family: 990 of 1000 are used, and 20 more are needed (have the quota raised in the portal)"; !strings.Contains(got, want) {
			t.Errorf("the check lacks %q: %s", want, got)
		}
		for _, tc := range [][2]string{
			{"spotVMOptions: {}, ", "lowPriorityCores: 0 of 1000 are used, and 12 more are needed"},
			{"image: {id: /subscriptions/" + azuretest.Subscription + "/resourceGroups/rg-1/providers/Microsoft.Compute/images/missing}, ", "name one that exists in image"},
			{"image: {marketplace: {publisher: p, offer: o, sku: missing, version: 1.0.0}}, ", "name one that exists in image"},
			{"image: {id: /subscriptions/" + azuretest.Subscription + "/resourcegroups/rg-1/providers/microsoft.compute/images/mine}, ", "image: images/mine<nil>"},
			{"image: {id: /missing}, ", "image: /missing"},
		} {
			c := with(t, w.c, strings.Replace(machineSpec, "{", "{"+tc[0], 1))
			if got := text(w, &c); !strings.Contains(got, tc[1]) {
				t.Errorf("the check lacks %q: %s", tc[1], got)
			}
		}
		c = with(t, w.c, strings.Replace(machineSpec, "{", "{image: {marketplace: {publisher: p, offer: o, sku: s, version: latest}}, ", 1))
		if got := text(w, &c); strings.Contains(got, "versions/latest") {
			t.Errorf("the latest image was looked up: %s", got)
		}
	})
}

// TestQuotaOfFleet: what all clusters of a location lack is compared with its quota together, agent pools of AKS too.
func TestQuotaOfFleet(t *testing.T) {
	find := func(w *world, clusters ...*fleet.Cluster) (out []string) {
		found, err := w.p.Check(w.Context(), clusters)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if f.What == "quota" {
				out = append(out, fmt.Sprint(f.Clusters, " ", f.Text, f.Err))
			}
		}
		return out
	}
	in(t, func(w *world) {
		other := w.cluster(clusterSpec, machineSpec)
		other.Key.Name = "eu-2"
		w.create(&w.c, "m-0")
		w.SetUsage("standardDSv5Family", 970, 1000)
		w.ResetCalls()
		want := []string{
			"[prod/eu-1 prod/eu-2] cores: 0 of 1000 are used, and 44 more are needed<nil>",
			"[prod/eu-1 prod/eu-2] cannot check the quota of cores: standardDSv5Family: 970 of 1000 are used, and 44 more are needed (have the quota raised in the portal)",
		}
		if d := cmp.Diff(want, find(w, &w.c, &other)); d != "" {
			t.Errorf("quotas (-want +got): %s", d)
		}
		if n := len(slices.DeleteFunc(w.Calls(), func(c azuretest.Call) bool { return c.Method != "LIST usages" })); n != 1 {
			t.Errorf("usages were listed %d times", n)
		}
	})
	inAKS(t, planeSpec, func(w *managedWorld) {
		before := find(w.world, &w.c)
		w.rest()
		if after := find(w.world, &w.c); len(before) == 0 || !strings.HasPrefix(before[0], "[prod/eu-1] cores: 0 of 1000 are used, and 8 more") || len(after) > 0 {
			t.Errorf("quotas before there are pools are %q, and after that %q", before, after)
		}
	})
}

// TestCheckWithoutRights: the rights that a check alone needs can be left out. It says what it did not check.
func TestCheckWithoutRights(t *testing.T) {
	in(t, func(w *world) {
		market := with(t, w.c, strings.Replace(machineSpec, "{", "{image: {marketplace: {publisher: p, offer: o, sku: s, version: 1.0.0}}, ", 1))
		w.Allow(slices.DeleteFunc(azure.Actions(), func(a string) bool {
			return strings.HasPrefix(a, "Microsoft.Compute/locations/") || a == "Microsoft.Authorization/permissions/read"
		})...)
		found, err := w.p.Check(w.Context(), []*fleet.Cluster{&w.c, &market})
		if err != nil {
			t.Fatal(err)
		}
		not := make(map[string]int)
		for _, f := range found {
			if f.Err != nil {
				t.Errorf("%s: %v", f.What, f.Err)
			}
			if strings.HasPrefix(f.Text, "not checked: ") {
				not[f.What]++
			}
		}
		if not["rights"] == 0 || not["quota"] == 0 || not["image"] < 2 {
			t.Errorf("not checked are %v of %+v", not, found)
		}
		w.Allow("*", "!Microsoft.Compute/locations/*")
		found, _ = w.p.Check(w.Context(), []*fleet.Cluster{&w.c})
		if i := slices.IndexFunc(found, func(f providers.Finding) bool { return f.Err != nil }); i >= 0 {
			t.Errorf("%s: %v", found[i].What, found[i].Err)
		}
		w.Allow()
		end := w.Inject(azuretest.Fault{Method: "LIST usages", Status: 400, Code: "LocationNotSupported"})
		found, _ = w.p.Check(w.Context(), []*fleet.Cluster{&w.c})
		if end(); !slices.ContainsFunc(found, func(f providers.Finding) bool { return f.What == "quota" && f.Err != nil }) {
			t.Errorf("a quota that cannot be read is right: %+v", found)
		}
		w.Allow("*", "!Microsoft.Compute/images/read")
		own := with(t, w.c, strings.Replace(machineSpec, "{", "{image: {id: /subscriptions/"+azuretest.Subscription+"/resourceGroups/rg-1/providers/Microsoft.Compute/images/mine}, ", 1))
		w.ready(&w.c)
		found, _ = w.p.Check(w.Context(), []*fleet.Cluster{&own})
		if !slices.ContainsFunc(found, func(f providers.Finding) bool { return f.What == "image" && f.Err != nil }) {
			t.Errorf("an image that VMs cannot be made from is right: %+v", found)
		}
	})
}
