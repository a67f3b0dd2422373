package azure_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/azure/azuretest"
)

// in runs a test in a bubble, in a world where everything takes its time.
func in(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(newWorld(t, slowly())) })
}

const size = "Standard_D4s_v5"

// fail creates a machine, and wants that to be refused.
func (w *world) fail(c *fleet.Cluster, name fleet.MachineName, kind fleet.ErrorKind, words string) {
	w.Helper()
	err := w.p.CreateMachine(w.Context(), "op", request(c, name))
	wantKind(w, "CreateMachine", err, kind)
	if err != nil && !strings.Contains(err.Error(), words) {
		w.Errorf("CreateMachine = %v, want %q", err, words)
	}
}

// TestZonesAreSpread: machines of a pool are in different zones.
func TestZonesAreSpread(t *testing.T) {
	in(t, func(w *world) {
		var got []string
		for i := range 3 {
			got = append(got, w.create(&w.c, fleet.MachineName(fmt.Sprint("m-", i))).FailureDomain)
		}
		slices.Sort(got)
		if !slices.Equal(got, []string{"1", "2", "3"}) {
			t.Errorf("zones %v, want each once", got)
		}
	})
}

// TestNoCapacity: a zone that has no room is left for the next one, whether Azure says so at once or later. The VM that
// failed is deleted. Once no zone is left, that is the error. The failure domain of a server is the first of its zones, that
// of a worker the only one.
func TestNoCapacity(t *testing.T) {
	in(t, func(w *world) {
		w.Fill(size, "1", "SkuNotAvailable", false)
		w.Fill(size, "2", "ZonalAllocationFailed", true)
		w.ready(&w.c)
		if err := w.p.CreateMachine(w.Context(), "op", request(&w.c, "m-0")); err != nil {
			t.Fatal(err)
		}
		failed := machineOf(w.until(&w.c, "failed", func(i fleet.Infrastructure) bool { return machineOf(i, "m-0").State == fleet.MachineFailed }), "m-0")
		if failed.FailureDomain != "2" || !strings.Contains(failed.Message, "ZonalAllocationFailed") {
			t.Errorf("failed in zone %s: %s", failed.FailureDomain, failed.Message)
		}
		if err := w.p.DeleteMachine(w.Context(), "op", &w.c, "m-0", failed.ProviderID); err != nil {
			t.Fatal(err)
		}
		w.until(&w.c, "deleted", func(i fleet.Infrastructure) bool { return len(i.Machines) == 0 })
		if left := len(w.Resources("networkinterfaces")) + len(w.Resources("disks")); left > 0 {
			t.Errorf("%d parts of the failed VM are left", left)
		}
		if m := w.create(&w.c, "m-1"); m.FailureDomain != "3" {
			t.Errorf("the next machine is in zone %s, want 3", m.FailureDomain)
		}
		w.Fill(size, "3", "AllocationFailed", false)
		w.fail(&w.c, "m-2", fleet.Exhausted, "tried zones 3")
		w.fail(&w.c, "m-2", fleet.Exhausted, "no capacity for it in zones 1, 2, 3 now")
		time.Sleep(11 * time.Minute)
		w.Fill(size, "1", "", false)
		if m := w.create(&w.c, "m-3"); m.FailureDomain != "1" {
			t.Errorf("once a zone has room again the machine is in zone %s, want 1", m.FailureDomain)
		}
		w.Fill(size, "2", "SkuNotAvailable", false)
		w.Fill(size, "3", "", false)
		for _, tc := range []struct {
			name        fleet.MachineName
			asked, want string
		}{{"cp-0", "3", "3"}, {"cp-1", "2", "1"}} {
			r := request(&w.c, tc.name)
			r.FailureDomain = tc.asked
			if err := w.p.CreateMachine(w.Context(), "op-"+fleet.OperationID(tc.name), r); err != nil {
				t.Fatal(err)
			}
			m := machineOf(w.until(&w.c, "running", func(i fleet.Infrastructure) bool { return machineOf(i, tc.name).State == fleet.MachineRunning }), tc.name)
			if m.FailureDomain != tc.want {
				t.Errorf("%s is in zone %s, want %s", tc.name, m.FailureDomain, tc.want)
			}
		}
		r := request(&w.c, "m-4")
		r.FailureDomain = "2"
		if err := w.p.CreateMachine(w.Context(), "op-4", r); fleet.KindOf(err) != fleet.Exhausted {
			t.Errorf("a worker of a zone without room: %v", err)
		}
	})
}

// TestQuota: a quota that is used up is no fault of a zone, and says what to do.
func TestQuota(t *testing.T) {
	in(t, func(w *world) {
		w.ready(&w.c)
		w.Inject(azuretest.Fault{Method: "PUT virtualmachines", Times: 1, Status: 409, Code: "OperationNotAllowed", Message: "Operation could not be completed as it results in exceeding approved Total Regional Cores quota."})
		w.fail(&w.c, "m-0", fleet.Exhausted, "have the quota raised")
		if n := len(w.Resources("virtualmachines")); n > 0 {
			t.Errorf("%d VMs were made in other zones", n)
		}
	})
}

// TestZonesOfASize: failure domains are the zones of the size of the control plane, and a machine in another one is a
// mistake that names those.
func TestZonesOfASize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, azuretest.New(azuretest.Options{Zones: []string{"1", "3"}}))
		got := w.ready(&w.c)
		if len(got.FailureDomains) != 2 || got.FailureDomains[1].Name != "3" {
			t.Errorf("failure domains %v, want 1 and 3", got.FailureDomains)
		}
		r := request(&w.c, "m-0")
		r.FailureDomain = "2"
		err := w.p.CreateMachine(w.Context(), "op", r)
		wantKind(t, "CreateMachine", err, fleet.Invalid)
		if err != nil && !strings.Contains(err.Error(), "in zones 1, 3") {
			t.Errorf("CreateMachine = %v, want the zones", err)
		}
	})
}

// TestRegionWithoutZones: machines are made without one.
func TestRegionWithoutZones(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, azuretest.New(azuretest.Options{Zones: []string{}}))
		if m := w.create(&w.c, "m-0"); m.FailureDomain != "" {
			t.Errorf("the machine is in zone %q, want none", m.FailureDomain)
		}
	})
}

func groupID(name string) string {
	return "/subscriptions/" + azuretest.Subscription + "/resourceGroups/" + name
}

// given puts a VNet of people into a resource group of theirs.
func (w *world) given() string {
	vnet := groupID("net") + "/providers/Microsoft.Network/virtualNetworks/corp"
	w.Put(vnet, map[string]any{"location": azuretest.Location, "properties": map[string]any{"addressSpace": map[string]any{"addressPrefixes": []any{"10.0.0.0/8"}}}})
	for i, name := range []string{"servers", "nodes"} {
		w.Put(vnet+"/subnets/"+name, map[string]any{"properties": map[string]any{"addressPrefix": fmt.Sprintf("10.%d.0.0/16", i)}})
	}
	return vnet
}

