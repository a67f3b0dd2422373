package azure_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/azure/azuretest"
)

// backup is the id of a disk of people in the resource group of adopting worlds, whose name begins as that of a machine.
const backup = "/subscriptions/" + azuretest.Subscription + "/resourceGroups/capz/providers/Microsoft.Compute/disks/eu-1-md-0-0_backup"

// An adopting world has a cluster that Cluster API's provider made, and manifests as it leaves them.
type adopting struct {
	*world
	c        *fleet.Cluster
	left     azuretest.LeftByCAPZ
	machines []providers.AdoptedMachine
}

// adopts runs f on a cluster of Cluster API in the resource group capz. more is what networkSpec of its AzureCluster has.
func adopts(t *testing.T, o azuretest.CAPZ, more string, f func(w *adopting)) {
	t.Helper()
	in(t, func(w *world) {
		o.Name, o.Group, o.Servers, o.Workers = "eu-1", "capz", 3, max(o.Workers, 2)
		if o.VNet != "" {
			for _, s := range []string{"controlplane", "node"} {
				w.Put(o.VNet+"/subnets/eu-1-"+s+"-subnet", map[string]any{"properties": map[string]any{"addressPrefix": "10.0.0.0/16"}})
			}
			w.Put(o.VNet, map[string]any{"location": azuretest.Location, "properties": map[string]any{"addressSpace": map[string]any{"addressPrefixes": []any{"10.0.0.0/8"}}}})
		}
		if o.Peer != "" {
			w.Put(o.Peer, map[string]any{"location": azuretest.Location, "properties": map[string]any{"addressSpace": map[string]any{"addressPrefixes": []any{"172.16.0.0/16"}}}})
		}
		a := &adopting{world: w, left: w.AddCAPZ(o)}
		w.AddCAPZ(azuretest.CAPZ{Name: "us-1", Group: "capz", Servers: 1})                                                     // another one in the group
		w.Put(backup, map[string]any{"location": azuretest.Location, "properties": map[string]any{"diskState": "Unattached"}}) // of people
		lb := "frontendIPs: [{name: eu-1-public-lb-frontEnd, publicIP: {name: pip-eu-1-apiserver, dnsName: " + a.left.Host + "}}]"
		if o.Internal {
			lb = "type: Internal"
		}
		c := w.cluster(fmt.Sprintf("{location: westeurope, subscriptionID: %s, resourceGroup: capz, identityRef: {name: fleet}, controlPlaneEndpoint: {host: %s, port: 6443}, networkSpec: {apiServerLB: {%s}%s}}",
			azuretest.Subscription, a.left.Host, lb, more), machineSpec)
		a.c = &c
		for pool, ids := range map[fleet.PoolName][]string{"eu-1-cp": a.left.Servers, "eu-1-md-0": a.left.Workers} {
			for _, id := range ids {
				a.machines = append(a.machines, providers.AdoptedMachine{Name: fleet.MachineName(id[strings.LastIndexByte(id, '/')+1:]), Pool: pool, ID: fleet.ProviderID("azure://" + id)})
			}
		}
		f(a)
	})
}

// contents returns all resources without tags of Fairlead and what changes with each change.
func (a *adopting) contents() map[string]string {
	out := make(map[string]string)
	for _, r := range a.Resources("") {
		maps.DeleteFunc(r.Tags, func(k, _ string) bool { return strings.HasPrefix(k, "fairlead.dev_") })
		delete(r.Body, "tags")
		delete(r.Body, "etag")
		data, err := json.Marshal(r.Body)
		if err != nil {
			a.Fatal(err)
		}
		out[r.ID] = fmt.Sprint(r.Tags, string(data))
	}
	return out
}

// changes returns the methods that changed something.
func (a *adopting) changes() (out []string) {
	for _, c := range a.Calls() {
		if c.Changes() {
			out = append(out, c.Method)
		}
	}
	return out
}

// TestAdopt: a cluster that Cluster API made gets tags, and nothing else of it changes: there is nothing to do afterwards, its
// machines are those of the templates, and it can be given back. Then it can be grown and deleted, with all that it consists of.
func TestAdopt(t *testing.T) {
	const given = "/subscriptions/" + azuretest.Subscription + "/resourceGroups/shared/providers/Microsoft.Network/virtualNetworks/office"
	for name, tc := range map[string]struct {
		left azuretest.CAPZ
		more string
	}{
		"public":                           {azuretest.CAPZ{}, ""},
		"internal":                         {azuretest.CAPZ{Internal: true}, ""},
		"a private zone elsewhere":         {azuretest.CAPZ{Internal: true, ZoneGroup: "dns"}, ", privateDNSZoneName: eu-1.capz.io, privateDNSZoneResourceGroup: dns"},
		"public addresses":                 {azuretest.CAPZ{Public: true}, ""},
		"a given VNet":                     {azuretest.CAPZ{VNet: given}, ", vnet: {name: office, resourceGroup: shared}"},
		"a peering":                        {azuretest.CAPZ{Internal: true, Peer: hub}, ", vnet: {peerings: [{remoteVnetName: hub, resourceGroup: shared, forwardPeeringProperties: {allowForwardedTraffic: true}, reversePeeringProperties: {allowForwardedTraffic: true}}]}"},
		"outbound load balancers":          {azuretest.CAPZ{Internal: true, Outbound: true}, ", nodeOutboundLB: {frontendIPsCount: 1}, controlPlaneOutboundLB: {frontendIPsCount: 1}"},
		"dual stack":                       {azuretest.CAPZ{DualStack: true, Outbound: true}, ", nodeOutboundLB: {}, vnet: {cidrBlocks: [10.0.0.0/8, '2001:db8::/56']}, subnets: [{role: control-plane, cidrBlocks: [10.0.0.0/16, '2001:db8::/64']}, {role: node, cidrBlocks: [10.1.0.0/16, '2001:db8:0:1::/64']}]"},
		"a group of people":                {azuretest.CAPZ{GroupOfPeople: true}, ""},
		"availability sets":                {azuretest.CAPZ{Sets: true}, ""},
		"a bastion and a private endpoint": {azuretest.CAPZ{Access: true}, ", subnets: [{role: control-plane}, {role: node, privateEndpoints: [{name: registry, privateIPAddresses: [10.1.0.9], privateLinkServiceConnections: [{privateLinkServiceID: /subscriptions/x/registry}]}]}]}, bastionSpec: {azureBastion: {}"},
		"rules in Git":                     {azuretest.CAPZ{}, ", subnets: [{role: control-plane, securityGroup: {securityRules: [{name: allow_ssh, description: Allow SSH, priority: 2200, protocol: Tcp, direction: Inbound, source: '*', sourcePorts: '*', destination: '*', destinationPorts: '22', action: Allow}]}}, {role: node}]"},
	} {
		t.Run(name, func(t *testing.T) {
			adopts(t, tc.left, tc.more, func(a *adopting) {
				before := a.contents()
				a.ResetCalls()
				untagged, err := a.p.Adoptable(a.Context(), a.c, a.machines)
				if err != nil || len(untagged) < 16 || len(slices.Compact(slices.Clone(untagged))) < len(untagged) {
					t.Fatalf("to be tagged are %q, %v", untagged, err)
				}
				if done := a.changes(); len(done) > 0 {
					t.Errorf("to look called %q", done)
				}
				for range 2 { // and once more
					if err := a.p.Adopt(a.Context(), a.c, a.machines); err != nil {
						t.Fatal(err)
					}
					time.Sleep(settle)
				}
				if left, err := a.p.Adoptable(a.Context(), a.c, a.machines); err != nil || len(left) > 0 {
					t.Errorf("left are %q, %v", left, err)
				}
				if done := a.changes(); len(done) != len(untagged) || slices.ContainsFunc(done, func(m string) bool { return m != "PATCH tags" }) {
					t.Errorf("%d things were tagged by %q", len(untagged), done)
				}
				for _, r := range a.Resources("") {
					if strings.Contains(r.ID, "/us-1") && r.Tags["fairlead.dev_fleet"] != "" {
						t.Errorf("%s of another cluster has tags", r.ID)
					}
				}
				a.ResetCalls()
				got := a.observe(a.c)
				if len(got.Machines) != 5 || got.Endpoint.Host != a.left.Host || !got.Ready || len(got.Drift)+len(got.Upkeep) > 0 {
					t.Errorf("ready %t at %v: %q, drift %q, upkeep %q, machines %+v", got.Ready, got.Endpoint, got.Message, got.Drift, got.Upkeep, got.Machines)
				}
				for _, m := range got.Machines {
					if p, _ := a.c.Pool(m.Pool); m.Damaged != "" || m.Template != p.Template || m.Operation != providers.AdoptionID(a.c.Key) || m.State != fleet.MachineRunning {
						t.Errorf("machine %+v", m)
					}
				}
				if err := a.p.EnsureInfrastructure(a.Context(), "op", a.c); err != nil {
					t.Error(err)
				}
				if done := a.changes(); len(done) > 0 {
					t.Errorf("nothing is to do, and %q was called", done)
				}
				if err := a.p.Release(a.Context(), a.c, a.machines); err != nil {
					t.Fatal(err)
				}
				for _, r := range a.Resources("") {
					for k := range r.Tags {
						if strings.HasPrefix(k, "fairlead.dev_") {
							t.Errorf("%s has %s", r.ID, k)
						}
					}
				}
				if d := cmp.Diff(before, a.contents()); d != "" {
					t.Errorf("more than tags of Fairlead changed: %s", d)
				}
				time.Sleep(settle)
				if again, err := a.p.Adoptable(a.Context(), a.c, a.machines); err != nil || !slices.Equal(again, untagged) {
					t.Errorf("to be tagged again are %q, %v", again, err)
				}
				a.life()
			})
		})
	}
}