// TestGivenVNet: of a VNet that people made nothing is changed, no network security group, NAT gateway or route table is
// made beside it, and it stays when the cluster goes.
func TestGivenVNet(t *testing.T) {
	in(t, func(w *world) {
		vnet := w.given()
		before := fmt.Sprint(w.Resources("virtualnetworks"), w.Resources("subnets"))
		c := w.cluster(strings.Replace(clusterSpec, "identityRef", "networkSpec: {vnet: {name: corp, resourceGroup: net}, subnets: [{role: control-plane, name: servers}, {role: node, name: nodes}]}, identityRef", 1), machineSpec)
		w.create(&c, "cp-0")
		if n := len(w.Resources("networksecuritygroups")) + len(w.Resources("natgateways")); n > 0 {
			t.Errorf("%d things were made beside a given VNet", n)
		}
		for _, call := range w.Calls() {
			if call.Changes() && strings.HasPrefix(call.ID, vnet) {
				t.Errorf("%s %s of a given VNet", call.Method, call.ID)
			}
		}
		id := machineOf(w.observe(&c), "cp-0").ProviderID
		if err := w.p.DeleteMachine(w.Context(), "op", &c, "cp-0", id); err != nil {
			t.Fatal(err)
		}
		w.until(&c, "deleted", func(i fleet.Infrastructure) bool { return len(i.Machines) == 0 })
		w.dismantle(&c)
		if after := fmt.Sprint(w.Resources("virtualnetworks"), w.Resources("subnets")); after != before {
			t.Errorf("the given VNet is\n%s\nand was\n%s", after, before)
		}
	})
}

// TestGivenVNetLacksASubnet: that is a mistake in Git, and nothing is made in its place.
func TestGivenVNetLacksASubnet(t *testing.T) {
	in(t, func(w *world) {
		w.given()
		c := w.cluster(strings.Replace(clusterSpec, "identityRef", "networkSpec: {vnet: {name: corp, resourceGroup: net}}, identityRef", 1), machineSpec)
		for range 3 {
			_ = w.p.EnsureInfrastructure(w.Context(), "op", &c) // the observation tells
			time.Sleep(settle)
		}
		if got := w.observe(&c); got.Ready || !strings.Contains(got.Message, "has no subnet eu-1-node-subnet") || len(w.Resources("subnets")) != 2 {
			t.Errorf("ready %t: %s", got.Ready, got.Message)
		}
	})
}

// TestTagsOfPolicies: tags that Azure Policy adds are no drift, and stay.
func TestTagsOfPolicies(t *testing.T) {
	in(t, func(w *world) {
		m := w.create(&w.c, "cp-0")
		for _, r := range w.Resources("") {
			w.Retag(r.ID, func(tags map[string]string) { tags["costCenter"] = "42" })
		}
		w.ResetCalls()
		time.Sleep(settle)
		if got := w.observe(&w.c); len(got.Drift) > 0 || machineOf(got, "cp-0").Damaged != "" {
			t.Errorf("drift %v, damaged %q", got.Drift, machineOf(got, "cp-0").Damaged)
		}
		if err := w.p.EnsureInfrastructure(w.Context(), "op", &w.c); err != nil {
			t.Error(err)
		}
		for _, c := range w.Calls() {
			if c.Changes() {
				t.Errorf("%s %s", c.Method, c.ID)
			}
		}
		if r, _ := w.Resource(vmID(m.ProviderID)); r.Tags["costCenter"] != "42" {
			t.Errorf("tags are %v", r.Tags)
		}
	})
}

// TestPartsAreLeft: a VM that went without its interface and disks blocks its name. They are deleted, and the name is
// used again.
func TestPartsAreLeft(t *testing.T) {
	in(t, func(w *world) {
		m := w.create(&w.c, "cp-0")
		w.setFree(m)
		time.Sleep(settle)
		wantKind(t, "CreateMachine", w.p.CreateMachine(w.Context(), "op", request(&w.c, "cp-0")), fleet.Unavailable)
		w.until(&w.c, "clean", func(i fleet.Infrastructure) bool { return len(i.Upkeep) == 0 && i.Ready })
		if n := len(w.Resources("networkinterfaces")) + len(w.Resources("disks")); n > 0 {
			t.Errorf("%d parts are left", n)
		}
		w.create(&w.c, "cp-0")
	})
}

// TestFailedVMThatRuns: a VM whose last change failed, or whose guest did not report in time, is no failed machine.
func TestFailedVMThatRuns(t *testing.T) {
	in(t, func(w *world) {
		m := w.create(&w.c, "m-0")
		for _, tc := range []struct {
			statuses []any
			want     fleet.MachineState
		}{
			{[]any{map[string]any{"code": "ProvisioningState/failed/VMExtensionProvisioningError"}, map[string]any{"code": "PowerState/running"}}, fleet.MachineRunning},
			{[]any{map[string]any{"code": "ProvisioningState/failed/OSProvisioningTimedOut"}}, fleet.MachinePending},
			{[]any{map[string]any{"code": "ProvisioningState/failed/AllocationFailed"}}, fleet.MachineFailed},
		} {
			w.Edit(vmID(m.ProviderID), func(body map[string]any) {
				p, _ := body["properties"].(map[string]any)
				p["provisioningState"], p["instanceView"] = "Failed", map[string]any{"statuses": tc.statuses}
			})
			time.Sleep(2 * tick)
			if got := machineOf(w.observe(&w.c), "m-0"); got.State != tc.want {
				t.Errorf("a VM with %v is %s, want %s", tc.statuses, got.State, tc.want)
			}
		}
	})
}

// TestRules: rules that left Git go, and those of the cloud controller manager and of people stay. SSH is not let in.
func TestRules(t *testing.T) {
	in(t, func(w *world) {
		with := func(rules string) fleet.Cluster {
			c := newCluster(t, strings.Replace(strings.Replace(clusterSpec, "GROUP", "rg-1", 1), "identityRef",
				"networkSpec: {subnets: [{role: control-plane}, {role: node, securityGroup: {securityRules: ["+rules+"]}}]}, identityRef", 1), machineSpec)
			return c
		}
		names := func() (out []string) {
			for _, g := range w.Resources("networksecuritygroups") {
				p, _ := g.Body["properties"].(map[string]any)
				list, _ := p["securityRules"].([]any)
				for _, x := range list {
					out = append(out, g.Name+" "+fmt.Sprint(x.(map[string]any)["name"]))
				}
			}
			slices.Sort(out)
			return out
		}
		c := with("{name: web, priority: 300, protocol: Tcp, destinationPorts: '80,443'}")
		w.create(&c, "m-0")
		want := []string{"eu-1-controlplane-nsg allow_apiserver", "eu-1-node-nsg web"}
		if got := names(); !slices.Equal(got, want) {
			t.Errorf("rules %q, want %q", got, want)
		}
		for _, g := range w.Resources("networksecuritygroups") {
			w.Edit(g.ID, func(body map[string]any) {
				p, _ := body["properties"].(map[string]any)
				list, _ := p["securityRules"].([]any)
				p["securityRules"] = append(list, map[string]any{"name": "k8s-a1b2", "properties": map[string]any{"priority": 500}})
			})
		}
		c = with("{name: dns, priority: 310, protocol: Udp, destinationPorts: '53'}")
		time.Sleep(2 * tick)
		if err := w.p.EnsureInfrastructure(w.Context(), "op", &c); err != nil {
			t.Error(err)
		}
		time.Sleep(settle)
		want = []string{"eu-1-controlplane-nsg allow_apiserver", "eu-1-controlplane-nsg k8s-a1b2", "eu-1-node-nsg dns", "eu-1-node-nsg k8s-a1b2"}
		if got := names(); !slices.Equal(got, want) {
			t.Errorf("rules %q, want %q", got, want)
		}
		if got := w.observe(&c); len(got.Drift) > 0 {
			t.Errorf("drift %v", got.Drift)
		}
	})
}