// TestAdoptAddressesOfPeople: a public address that people gave a machine, without the tag of Cluster API or with another name, is not
// adopted.
func TestAdoptAddressesOfPeople(t *testing.T) {
	adopts(t, azuretest.CAPZ{Public: true}, "", func(a *adopting) {
		network := groupID("capz") + "/providers/Microsoft.Network/"
		a.Retag(network+"publicIPAddresses/pip-eu-1-md-0-0", func(tags map[string]string) { clear(tags) })
		ip, _ := a.Resource(network + "publicIPAddresses/pip-eu-1-md-0-1")
		a.Put(network+"publicIPAddresses/mine", map[string]any{"location": azuretest.Location, "tags": ip.Body["tags"]})
		a.Edit(network+"networkInterfaces/eu-1-md-0-1-nic", func(body map[string]any) {
			conf := body["properties"].(map[string]any)["ipConfigurations"].([]any)[0].(map[string]any)["properties"].(map[string]any)
			conf["publicIPAddress"] = map[string]any{"id": network + "publicIPAddresses/mine"}
		})
		untagged, err := a.p.Adoptable(a.Context(), a.c, a.machines)
		if text := strings.Join(untagged, "; "); err != nil || !strings.Contains(text, "public address pip-eu-1-control-plane-0") || strings.Contains(text, "pip-eu-1-md-0-") || strings.Contains(text, "mine") {
			t.Errorf("to be tagged are %s, %v", text, err)
		}
	})
}

// life adopts the cluster, adds a machine, and deletes all.
func (a *adopting) life() {
	a.Helper()
	if err := a.p.Adopt(a.Context(), a.c, a.machines); err != nil {
		a.Fatal(err)
	}
	time.Sleep(settle)
	a.create(a.c, "m-0")
	wantKind(a, "to give back what was made since", a.p.Release(a.Context(), a.c, a.machines), fleet.Conflict)
	gone := *a.c
	gone.Delete = true
	for _, m := range a.observe(&gone).Machines {
		if err := a.p.DeleteMachine(a.Context(), "op", &gone, m.Name, ""); err != nil {
			a.Error(err)
		}
	}
	for range 40 {
		time.Sleep(settle)
		if !a.observe(&gone).Exists {
			break
		}
		_ = a.p.DeleteInfrastructure(a.Context(), "op", &gone) // what it waits for, the next look tells
	}
	for _, id := range a.left.All {
		if _, there := a.Resource(id); there && !strings.HasSuffix(id, "/capz") { // another cluster is in the group
			a.Errorf("%s is left", id)
		}
	}
	if n := len(a.Resources("virtualnetworkpeerings")); n > 0 {
		a.Errorf("%d halves of peerings are left", n)
	}
	if n := len(a.Resources("virtualmachines")); n != 1 {
		a.Errorf("%d VMs are left, want that of another cluster", n)
	}
	for _, id := range []string{backup, strings.Replace(backup, "Compute/disks/eu-1-md-0-0_backup", "Network/routeTables/us-1-node-routetable", 1)} {
		if _, there := a.Resource(id); !there {
			a.Errorf("%s of others is gone", id)
		}
	}
}

// TestAdoptRefuses: what cannot be adopted is told by its name, and nothing is tagged.
func TestAdoptRefuses(t *testing.T) {
	const group = "/subscriptions/" + azuretest.Subscription + "/resourceGroups/capz"
	const network = group + "/providers/Microsoft.Network/"
	for name, tc := range map[string]struct {
		do   func(a *adopting)
		kind fleet.ErrorKind
		want string
	}{
		"a VM is gone": {func(a *adopting) { a.Drop(a.left.Workers[0]) }, fleet.NotFound, "no VM with its provider id"},
		"a VM that goes": {func(a *adopting) {
			a.Edit(a.left.Workers[0], func(body map[string]any) { body["properties"].(map[string]any)["provisioningState"] = "Deleting" })
		}, fleet.NotFound, "no VM with its provider id"},
		"a VM of a scale set": {func(a *adopting) {
			a.machines[0].ID = "azure:///subscriptions/s/x/virtualMachineScaleSets/mp/virtualMachines/0"
		}, fleet.NotFound, "scale sets are not adopted"},
		"a machine of another name": {func(a *adopting) { a.machines[0].Name = "m" }, fleet.Invalid, "has another name"},
		"no such pool":              {func(a *adopting) { a.machines[0].Pool = "x" }, fleet.Invalid, "no pool x"},
		"two machines are one":      {func(a *adopting) { a.machines[1].ID, a.machines[1].Name = a.machines[0].ID, a.machines[0].Name }, fleet.Conflict, "is that of machine"},
		"a load balancer of others": {func(a *adopting) {
			a.Retag(network+"loadBalancers/eu-1-public-lb", func(tags map[string]string) { clear(tags) })
		}, fleet.Conflict, "load balancer eu-1-public-lb has no tag sigs.k8s.io_cluster-api-provider-azure_cluster_eu-1=owned"},
		"no NAT gateway": {func(a *adopting) { a.Drop(network + "natGateways/eu-1-node-natgw") }, fleet.NotFound, "name that of Cluster API in networkSpec.subnets.natGateway"},
		"no subnet":      {func(a *adopting) { a.Drop(network + "virtualNetworks/eu-1-vnet/subnets/eu-1-node-subnet") }, fleet.NotFound, "has no subnet eu-1-node-subnet"},
		"another name in DNS": {func(a *adopting) {
			a.Edit(network+"publicIPAddresses/pip-eu-1-apiserver", func(body map[string]any) {
				body["properties"].(map[string]any)["dnsSettings"] = map[string]any{"domainNameLabel": "other", "fqdn": "other.westeurope.cloudapp.azure.com"}
			})
		}, fleet.Invalid, "dnsName to other.westeurope.cloudapp.azure.com"},
		"another address": {func(a *adopting) {
			a.Edit(network+"loadBalancers/eu-1-public-lb", func(body map[string]any) {
				body["properties"].(map[string]any)["frontendIPConfigurations"] = []any{map[string]any{"name": "eu-1-public-lb-frontEnd", "properties": map[string]any{"publicIPAddress": map[string]any{"id": network + "publicIPAddresses/other"}}}}
			})
		}, fleet.Invalid, "does not have public address pip-eu-1-apiserver"},
		"one of another fleet": {func(a *adopting) {
			a.Retag(network+"virtualNetworks/eu-1-vnet", func(tags map[string]string) {
				tags["fairlead.dev_fleet"], tags["fairlead.dev_cluster"] = "fleet-b", "prod/eu-1"
			})
		}, fleet.Conflict, "belongs to cluster prod/eu-1 of fleet fleet-b"},
		"one that Fairlead made": {func(a *adopting) {
			a.Retag(network+"networkSecurityGroups/eu-1-node-nsg", func(tags map[string]string) {
				tags["fairlead.dev_fleet"], tags["fairlead.dev_cluster"] = "fleet-a", "prod/eu-1"
			})
		}, fleet.Conflict, "network security group eu-1-node-nsg has the tags of the cluster, and was not adopted"},
		"too many tags": {func(a *adopting) {
			a.Retag(a.left.Servers[0], func(tags map[string]string) {
				for i := range 45 {
					tags[fmt.Sprint("t", i)] = "x"
				}
			})
		}, fleet.Invalid, "and Azure takes 50"},
	} {
		t.Run(name, func(t *testing.T) {
			adopts(t, azuretest.CAPZ{}, "", func(a *adopting) {
				slices.SortFunc(a.machines, func(x, y providers.AdoptedMachine) int { return strings.Compare(string(x.Name), string(y.Name)) })
				tc.do(a)
				a.ResetCalls()
				_, err := a.p.Adoptable(a.Context(), a.c, a.machines)
				wantKind(t, "Adoptable", err, tc.kind)
				if err != nil && !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%v, want %q", err, tc.want)
				}
				wantKind(t, "Adopt", a.p.Adopt(a.Context(), a.c, a.machines), tc.kind)
				if done := a.changes(); len(done) > 0 {
					t.Errorf("%q was called", done)
				}
			})
		})
	}
}