// TestGroupWithOthers: the resource group that was made for a cluster stays while something else is in it, which is
// named. One that people made stays.
func TestGroupWithOthers(t *testing.T) {
	in(t, func(w *world) {
		w.ready(&w.c)
		theirs := groupID("rg-1") + "/providers/Microsoft.Storage/storageAccounts/theirs"
		w.Put(theirs, map[string]any{"location": azuretest.Location})
		gone := w.c
		gone.Delete = true
		var err error
		for range 20 {
			err = w.p.DeleteInfrastructure(w.Context(), "op", &gone)
			time.Sleep(settle)
		}
		wantKind(t, "DeleteInfrastructure", err, fleet.Conflict)
		if got := w.observe(&gone); !strings.Contains(got.Message, "storageAccounts theirs") {
			t.Errorf("the message is %q", got.Message)
		}
		if _, ok := w.Resource(theirs); !ok {
			t.Error("what is not of the cluster is gone")
		}
		w.Drop(theirs)
		w.dismantle(&w.c)

		w.Put(groupID("rg-9"), map[string]any{"location": azuretest.Location})
		c := newCluster(t, strings.Replace(clusterSpec, "GROUP", "rg-9", 1), machineSpec)
		w.ready(&c)
		w.dismantle(&c)
		if _, ok := w.Resource(groupID("rg-9")); !ok {
			t.Error("a resource group of people is gone")
		}
	})
}

// TestGroupIsGone: a resource group that is not there any more is no proof that the machines are gone, unless the
// cluster is to be deleted.
func TestGroupIsGone(t *testing.T) {
	in(t, func(w *world) {
		w.create(&w.c, "cp-0")
		at := w.observe(&w.c)
		c := w.c.WithResidence(fleet.Residence{Provider: "azure", Places: []fleet.Place{at.Places[0].Place}, Endpoint: at.Endpoint, ControlPlane: fleet.InitializedOnce})
		for _, r := range w.Resources("") {
			w.Drop(r.ID)
		}
		time.Sleep(settle)
		_, err := w.p.Observe(w.Context(), c)
		wantKind(t, "Observe", err, fleet.Unavailable)
		c.Delete = true
		if err := w.p.DeleteInfrastructure(w.Context(), "op", c); err != nil {
			t.Error(err)
		}
		if got := w.observe(c); got.Exists {
			t.Errorf("%+v is there", got)
		}
	})
}

// TestAnotherGroup: Git cannot move a cluster: what is in the place of before would be taken for gone.
func TestAnotherGroup(t *testing.T) {
	in(t, func(w *world) {
		at := w.observe(&w.c)
		c := w.cluster(clusterSpec, machineSpec)
		moved := c.WithResidence(fleet.Residence{Provider: "azure", Places: []fleet.Place{at.Places[0].Place}})
		_, err := w.p.Observe(w.Context(), moved)
		wantKind(t, "Observe", err, fleet.Unauthorized)
	})
}

// TestLock: a lock of people keeps a VM, and is named.
func TestLock(t *testing.T) {
	in(t, func(w *world) {
		m := w.create(&w.c, "m-0")
		w.Lock("virtualmachines", true)
		err := w.p.DeleteMachine(w.Context(), "op", &w.c, "m-0", m.ProviderID)
		wantKind(t, "DeleteMachine", err, fleet.Conflict)
		if err != nil && !strings.Contains(err.Error(), "remove the lock") {
			t.Errorf("DeleteMachine = %v", err)
		}
	})
}

// TestRights: a right that lacks is an error, and never emptiness.
func TestRights(t *testing.T) {
	in(t, func(w *world) {
		w.create(&w.c, "m-0")
		for _, kind := range []string{"virtualmachines", "networkinterfaces", "loadbalancers", "resourcegroups"} {
			w.Deny(kind, true)
			time.Sleep(2 * tick)
			_, err := w.p.Observe(w.Context(), &w.c)
			wantKind(t, "Observe without the right to "+kind, err, fleet.Unauthorized)
			w.Deny(kind, false)
		}
	})
}

// TestPassword: a password that is refused is tried seldom, and says what to correct.
func TestPassword(t *testing.T) {
	in(t, func(w *world) {
		w.SetPassword("another")
		for range 10 {
			_, err := w.p.Observe(w.Context(), &w.c)
			wantKind(t, "Observe", err, fleet.Unauthorized)
			if err != nil && !strings.Contains(err.Error(), "AADSTS7000215") {
				t.Errorf("Observe = %v", err)
			}
			time.Sleep(2 * tick)
		}
		if n := w.Logins(); n > 2 {
			t.Errorf("a refused password was tried %d times in two minutes", n)
		}
		w.SetPassword(azuretest.Password)
		time.Sleep(10 * time.Minute)
		w.ready(&w.c)
	})
}

// TestNamespaces: an identity lets in the namespaces that it names, and without a list none.
func TestNamespaces(t *testing.T) {
	in(t, func(w *world) {
		for text, want := range map[string]fleet.ErrorKind{"allowedNamespaces: {list: [prod]}": "", "allowedNamespaces: {list: [test]}": fleet.Unauthorized, "resourceID: ''": fleet.Unauthorized} {
			c := w.cluster(clusterSpec, machineSpec)
			c.Companions = []fleet.Object{object(t, "AzureClusterIdentity", "fleet", `{type: ServicePrincipal, tenantID: `+azuretest.Tenant+`, clientID: `+azuretest.ClientID+`, clientSecret: {name: principal}, `+text+`}`)}
			if _, err := w.p.Observe(w.Context(), &c); err == nil && want != "" || err != nil && fleet.KindOf(err) != want {
				t.Errorf("with %s: %v, want %q", text, err, want)
			}
		}
	})
}

// TestVM: a VM is made by one request, behind the load balancer, with its parts, which go with it, and the provider id
// that its kubelet registers.
func TestVM(t *testing.T) {
	in(t, func(w *world) {
		c := w.cluster(clusterSpec, strings.Replace(machineSpec, "{", "{spotVMOptions: {maxPrice: '0.25'}, identity: UserAssigned, userAssignedIdentities: [{providerID: 'azure:///subscriptions/a/resourceGroups/b/providers/Microsoft.ManagedIdentity/userAssignedIdentities/n'}], ", 1))
		w.ready(&c)
		w.ResetCalls()
		r := request(&c, "cp-0")
		r.UserData.Content = fleet.NewSecret([]byte("#cloud-config\n# " + w.p.NodeID() + "\n"))
		if err := w.p.CreateMachine(w.Context(), "op", r); err != nil {
			t.Fatal(err)
		}
		var changes []string
		for _, call := range w.Calls() {
			if call.Changes() {
				changes = append(changes, call.Method)
			}
		}
		if !slices.Equal(changes, []string{"PUT virtualmachines"}) {
			t.Errorf("changes %q, want one", changes)
		}
		m := machineOf(w.until(&c, "running", func(i fleet.Infrastructure) bool { return machineOf(i, "cp-0").State == fleet.MachineRunning }), "cp-0")
		if want := "azure:///subscriptions/" + azuretest.Subscription + "/resourceGroups/rg-2/providers/Microsoft.Compute/virtualMachines/cp-0"; string(m.ProviderID) != want {
			t.Errorf("provider id %s, want %s", m.ProviderID, want)
		}
		vm, _ := w.Resource(vmID(m.ProviderID))
		if !strings.Contains(vm.Runs, string(m.ProviderID)) || len(m.Addresses) != 1 {
			t.Errorf("user data %q, addresses %v", vm.Runs, m.Addresses)
		}
		text := fmt.Sprint(vm.Body)
		for _, want := range []string{"priority:Spot", "evictionPolicy:Delete", "maxPrice:0.25", "/Images/capi-ubun2-2404/Versions/1.34.1", "cp-0_OSDisk", "cp-0_etcd", "ssh-ed25519", "userAssignedIdentities/n"} {
			if !strings.Contains(text, want) {
				t.Errorf("the VM has no %q: %s", want, text)
			}
		}
		if got := w.served(&c, "rg-2"); !slices.Equal(got, []fleet.MachineName{"cp-0"}) {
			t.Errorf("the load balancer leads to %v", got)
		}
	})
}