// TestRoleWithoutRouteTables: a cluster that was not adopted has none, and is deleted by a role that does not see any.
func TestRoleWithoutRouteTables(t *testing.T) {
	in(t, func(w *world) {
		w.ready(&w.c)
		w.Deny("routetables", true)
		w.dismantle(&w.c)
	})
}

// TestAdoptedAgain: an adoption that ended half way goes on, and what was made since is not given back.
func TestAdoptedAgain(t *testing.T) {
	adopts(t, azuretest.CAPZ{}, "", func(a *adopting) {
		end := a.Inject(azuretest.Fault{Method: "PATCH *", Skip: 7, Status: 500, Code: "InternalServerError"})
		wantKind(t, "Adopt", a.p.Adopt(a.Context(), a.c, a.machines), fleet.Unanswered)
		end()
		time.Sleep(settle)
		a.p = a.provider()
		if err := a.p.Adopt(a.Context(), a.c, a.machines); err != nil {
			t.Fatal(err)
		}
		time.Sleep(settle)
		end = a.Inject(azuretest.Fault{Method: "PATCH *", Skip: 9, Status: 500, Code: "InternalServerError"})
		for _, copied := range []bool{false, true} { // a part that was made since, and a copy of one that was adopted
			id := strings.Replace(backup, "Compute/disks/eu-1-md-0-0_backup", "Network/publicIPAddresses/more", 1)
			a.Put(id, map[string]any{"location": azuretest.Location})
			r, _ := a.Resource(strings.Replace(id, "more", "pip-eu-1-apiserver", 1))
			a.Retag(id, func(tags map[string]string) {
				maps.Copy(tags, r.Tags)
				if !copied {
					delete(tags, "fairlead.dev_adopted")
				}
			})
			time.Sleep(settle)
			err := a.p.Release(a.Context(), a.c, a.machines)
			if wantKind(t, "Release", err, fleet.Conflict); !strings.Contains(err.Error(), "public address more was made since") {
				t.Errorf("Release = %v", err)
			}
			a.Drop(id)
			time.Sleep(settle)
		}
		wantKind(t, "Release", a.p.Release(a.Context(), a.c, a.machines), fleet.Unanswered)
		end()
		time.Sleep(settle)
		if err := a.p.Release(a.Context(), a.c, a.machines); err != nil {
			t.Error(err)
		}
		for _, r := range a.Resources("") {
			if r.Tags["fairlead.dev_fleet"] != "" {
				t.Errorf("%s has tags", r.ID)
			}
		}
	})
}