// TestAnotherVM: a VM of people that has the name of a machine is left alone.
func TestAnotherVM(t *testing.T) {
	in(t, func(w *world) {
		w.ready(&w.c)
		id := w.AddVM("rg-1", "m-0")
		w.fail(&w.c, "m-0", fleet.Conflict, "has another VM m-0")
		if _, ok := w.Resource(id); !ok {
			t.Error("it is gone")
		}
	})
}

// TestRepair: what Azure could not make is made again.
func TestRepair(t *testing.T) {
	in(t, func(w *world) {
		w.ready(&w.c)
		for _, r := range w.Resources("natgateways") {
			w.Edit(r.ID, func(body map[string]any) { body["properties"].(map[string]any)["provisioningState"] = "Failed" })
		}
		time.Sleep(2 * tick)
		if got := w.observe(&w.c); got.Ready {
			t.Error("it is ready with a NAT gateway that failed")
		}
		w.ready(&w.c)
	})
}

// TestChangesOfOthers: what a controller writes between the look at a thing and its change is not lost.
func TestChangesOfOthers(t *testing.T) {
	in(t, func(w *world) {
		w.create(&w.c, "cp-0")
		add := func(id string) {
			w.Edit(id, func(body map[string]any) {
				p, _ := body["properties"].(map[string]any)
				list, _ := p["securityRules"].([]any)
				p["securityRules"] = append(list, map[string]any{"name": "k8s-late", "properties": map[string]any{"priority": 501}})
			})
		}
		done := false
		w.Watch(func(c azuretest.Call) {
			if c.Method == "PUT networksecuritygroups" && !done {
				done = true
				add(c.ID)
			}
		})
		c := newCluster(t, strings.Replace(strings.Replace(clusterSpec, "GROUP", "rg-1", 1), "identityRef",
			"networkSpec: {subnets: [{role: control-plane, securityGroup: {securityRules: [{name: ssh, priority: 300, protocol: Tcp, destinationPorts: '22'}]}}, {role: node}]}, identityRef", 1), machineSpec)
		time.Sleep(2 * tick)
		wantKind(t, "EnsureInfrastructure", w.p.EnsureInfrastructure(w.Context(), "op", &c), fleet.Conflict)
		time.Sleep(settle)
		if err := w.p.EnsureInfrastructure(w.Context(), "op", &c); err != nil {
			t.Error(err)
		}
		text := fmt.Sprint(w.Resources("networksecuritygroups"))
		for _, want := range []string{"k8s-late", "name:ssh", "allow_apiserver"} {
			if !strings.Contains(text, want) {
				t.Errorf("there is no rule %s", want)
			}
		}
	})
}

// TestAzureJSON: a server without an identity has the password in azure.json, a worker has nothing secret, and machines
// with an identity have its client id.
func TestAzureJSON(t *testing.T) {
	in(t, func(w *world) {
		answer := func(c *fleet.Cluster, pool fleet.Pool, key string) string {
			got, err := w.p.AnswerSecrets(w.Context(), c, pool)
			if err != nil {
				t.Fatal(err)
			}
			return string(got["nodes-azure-json"][key].Reveal())
		}
		server, worker := answer(&w.c, w.c.ControlPlane, "control-plane-azure.json"), answer(&w.c, w.c.Workers[0], "worker-node-azure.json")
		for _, want := range []string{azuretest.Password, `"resourceGroup": "rg-1"`, `"vnetName": "eu-1-vnet"`, `"subnetName": "eu-1-node-subnet"`, `"securityGroupName": "eu-1-node-nsg"`, `"vmType": "vmss"`, `"tenantId": "` + azuretest.Tenant} {
			if !strings.Contains(server, want) {
				t.Errorf("azure.json of a server has no %s: %s", want, server)
			}
		}
		if strings.Contains(worker, azuretest.Password) || !strings.Contains(worker, `"subnetName": "eu-1-node-subnet"`) {
			t.Errorf("azure.json of a worker is %s", worker)
		}
		id := groupID("ids") + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/n"
		w.Put(id, map[string]any{"properties": map[string]any{"clientId": "client-of-n"}})
		c := w.cluster(clusterSpec, strings.Replace(machineSpec, "{", "{identity: UserAssigned, userAssignedIdentities: [{providerID: 'azure://"+id+"'}], ", 1))
		if got := answer(&c, c.ControlPlane, "control-plane-azure.json"); strings.Contains(got, azuretest.Password) || !strings.Contains(got, `"userAssignedIdentityID": "client-of-n"`) {
			t.Errorf("azure.json of a server with an identity is %s", got)
		}
	})
}

// setFree removes the VM of a machine, whose interfaces and disks stay.
func (w *world) setFree(m fleet.Machine) {
	w.Drop(vmID(m.ProviderID))
	for _, k := range []string{"networkinterfaces", "disks"} {
		for _, r := range w.Resources(k) {
			w.Edit(r.ID, func(body map[string]any) {
				p, _ := body["properties"].(map[string]any)
				delete(p, "virtualMachine")
				delete(p, "owner")
				p["diskState"] = "Unattached"
			})
		}
	}
}

// TestRoomForSpot: a zone without room for spot VMs of a size may have room for others.
func TestRoomForSpot(t *testing.T) {
	in(t, func(w *world) {
		spot := w.cluster(strings.Replace(clusterSpec, "GROUP", "rg-1", 1), strings.Replace(machineSpec, "{", "{spotVMOptions: {}, ", 1))
		w.ready(&w.c)
		for _, z := range []string{"1", "2", "3"} {
			w.Fill(size, z, "SkuNotAvailable", false)
		}
		w.fail(&spot, "m-0", fleet.Exhausted, "tried zones 1, 2, 3")
		for _, z := range []string{"1", "2", "3"} {
			w.Fill(size, z, "", false)
		}
		w.create(&w.c, "cp-0")
	})
}

// TestFailedVMThatStays: a VM that had no capacity and cannot be deleted keeps its zone out for ten minutes, and no longer.
func TestFailedVMThatStays(t *testing.T) {
	in(t, func(w *world) {
		w.ready(&w.c)
		r := request(&w.c, "m-0")
		r.FailureDomain = "1"
		w.Fill(size, "1", "AllocationFailed", true)
		if err := w.p.CreateMachine(w.Context(), "op", r); err != nil {
			t.Fatal(err)
		}
		w.until(&w.c, "failed", func(i fleet.Infrastructure) bool { return machineOf(i, "m-0").State == fleet.MachineFailed })
		w.Fill(size, "1", "", false)
		r.Name = "m-1"
		wantKind(t, "CreateMachine", w.p.CreateMachine(w.Context(), "op", r), fleet.Exhausted)
		for range 12 {
			time.Sleep(time.Minute)
			_ = w.observe(&w.c)
		}
		for _, r.Name = range []fleet.MachineName{"m-1", "m-2"} {
			if err := w.p.CreateMachine(w.Context(), "op", r); err != nil {
				t.Errorf("twelve minutes later: %v", err)
			}
			time.Sleep(settle)
		}
	})
}

// TestServerThatFailsLater: the server that replaces one whose VM had no capacity, once a health check has given that up, is
// in another zone.
func TestServerThatFailsLater(t *testing.T) {
	in(t, func(w *world) {
		w.ready(&w.c)
		create := func(name fleet.MachineName, until string, state fleet.MachineState) fleet.Machine {
			r := request(&w.c, name)
			r.FailureDomain = "2"
			if err := w.p.CreateMachine(w.Context(), "op-"+fleet.OperationID(name), r); err != nil {
				t.Fatal(err)
			}
			return machineOf(w.until(&w.c, until, func(i fleet.Infrastructure) bool { return machineOf(i, name).State == state }), name)
		}
		w.Fill(size, "2", "ZonalAllocationFailed", true)
		failed := create("cp-0", "failed", fleet.MachineFailed)
		for range 11 { // the default of health checks
			time.Sleep(time.Minute)
			_ = w.observe(&w.c)
		}
		if err := w.p.DeleteMachine(w.Context(), "op", &w.c, "cp-0", failed.ProviderID); err != nil {
			t.Fatal(err)
		}
		if m := create("cp-1", "running", fleet.MachineRunning); failed.FailureDomain != "2" || m.FailureDomain != "1" {
			t.Errorf("after zone %s the next machine is in zone %s, want 2 and 1", failed.FailureDomain, m.FailureDomain)
		}
		w.Fill(size, "2", "", false)
		time.Sleep(31 * time.Minute)
		if m := create("cp-2", "running", fleet.MachineRunning); m.FailureDomain != "2" {
			t.Errorf("half an hour later the machine is in zone %s, want 2", m.FailureDomain)
		}
	})
}

// TestElsewhere: a VM that fails later for want of capacity is replaced at once while another zone has not refused its size.
func TestElsewhere(t *testing.T) {
	in(t, func(w *world) {
		w.ready(&w.c)
		w.Fill(size, "1", "SkuNotAvailable", false)
		w.Fill(size, "2", "ZonalAllocationFailed", true)
		w.Fill(size, "3", "AllocationFailed", true)
		fail := func(c *fleet.Cluster, name fleet.MachineName) fleet.Machine {
			if err := w.p.CreateMachine(w.Context(), "op-"+fleet.OperationID(name), request(c, name)); err != nil {
				t.Fatal(err)
			}
			return machineOf(w.until(c, "failed", func(i fleet.Infrastructure) bool { return machineOf(i, name).State == fleet.MachineFailed }), name)
		}
		if m := fail(&w.c, "m-0"); m.FailureDomain != "2" || !m.Elsewhere {
			t.Errorf("in zone %s, elsewhere %t: zone 3 may have room", m.FailureDomain, m.Elsewhere)
		}
		if m := fail(&w.c, "m-1"); m.FailureDomain != "3" || m.Elsewhere {
			t.Errorf("in zone %s, elsewhere %t: no zone has room", m.FailureDomain, m.Elsewhere)
		}
		time.Sleep(11 * time.Minute)
		if m := machineOf(w.observe(&w.c), "m-1"); m.Elsewhere {
			t.Error("a zone that had no room is tried again at once")
		}
		time.Sleep(30 * time.Minute)
		bound := w.c
		bound.Workers = slices.Clone(w.c.Workers)
		bound.Workers[0].FailureDomain = "2"
		r := request(&bound, "m-2")
		r.FailureDomain = "2"
		if err := w.p.CreateMachine(w.Context(), "op-2", r); err != nil {
			t.Fatal(err)
		}
		if m := machineOf(w.until(&bound, "failed", func(i fleet.Infrastructure) bool { return machineOf(i, "m-2").State == fleet.MachineFailed }), "m-2"); m.Elsewhere {
			t.Error("a worker of zone 2 would go to another zone")
		}
		w.FailVMs("OSProvisioningInternalError")
		w.Fill(size, "1", "", false)
		if m := fail(&w.c, "m-3"); m.Elsewhere {
			t.Errorf("it failed with %s, which every zone may have", m.Message)
		}
	})
}

// TestStoppedVM: a VM that ran, that people stopped, and for which there is no capacity when it is to start again is not
// replaced at once as one that never ran: its disk has what it was.
func TestStoppedVM(t *testing.T) {
	in(t, func(w *world) {
		m := w.create(&w.c, "m-0")
		time.Sleep(time.Hour)
		w.Edit(vmID(m.ProviderID), func(body map[string]any) {
			p, _ := body["properties"].(map[string]any)
			p["provisioningState"] = "Failed"
			p["instanceView"] = map[string]any{"statuses": []any{
				map[string]any{"code": "ProvisioningState/failed/AllocationFailed", "message": "Allocation failed."}, map[string]any{"code": "PowerState/deallocated"},
			}}
		})
		time.Sleep(2 * tick)
		if m := machineOf(w.observe(&w.c), "m-0"); m.State != fleet.MachineFailed || m.Elsewhere {
			t.Errorf("it is %s, elsewhere %t, want it to stay", m.State, m.Elsewhere)
		}
	})
}