// TestAdoptEndsAnywhere: an adoption and a release whose answer is lost at any call, or that does not reach it, go on later.
func TestAdoptEndsAnywhere(t *testing.T) {
	adopts(t, azuretest.CAPZ{Sets: true}, "", func(a *adopting) {
		before := a.contents()
		n := 0
		for _, do := range []func() error{
			func() error { return a.p.Adopt(a.Context(), a.c, a.machines) }, func() error { return a.p.Release(a.Context(), a.c, a.machines) },
		} {
			for i := range 100 {
				a.p = a.provider()
				end := a.Inject(azuretest.Fault{Method: "PATCH *", Lose: i%2 == 0, Cut: i%2 == 1, Skip: 1})
				err := do()
				if end(); err == nil {
					break
				}
				wantKind(t, "it ended", err, fleet.Unanswered)
				n++
				time.Sleep(settle)
			}
			if err := do(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(settle)
		}
		if n < 40 {
			t.Errorf("it ended %d times", n)
		}
		if d := cmp.Diff(before, a.contents()); d != "" {
			t.Errorf("more than tags of Fairlead changed: %s", d)
		}
		for _, r := range a.Resources("") {
			if r.Tags["fairlead.dev_fleet"] != "" {
				t.Errorf("%s has tags", r.ID)
			}
		}
	})
}

// TestAdoptMany: Azure takes fewer requests at a time than a large cluster has things.
func TestAdoptMany(t *testing.T) {
	adopts(t, azuretest.CAPZ{Workers: 150}, "", func(a *adopting) {
		if err := a.p.Adopt(a.Context(), a.c, a.machines); err != nil {
			t.Fatal(err)
		}
		time.Sleep(settle)
		if left, err := a.p.Adoptable(a.Context(), a.c, a.machines); err != nil || len(left) > 0 {
			t.Errorf("left are %d, %v", len(left), err)
		}
	})
}

// TestAdoptVNetElsewhere: a VNet that Cluster API made in another resource group would be left behind.
func TestAdoptVNetElsewhere(t *testing.T) {
	const elsewhere = "/subscriptions/" + azuretest.Subscription + "/resourceGroups/shared/providers/Microsoft.Network/virtualNetworks/office"
	adopts(t, azuretest.CAPZ{VNet: elsewhere}, ", vnet: {name: office, resourceGroup: shared}", func(a *adopting) {
		a.Retag(elsewhere, func(tags map[string]string) { tags["sigs.k8s.io_cluster-api-provider-azure_cluster_eu-1"] = "owned" })
		_, err := a.p.Adoptable(a.Context(), a.c, a.machines)
		if wantKind(t, "Adoptable", err, fleet.Invalid); !strings.Contains(err.Error(), "is in another resource group") {
			t.Error(err)
		}
	})
}

// TestAdoptZone: a private zone of DNS takes fewer tags than other things.
func TestAdoptZone(t *testing.T) {
	adopts(t, azuretest.CAPZ{Internal: true}, "", func(a *adopting) {
		a.Retag(strings.Replace(backup, "Compute/disks/eu-1-md-0-0_backup", "Network/privateDnsZones/eu-1.capz.io", 1), func(tags map[string]string) {
			for i := range 9 {
				tags[fmt.Sprint("t", i)] = "x"
			}
		})
		_, err := a.p.Adoptable(a.Context(), a.c, a.machines)
		if wantKind(t, "Adoptable", err, fleet.Invalid); !strings.Contains(err.Error(), "private zone eu-1.capz.io would have 16 tags, and Azure takes 15") {
			t.Error(err)
		}
	})
}

// TestAdoptSets: availability sets of Cluster API are adopted whatever the pool is called, and go with the cluster.
// What cannot be seen by now is not left behind when the cluster is given back.
func TestAdoptSets(t *testing.T) {
	adopts(t, azuretest.CAPZ{Sets: true}, "", func(a *adopting) {
		former := strings.Replace(backup, "disks/eu-1-md-0-0_backup", "availabilitySets/eu-1_former-as", 1)
		for _, id := range []string{former, strings.Replace(former, "former", "other", 1)} {
			a.Put(id, map[string]any{"location": azuretest.Location})
		}
		a.Retag(former, func(tags map[string]string) { tags["sigs.k8s.io_cluster-api-provider-azure_cluster_eu-1"] = "owned" })
		a.left.All = append(a.left.All, former)
		if err := a.p.Adopt(a.Context(), a.c, a.machines); err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{"availabilitysets", "routetables"} {
			a.Deny(kind, true)
			wantKind(t, "to give back without seeing "+kind, a.p.Release(a.Context(), a.c, a.machines), fleet.Unauthorized)
			a.Deny(kind, false)
		}
		for _, r := range a.Resources("") {
			if (r.Kind == "availabilitysets" || r.Kind == "routetables") && strings.Contains(r.ID, "/eu-1") && (r.Tags["fairlead.dev_fleet"] == "") != strings.Contains(r.ID, "other") {
				t.Errorf("%s has the tags %v", r.ID, r.Tags)
			}
		}
		a.life()
	})
}

// TestAdoptedByTwo: of two fleets that adopt a cluster at the same time, one gets it, and the other takes nothing from it that it
// does not give back.
func TestAdoptedByTwo(t *testing.T) {
	for skip := range 4 {
		adopts(t, azuretest.CAPZ{Sets: true}, "", func(a *adopting) {
			other, p := *a.c, a.provider()
			other.Fleet = "fleet-b"
			a.Inject(azuretest.Fault{Method: "PATCH *", Skip: skip, Times: 1, Do: func(azuretest.Call) {
				if err := p.Adopt(a.Context(), &other, a.machines); (err == nil) != (skip == 0) {
					t.Errorf("%d: the other fleet: %v", skip, err)
				}
			}})
			err := a.p.Adopt(a.Context(), a.c, a.machines)
			time.Sleep(settle)
			if skip > 0 { // this one was first
				if left, err2 := a.p.Adoptable(a.Context(), a.c, a.machines); err != nil || err2 != nil || len(left) > 0 {
					t.Errorf("%d: Adopt = %v, %v, %q", skip, err, err2, left)
				}
				return
			}
			if wantKind(t, "Adopt", err, fleet.Conflict); err != nil && !strings.Contains(err.Error(), "belongs to cluster prod/eu-1 of fleet fleet-b") {
				t.Error(err)
			}
			if err := a.p.Release(a.Context(), a.c, a.machines); err != nil {
				t.Error(err)
			}
			time.Sleep(settle)
			if err := p.Adopt(a.Context(), &other, a.machines); err != nil {
				t.Error(err)
			}
			for _, r := range a.Resources("") {
				if f := r.Tags["fairlead.dev_fleet"]; f != "" && f != "fleet-b" {
					t.Errorf("%s is of fleet %s", r.ID, f)
				}
			}
		})
	}
}

// TestAdoptSpecialMachines: interfaces beside the first one, and VMs of the spot market, are adopted with their machines, and go
// with them.
func TestAdoptSpecialMachines(t *testing.T) {
	adopts(t, azuretest.CAPZ{Sets: true}, "", func(a *adopting) {
		vm := a.left.Workers[0]
		r, _ := a.Resource(vm)
		name := vm[strings.LastIndexByte(vm, '/')+1:]
		first := ""
		for _, n := range a.Resources("networkinterfaces") {
			if strings.HasPrefix(n.Name, name+"-nic") {
				first = n.ID
			}
		}
		nic, _ := a.Resource(first)
		second := first[:strings.LastIndexByte(first, '/')] + "/" + name + "-nic-1"
		body := maps.Clone(nic.Body)
		a.Put(second, body)
		a.Retag(second, func(tags map[string]string) { maps.Copy(tags, r.Tags) })
		a.Edit(vm, func(body map[string]any) {
			p := body["properties"].(map[string]any)
			n := p["networkProfile"].(map[string]any)
			n["networkInterfaces"] = append(n["networkInterfaces"].([]any), map[string]any{"id": second})
			p["priority"], p["evictionPolicy"] = "Spot", "Deallocate"
		})
		untagged, err := a.p.Adoptable(a.Context(), a.c, a.machines)
		if err != nil || !slices.Contains(untagged, "interface "+name+"-nic-1") {
			t.Fatalf("to be tagged are %q, %v", untagged, err)
		}
		if err := a.p.Adopt(a.Context(), a.c, a.machines); err != nil {
			t.Fatal(err)
		}
		time.Sleep(settle)
		got := a.observe(a.c)
		if m := machineOf(got, fleet.MachineName(name)); m.Damaged != "" || m.State != fleet.MachineRunning || len(m.Addresses) != 2 || len(got.Drift)+len(got.Upkeep) > 0 {
			t.Errorf("machine %+v, drift %q, upkeep %q", m, got.Drift, got.Upkeep)
		}
		if err := a.p.Release(a.Context(), a.c, a.machines); err != nil {
			t.Error(err)
		}
		time.Sleep(settle)
		a.life()
		if _, there := a.Resource(second); there {
			t.Error("the second interface is left")
		}
	})
}