// TestMachinePool: the machines of an AzureMachinePool are VMs of their own, in the zones that the MachinePool names. One
// without capacity there is left out, and others are used. Their azure.json is called as the pool.
func TestMachinePool(t *testing.T) {
	in(t, func(w *world) {
		p := &w.c.Workers[0]
		p.Name, p.Kind, p.FailureDomains = "pool", fleet.MachinePoolKind, []string{"1", "2"}
		p.Infrastructure = object(t, "AzureMachinePool", "pool", `{location: West Europe, additionalTags: {team: web}, strategy: {rollingUpdate: {maxSurge: 25%}}, template: {vmSize: `+size+`, osDisk: {diskSizeGB: 30}, dataDisks: [{nameSuffix: data, diskSizeGB: 8, lun: 1}], terminateNotificationTimeout: 10}}`)
		create := func(name fleet.MachineName, zone string) error {
			w.ready(&w.c)
			r := request(&w.c, name)
			r.FailureDomain = zone
			return w.p.CreateMachine(w.Context(), "op-"+fleet.OperationID(name), r)
		}
		at := func(name fleet.MachineName) fleet.Machine {
			return machineOf(w.until(&w.c, "there", func(i fleet.Infrastructure) bool {
				s := machineOf(i, name).State
				return s == fleet.MachineRunning || s == fleet.MachineFailed
			}), name)
		}
		if err := create("m-0", "2"); err != nil {
			t.Fatal(err)
		}
		m := at("m-0")
		r, _ := w.Resource(vmID(m.ProviderID))
		disks, _ := r.Body["properties"].(map[string]any)["storageProfile"].(map[string]any)["dataDisks"].([]any)
		if m.FailureDomain != "2" || m.Pool != "pool" || r.Tags["team"] != "web" || len(disks) != 1 {
			t.Errorf("%+v, tags %v, disks %v", m, r.Tags, disks)
		}
		if got := says(r.Body["properties"].(map[string]any)["scheduledEventsProfile"]); got != "map[terminateNotificationProfile:map[enable:true notBeforeTimeout:PT10M]]" {
			t.Errorf("notice is %s", got)
		}
		secrets, err := w.p.AnswerSecrets(w.Context(), &w.c, *p)
		if err != nil || secrets["pool-azure-json"]["worker-node-azure.json"].IsZero() {
			t.Errorf("azure.json of the pool: %v, %v", secrets, err)
		}
		w.Fill(size, "2", "SkuNotAvailable", false)
		if err := create("m-1", "2"); err != nil || at("m-1").FailureDomain != "1" {
			t.Errorf("zone 2 has no capacity: %v, in zone %q, want 1", err, at("m-1").FailureDomain)
		}
		w.Fill(size, "1", "ZonalAllocationFailed", true)
		time.Sleep(31 * time.Minute)
		w.Fill(size, "2", "", false)
		if err := create("m-2", "1"); err != nil || !at("m-2").Elsewhere {
			t.Errorf("zone 1 fails later: %v, %+v", err, at("m-2"))
		}
		w.Fill(size, "2", "SkuNotAvailable", false)
		wantKind(t, "neither of its zones has capacity", create("m-3", "1"), fleet.Exhausted)
		if at("m-2").Elsewhere {
			t.Error("zone 3 is not one of the pool")
		}
		p.FailureDomains = []string{"1", "9"}
		err = create("m-4", "1")
		if wantKind(t, "a zone that the size has not", err, fleet.Invalid); !strings.Contains(err.Error(), "name zone 9") {
			t.Errorf("CreateMachine = %v", err)
		}
		p.Infrastructure = object(t, "AzureMachinePool", "pool", `{location: northeurope, template: {vmSize: `+size+`}}`)
		err = create("m-5", "1")
		if wantKind(t, "another location", err, fleet.Invalid); !strings.Contains(err.Error(), "is in northeurope") {
			t.Errorf("CreateMachine = %v", err)
		}
	})
}

// TestCheckZone: check tells that a size is not offered in the zone of a pool.
func TestCheckZone(t *testing.T) {
	in(t, func(w *world) {
		w.ready(&w.c)
		w.c.Workers[0].FailureDomain = "9"
		found, err := w.p.Check(w.Context(), []*fleet.Cluster{&w.c})
		if err != nil || !slices.ContainsFunc(found, func(f providers.Finding) bool {
			return f.Err != nil && strings.Contains(f.Err.Error(), "is to be in zone 9")
		}) {
			t.Errorf("%+v, %v", found, err)
		}
	})
}

// TestNamesOfTags: Azure does not tell upper and lower case of names of tags apart.
func TestNamesOfTags(t *testing.T) {
	in(t, func(w *world) {
		c := w.cluster(strings.Replace(clusterSpec, "identityRef", "additionalTags: {Owner: a}, identityRef", 1), strings.Replace(machineSpec, "{", "{additionalTags: {owner: b}, ", 1))
		m := w.create(&c, "m-0")
		vm, _ := w.Resource(vmID(m.ProviderID))
		if vm.Tags["owner"] != "b" {
			t.Errorf("the tags are %v", vm.Tags)
		}
		w.Retag(vm.ID, func(tags map[string]string) {
			for k, v := range vm.Tags {
				delete(tags, k)
				tags[strings.ToUpper(k)] = v
			}
		})
		w.Edit(vm.ID, func(body map[string]any) {
			p, _ := body["properties"].(map[string]any)
			p["provisioningState"], p["instanceView"] = "Failed", map[string]any{"statuses": []any{map[string]any{"code": "ProvisioningState/failed/AllocationFailed"}}}
		})
		time.Sleep(2 * tick)
		if got := machineOf(w.observe(&c), "m-0"); got.State != fleet.MachineFailed {
			t.Errorf("with tags in capitals the VM is %s: %s", got.State, got.Message)
		}
	})
}

// TestRuleWithoutWords: a rule without a description is known again, also if Azure trims what describes it.
func TestRuleWithoutWords(t *testing.T) {
	in(t, func(w *world) {
		with := func(rules string) fleet.Cluster {
			return newCluster(t, strings.Replace(strings.Replace(clusterSpec, "GROUP", "rg-1", 1), "identityRef",
				"networkSpec: {subnets: [{role: control-plane}, {role: node, securityGroup: {securityRules: ["+rules+"]}}]}, identityRef", 1), machineSpec)
		}
		c := with("{name: web, priority: 300, protocol: Tcp, sources: [10.1.0.0/16, 10.2.0.0/16]}, {name: long, priority: 301, protocol: Tcp, description: " + strings.Repeat("a", 140) + "}")
		w.create(&c, "m-0")
		for _, g := range w.Resources("networksecuritygroups") {
			w.Edit(g.ID, func(body map[string]any) {
				for _, r := range body["properties"].(map[string]any)["securityRules"].([]any) {
					p := r.(map[string]any)["properties"].(map[string]any)
					p["description"] = strings.TrimSpace(fmt.Sprint(p["description"]))
					if s, ok := p["sourceAddressPrefixes"].([]any); ok {
						slices.Reverse(s)
					}
				}
			})
		}
		time.Sleep(2 * tick)
		if got := w.observe(&c); len(got.Drift) > 0 {
			t.Errorf("drift %v", got.Drift)
		}
		c = with("")
		if err := w.p.EnsureInfrastructure(w.Context(), "op", &c); err != nil {
			t.Error(err)
		}
		if text := fmt.Sprint(w.Resources("networksecuritygroups")); strings.Contains(text, "name:web") {
			t.Errorf("a rule that left Git is there: %s", text)
		}
	})
}

// TestRepairBelow: a subnet and the link of a zone that Azure could not make are made again.
func TestRepairBelow(t *testing.T) {
	in(t, func(w *world) {
		c := w.cluster(strings.Replace(clusterSpec, "identityRef", "networkSpec: {apiServerLB: {type: Internal}}, identityRef", 1), machineSpec)
		w.ready(&c)
		for _, kind := range []string{"subnets", "virtualnetworklinks"} {
			for _, r := range w.Resources(kind) {
				w.Edit(r.ID, func(body map[string]any) { body["properties"].(map[string]any)["provisioningState"] = "Failed" })
			}
			time.Sleep(2 * tick)
			if got := w.observe(&c); got.Ready {
				t.Errorf("it is ready with %s that failed", kind)
			}
			w.ready(&c)
		}
	})
}

// TestDeletionWithoutSizes: a deletion needs no right to the list of sizes.
func TestDeletionWithoutSizes(t *testing.T) {
	in(t, func(w *world) {
		w.ready(&w.c)
		w.Deny("skus", true)
		w.p = w.provider()
		w.dismantle(&w.c)
	})
}

// TestNewSize: a size that the subscription gets is there soon.
func TestNewSize(t *testing.T) {
	in(t, func(w *world) {
		end := w.Inject(azuretest.Fault{Method: "LIST skus", Status: http.StatusOK, Body: `{"value": []}`})
		w.ready(&w.c)
		w.fail(&w.c, "m-0", fleet.Invalid, "has no such size")
		w.fail(&w.c, "m-0", fleet.Invalid, "has no such size")
		if n := end(); n > 2 {
			t.Errorf("the sizes were listed %d times", n)
		}
		time.Sleep(11 * time.Minute)
		w.create(&w.c, "m-0")
	})
}

// TestNameInAnotherCase: a name that Git writes in another case is the same one to Azure.
func TestNameInAnotherCase(t *testing.T) {
	in(t, func(w *world) {
		w.ready(&w.c)
		c := newCluster(t, strings.Replace(strings.Replace(clusterSpec, "GROUP", "RG-1", 1), "identityRef", "networkSpec: {vnet: {name: EU-1-vnet}, apiServerLB: {name: EU-1-Public-LB}}, identityRef", 1), machineSpec)
		if got := w.observe(&c); len(got.Drift) > 0 || !got.Ready {
			t.Errorf("ready %t, %s, drift %v", got.Ready, got.Message, got.Drift)
		}
	})
}

// TestAnotherType: a load balancer cannot become public, and servers behind it keep their way out.
func TestAnotherType(t *testing.T) {
	in(t, func(w *world) {
		of := func(kind string) fleet.Cluster {
			return newCluster(t, strings.Replace(strings.Replace(clusterSpec, "GROUP", "rg-1", 1), "identityRef", "networkSpec: {apiServerLB: {type: "+kind+"}}, identityRef", 1), machineSpec)
		}
		for _, kind := range []string{"Internal", "Public"} {
			c := of(kind)
			w.create(&c, "cp-0")
			before := fmt.Sprint(w.Resources("subnets"), w.Resources("natgateways"))
			c = of(map[string]string{"Internal": "Public", "Public": "Internal"}[kind])
			time.Sleep(2 * tick)
			for range 3 {
				wantKind(t, "EnsureInfrastructure", w.p.EnsureInfrastructure(w.Context(), "op", &c), fleet.Invalid)
				time.Sleep(settle)
			}
			if after := fmt.Sprint(w.Resources("subnets"), w.Resources("natgateways")); after != before {
				t.Errorf("%s: the way out was\n%s\nand is\n%s", kind, before, after)
			}
			for _, r := range w.Resources("") {
				w.Drop(r.ID)
			}
			time.Sleep(settle)
		}
	})
}

// TestAnotherVNet: machines keep their VNet, also a given one: none is made or used in its place.
func TestAnotherVNet(t *testing.T) {
	in(t, func(w *world) {
		w.given()
		other := groupID("net") + "/providers/Microsoft.Network/virtualNetworks/other"
		w.Put(other, map[string]any{"location": azuretest.Location, "properties": map[string]any{}})
		for _, name := range []string{"servers", "nodes"} {
			w.Put(other+"/subnets/"+name, map[string]any{"properties": map[string]any{"addressPrefix": "10.9.0.0/16"}})
		}
		with := func(vnet string) fleet.Cluster {
			return newCluster(t, strings.Replace(strings.Replace(clusterSpec, "GROUP", "net", 1), "identityRef", "networkSpec: {vnet: {name: "+vnet+"}, subnets: [{role: control-plane, name: servers}, {role: node, name: nodes}]}, identityRef", 1), machineSpec)
		}
		c := with("corp")
		w.create(&c, "m-0")
		for _, vnet := range []string{"other", "third"} {
			c = with(vnet)
			if err := w.p.EnsureInfrastructure(w.Context(), "op", &c); err == nil || !strings.Contains(err.Error(), "virtualNetworks/corp") {
				t.Errorf("EnsureInfrastructure = %v, want the VNet of the machines", err)
			}
			time.Sleep(settle)
			if got := w.observe(&c); got.Ready {
				t.Errorf("it is ready in VNet %s", vnet)
			}
		}
		if n := len(w.Resources("virtualnetworks")); n != 2 {
			t.Errorf("%d VNets", n)
		}
	})
}

// TestAnotherLocation: machines keep their location, in a resource group of people, too.
func TestAnotherLocation(t *testing.T) {
	in(t, func(w *world) {
		w.Put(groupID("rg-9"), map[string]any{"location": azuretest.Location})
		c := newCluster(t, strings.Replace(clusterSpec, "GROUP", "rg-9", 1), machineSpec)
		w.create(&c, "m-0")
		c = newCluster(t, strings.Replace(strings.Replace(clusterSpec, "GROUP", "rg-9", 1), "westeurope", "northeurope", 1), machineSpec)
		if got := w.observe(&c); got.Ready || !strings.Contains(got.Message, "is in westeurope") {
			t.Errorf("ready %t: %s", got.Ready, got.Message)
		}
	})
}

// TestPorts: the load balancer and the network let in the ports of the control plane beside that of the API server.
func TestPorts(t *testing.T) {
	in(t, func(w *world) {
		w.c.ControlPlane.Ports = []int32{9345}
		w.create(&w.c, "cp-0")
		rules := fmt.Sprint(w.Resources("loadbalancers")[0].Body["properties"].(map[string]any)["loadBalancingRules"])
		if !strings.Contains(rules, "frontendPort:9345") || !strings.Contains(rules, "backendPort:9345") {
			t.Errorf("the load balancer leads to %s", rules)
		}
		if text := fmt.Sprint(w.Resources("networksecuritygroups")); !strings.Contains(text, "destinationPortRanges:[6443 9345]") {
			t.Errorf("the network lets in %s", text)
		}
		if got := w.observe(&w.c); len(got.Drift) > 0 {
			t.Errorf("drift %v", got.Drift)
		}
	})
}

// TestPortOfServers: the load balancer leads to where servers that are there listen, whatever Git says of the first one.
// One that would listen elsewhere is refused.
func TestPortOfServers(t *testing.T) {
	in(t, func(w *world) {
		w.ready(&w.c)
		r := request(&w.c, "cp-0")
		r.APIPort = 6443
		if err := w.p.CreateMachine(w.Context(), "op", r); err != nil {
			t.Fatal(err)
		}
		time.Sleep(settle)
		c := w.c
		c.ControlPlane.APIPort = 7443
		if got := w.observe(&c); len(got.Drift) > 0 {
			t.Errorf("drift %v", got.Drift)
		}
		r = request(&c, "cp-1")
		r.APIPort = 7443
		err := w.p.CreateMachine(w.Context(), "op", r)
		wantKind(t, "CreateMachine", err, fleet.Invalid)
		if err != nil && !strings.Contains(err.Error(), "set bindPort to 6443") {
			t.Errorf("CreateMachine = %v", err)
		}
	})
}

// TestAnotherLabel: a public name that Git has in the place of the one that machines know is reported.
func TestAnotherLabel(t *testing.T) {
	in(t, func(w *world) {
		w.create(&w.c, "cp-0")
		c := newCluster(t, strings.Replace(strings.Replace(clusterSpec, "GROUP", "rg-1", 1), "identityRef",
			"networkSpec: {apiServerLB: {frontendIPs: [{publicIP: {dnsName: other.westeurope.cloudapp.azure.com}}]}}, identityRef", 1), machineSpec)
		if got := w.observe(&c); !strings.Contains(fmt.Sprint(got.Drift), "and not by other") {
			t.Errorf("drift %v", got.Drift)
		}
	})
}

// TestPartInUse: a deletion that waits for a part of a machine says for which, and why.
func TestPartInUse(t *testing.T) {
	in(t, func(w *world) {
		m := w.create(&w.c, "cp-0")
		w.setFree(m)
		disk := groupID("rg-1") + "/providers/Microsoft.Compute/disks/cp-0_etcd"
		w.Edit(disk, func(body map[string]any) { body["properties"].(map[string]any)["diskState"] = "ActiveSAS" })
		time.Sleep(settle)
		gone := w.c
		gone.Delete = true
		for range 5 {
			if err := w.p.DeleteInfrastructure(w.Context(), "op", &gone); err != nil {
				t.Log(err)
			}
			time.Sleep(settle)
		}
		if got := w.observe(&gone); !strings.Contains(got.Message, "disk cp-0_etcd is left of machine cp-0, and is activesas") {
			t.Errorf("the message is %q", got.Message)
		}
		w.Edit(disk, func(body map[string]any) { body["properties"].(map[string]any)["diskState"] = "Unattached" })
		w.dismantle(&w.c)
	})
}

// TestFieldsOfAVM: what Azure calls as CAPZ does is written as Git has it.
func TestFieldsOfAVM(t *testing.T) {
	in(t, func(w *world) {
		c := w.cluster(clusterSpec, `{vmSize: Standard_D4s_v5, osDisk: {managedDisk: {storageAccountType: Premium_LRS, diskEncryptionSet: {id: /subscriptions/a}, securityProfile: {securityEncryptionType: VMGuestStateOnly}}},
			dataDisks: [{nameSuffix: etcd, diskSizeGB: 128, lun: 0, managedDisk: {storageAccountType: UltraSSD_LRS}}], additionalCapabilities: {ultraSSDEnabled: true},
			securityProfile: {encryptionAtHost: true, securityType: TrustedLaunch, uefiSettings: {secureBootEnabled: true, vTpmEnabled: false}}}`)
		w.ready(&c)
		_ = w.p.CreateMachine(w.Context(), "op", request(&c, "m-0")) // the double has no encryption set
		local := w.cluster(clusterSpec, `{vmSize: Standard_D4s_v5, osDisk: {cachingType: ReadOnly, diffDiskSettings: {option: Local, placement: CacheDisk}}}`)
		w.ready(&local)
		_ = w.p.CreateMachine(w.Context(), "op", request(&local, "m-0"))
		var text string
		for _, call := range w.Calls() {
			if call.Method == "PUT virtualmachines" {
				text += jsonOf(t, call.Body)
			}
		}
		for _, want := range []string{
			`"managedDisk":{"diskEncryptionSet":{"id":"/subscriptions/a"},"securityProfile":{"securityEncryptionType":"VMGuestStateOnly"},"storageAccountType":"Premium_LRS"}`,
			`"managedDisk":{"storageAccountType":"UltraSSD_LRS"}`, `"additionalCapabilities":{"ultraSSDEnabled":true}`,
			`"securityProfile":{"encryptionAtHost":true,"securityType":"TrustedLaunch","uefiSettings":{"secureBootEnabled":true,"vTpmEnabled":false}}`,
			`"diffDiskSettings":{"option":"Local","placement":"CacheDisk"}`,
		} {
			if !strings.Contains(text, want) {
				t.Errorf("there is no %s in %s", want, text)
			}
		}
	})
}

// TestSharedListing: a listing that others have too stays as it was listed while its things are changed.
func TestSharedListing(t *testing.T) {
	in(t, func(w *world) {
		with := func(rule string) fleet.Cluster {
			group := "securityGroup: {securityRules: [{name: " + rule + ", priority: 300, protocol: Tcp}]}"
			return newCluster(t, strings.Replace(strings.Replace(clusterSpec, "GROUP", "rg-1", 1), "identityRef",
				"networkSpec: {subnets: [{role: control-plane, "+group+"}, {role: node, "+group+"}]}, identityRef", 1), machineSpec)
		}
		c := with("a")
		w.create(&c, "cp-0")
		w.create(&c, "cp-1")
		for _, nic := range w.Resources("networkinterfaces") {
			w.Edit(nic.ID, func(body map[string]any) {
				conf := body["properties"].(map[string]any)["ipConfigurations"].([]any)[0].(map[string]any)["properties"].(map[string]any)
				delete(conf, "loadBalancerBackendAddressPools")
			})
		}
		time.Sleep(2 * tick)
		before := fmt.Sprint(w.observe(&c).Drift)
		seen := 0
		w.Watch(func(call azuretest.Call) {
			if strings.HasPrefix(call.Method, "PUT network") {
				seen++
				if got := fmt.Sprint(w.observe(&c).Drift); got != before {
					t.Errorf("at change %d: drift %s, want %s", seen, got, before)
				}
			}
		})
		other := with("b")
		if err := w.p.EnsureInfrastructure(w.Context(), "op", &other); err != nil {
			t.Error(err)
		}
		if seen < 4 {
			t.Errorf("%d changes, want two groups and two interfaces", seen)
		}
	})
}

// TestBalancerIsGone: a load balancer that people deleted with its address gets the same name, and leads to the servers.
// If it would get another one than machines know, none is made.
func TestBalancerIsGone(t *testing.T) {
	in(t, func(w *world) {
		for _, network := range []string{"{}", "{apiServerLB: {type: Internal}}", "{privateDNSZone: None, apiServerLB: {type: Internal}}"} {
			c := w.cluster(strings.Replace(clusterSpec, "identityRef", "networkSpec: "+network+", identityRef", 1), machineSpec)
			w.create(&c, "cp-0")
			at := w.observe(&c)
			known := fleet.Residence{Provider: "azure", Places: []fleet.Place{at.Places[0].Place}, Endpoint: at.Endpoint, ControlPlane: fleet.InitializedOnce}
			for _, kind := range []string{"loadbalancers", "publicipaddresses", "virtualnetworklinks", "a", "privatednszones"} {
				for _, r := range w.Resources(kind) {
					if strings.Contains(r.ID, fmt.Sprint("/rg-", w.n, "/")) && !strings.Contains(r.Name, "natgw") {
						w.Drop(r.ID)
					}
				}
			}
			time.Sleep(settle)
			other := known
			other.Endpoint.Host = "another.example.com"
			if got := w.observe(c.WithResidence(other)); got.Ready || !strings.Contains(got.Message, "another.example.com") {
				t.Errorf("%s: ready %t: %s", network, got.Ready, got.Message)
			}
			got := w.ready(c.WithResidence(known))
			if got.Endpoint != at.Endpoint {
				t.Errorf("%s: the endpoint is %v, and was %v", network, got.Endpoint, at.Endpoint)
			}
			w.until(c.WithResidence(known), "at rest", func(i fleet.Infrastructure) bool { return len(i.Drift) == 0 })
			if got := w.served(&c, fmt.Sprint("rg-", w.n)); !slices.Equal(got, []fleet.MachineName{"cp-0"}) {
				t.Errorf("%s: the load balancer leads to %v", network, got)
			}
		}
	})
}

// TestRightsForMachinesAlone: a principal that may not see AKS deletes the resource group of a cluster of VMs.
func TestRightsForMachinesAlone(t *testing.T) {
	in(t, func(w *world) {
		w.create(&w.c, "m-0")
		if err := w.p.DeleteMachine(w.Context(), "op", &w.c, "m-0", ""); err != nil {
			t.Fatal(err)
		}
		w.until(&w.c, "deleted", func(i fleet.Infrastructure) bool { return len(i.Machines) == 0 })
		w.Inject(azuretest.Fault{Method: "LIST managedclusters", Status: 403, Code: "AuthorizationFailed", Message: "The client does not have authorization."})
		w.dismantle(&w.c)
	})
}
