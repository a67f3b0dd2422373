package azure_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/azure/azuretest"
)

const (
	registry = "/subscriptions/" + azuretest.Subscription + "/resourceGroups/shared/providers/Microsoft.ContainerRegistry/registries/images"
	endpoint = "{name: registry, customNetworkInterfaceName: registry-nic, privateLinkServiceConnections: [{privateLinkServiceID: " + registry + ", groupIDs: [registry]}]}"
)

// The specs of clusters with a bastion and with a private endpoint.
var (
	bastioned = strings.Replace(clusterSpec, "identityRef:", "bastionSpec: {azureBastion: {sku: Standard, enableTunneling: true}}, identityRef:", 1)
	endpoints = strings.Replace(clusterSpec, "identityRef:", "networkSpec: {subnets: [{role: control-plane}, {role: node, privateEndpoints: ["+endpoint+"]}]}, identityRef:", 1)
)

// rest reports whether nothing is to do.
func rest(i fleet.Infrastructure) bool { return i.Ready && len(i.Drift)+len(i.Upkeep) == 0 }

// follow has the cluster follow Git until it is so.
func (w *world) follow(c *fleet.Cluster, what string, is func() bool) {
	w.Helper()
	w.until(c, what, func(i fleet.Infrastructure) bool {
		if rest(i) {
			return is()
		}
		if err := w.p.EnsureInfrastructure(w.Context(), "op", c); err != nil && strings.Contains(err.Error(), "change ") {
			w.Error(err) // as if what was just made were not as Git has it
		}
		return false
	})
	w.unrefused()
}

// unrefused reports deletions that the cloud refused, of what others still need.
func (w *world) unrefused() {
	w.Helper()
	for _, c := range w.Calls() {
		if strings.HasPrefix(c.Method, "DELETE") && c.Status == http.StatusBadRequest {
			w.Errorf("%s of %s was refused", c.Method, c.ID)
		}
	}
}

// end deletes the cluster with the machine m-0.
func (w *world) end(c *fleet.Cluster) {
	w.Helper()
	gone := *c
	gone.Delete = true
	if err := w.p.DeleteMachine(w.Context(), "op", &gone, "m-0", ""); err != nil {
		w.Error(err)
	}
	time.Sleep(settle)
	if got := w.observe(&gone); strings.Contains(got.Message, "nic") {
		w.Errorf("people are told %s", got.Message)
	}
	for _, kind := range []string{"bastionhosts", "privateendpoints"} { // which go later than the rest
		w.Inject(azuretest.Fault{Method: "DELETE " + kind, Status: http.StatusServiceUnavailable, Code: "ServiceUnavailable", Times: 6})
	}
	w.dismantle(c)
	w.unrefused()
}

// TestBastion: a bastion is made once, with its subnet and address, before the first machine. It is not looked for afterwards
// by clusters without one, goes when it left Git, and with the cluster.
func TestBastion(t *testing.T) {
	in(t, func(w *world) {
		c := w.cluster(bastioned, machineSpec)
		w.Inject(azuretest.Fault{Method: "PUT bastionhosts", Lose: true, Times: 1})
		w.ready(&c)
		all := w.Resources("bastionhosts")
		if len(all) != 1 || all[0].Name != "eu-1-azure-bastion" || all[0].Body["sku"].(map[string]any)["name"] != "Standard" || all[0].Body["properties"].(map[string]any)["enableTunneling"] != true {
			t.Fatalf("bastions are %v", all)
		}
		s, _ := w.Resource(groupID("rg-2") + "/providers/Microsoft.Network/virtualNetworks/eu-1-vnet/subnets/AzureBastionSubnet")
		if p, _ := s.Body["properties"].(map[string]any); p["addressPrefix"] != "10.255.255.192/26" {
			t.Errorf("the subnet is %v", s.Body)
		}
		w.create(&c, "m-0")
		w.Remove(all[0].ID)
		if got := w.observe(&c); !got.Ready || !slices.Contains(got.Drift, "create bastion eu-1-azure-bastion") {
			t.Errorf("machines wait for the bastion: %q, drift %q", got.Message, got.Drift)
		}
		if err := w.p.EnsureInfrastructure(w.Context(), "op", &c); err != nil {
			t.Error(err)
		}
		time.Sleep(tick / 2)
		w.Edit(all[0].ID, func(body map[string]any) { body["properties"].(map[string]any)["provisioningState"] = "Creating" })
		if got := w.observe(&c); !got.Ready || !slices.Contains(got.Drift, "bastion eu-1-azure-bastion is creating") {
			t.Errorf("machines wait for the bastion: %q, drift %q", got.Message, got.Drift)
		}
		w.Edit(all[0].ID, func(body map[string]any) { body["properties"].(map[string]any)["provisioningState"] = "Succeeded" })
		orphans, err := w.p.Orphans(w.Context(), c.Fleet, []*fleet.Cluster{func() *fleet.Cluster { c := c; c.Key.Name = "other"; return &c }()})
		if err != nil || !slices.ContainsFunc(orphans, func(o fleet.Orphan) bool { return o.Kind == "bastionHosts" }) {
			t.Errorf("orphans are %v, %v", orphans, err)
		}
		w.follow(&c, "made again", func() bool { return len(w.Resources("bastionhosts")) == 1 })

		basic := newCluster(t, strings.Replace(strings.Replace(bastioned, "sku: Standard, enableTunneling: true", "", 1), "GROUP", "rg-2", 1), machineSpec)
		if got := w.observe(&basic); !got.Ready || len(got.Drift) != 1 || !strings.Contains(got.Drift[0], "has sku Standard and enableTunneling true, and not Basic and false") {
			t.Errorf("with another SKU: %q, drift %q", got.Message, got.Drift)
		}
		moved := newCluster(t, strings.NewReplacer("sku: Standard", "subnet: {cidrBlocks: [10.255.254.0/26]}, sku: Standard", "GROUP", "rg-2").Replace(bastioned), machineSpec)
		if got := w.observe(&moved); len(got.Drift) != 1 || !strings.Contains(got.Drift[0], "bastionSpec.azureBastion.subnet: subnet AzureBastionSubnet has 10.255.255.192/26 and not 10.255.254.0/26 (put the range back,") {
			t.Errorf("with another range: drift %q", got.Drift)
		}
		without := newCluster(t, strings.Replace(clusterSpec, "GROUP", "rg-2", 1), machineSpec)
		w.follow(&without, "gone", func() bool {
			return len(w.Resources("bastionhosts")) == 0 && !slices.ContainsFunc(w.Resources("publicipaddresses"), func(r azuretest.Resource) bool { return strings.Contains(r.Name, "bastion") })
		})
		time.Sleep(settle)
		w.ResetCalls()
		w.observe(&without)
		if i := slices.IndexFunc(w.Calls(), func(c azuretest.Call) bool {
			return strings.Contains(c.Method, "bastionhosts") || strings.Contains(c.Method, "privateendpoints")
		}); i >= 0 {
			t.Errorf("an observation of a cluster without them called %s", w.Calls()[i].Method)
		}
		w.follow(&c, "back", func() bool { return len(w.Resources("bastionhosts")) == 1 })
		w.end(&c)
		if n := len(w.Resources("bastionhosts")) + len(w.Resources("virtualnetworks")) + len(w.Resources("publicipaddresses")); n > 0 {
			t.Errorf("%d things are left", n)
		}
	})
}

// TestServicesOfBastion: the subnet of a bastion is made with the service endpoints of Git.
func TestServicesOfBastion(t *testing.T) {
	in(t, func(w *world) {
		c := w.cluster(strings.Replace(bastioned, "sku: Standard", "subnet: {serviceEndpoints: [{service: Microsoft.Storage}]}, sku: Standard", 1), machineSpec)
		w.ready(&c)
		s, _ := w.Resource(groupID("rg-2") + "/providers/Microsoft.Network/virtualNetworks/eu-1-vnet/subnets/AzureBastionSubnet")
		if text := fmt.Sprint(s.Body["properties"].(map[string]any)["serviceEndpoints"]); !strings.Contains(text, "Microsoft.Storage") {
			t.Errorf("the subnet has %s", text)
		}
	})
}

// TestBastionOfOthers: one of others under its name is not touched, and a VNet of people has to have the subnet.
func TestBastionOfOthers(t *testing.T) {
	in(t, func(w *world) {
		c := w.cluster(clusterSpec, machineSpec)
		w.create(&c, "m-0")
		w.Put(groupID("rg-2")+"/providers/Microsoft.Network/bastionHosts/eu-1-azure-bastion", map[string]any{"location": azuretest.Location})
		with := newCluster(t, strings.Replace(bastioned, "GROUP", "rg-2", 1), machineSpec)
		var err error
		for range 4 {
			time.Sleep(settle)
			err = w.p.EnsureInfrastructure(w.Context(), "op", &with)
		}
		if wantKind(t, "EnsureInfrastructure", err, fleet.Conflict); !strings.Contains(err.Error(), "that is not of the cluster") {
			t.Error(err)
		}
		if err := w.p.CreateMachine(w.Context(), "op", request(&with, "m-1")); err != nil {
			t.Error(err)
		}
	})
	in(t, func(w *world) {
		w.Put(hub, map[string]any{"location": azuretest.Location})
		for _, s := range []string{"a", "b"} {
			w.Put(hub+"/subnets/"+s, map[string]any{"properties": map[string]any{"addressPrefix": "10.0.0.0/16"}})
		}
		c := w.cluster(strings.Replace(bastioned, "identityRef:", "networkSpec: {vnet: {name: hub, resourceGroup: shared}, subnets: [{role: control-plane, name: a}, {role: node, name: b}]}, identityRef:", 1), machineSpec)
		err := w.p.EnsureInfrastructure(w.Context(), "op", &c)
		if wantKind(t, "EnsureInfrastructure", err, fleet.Invalid); !strings.Contains(err.Error(), "has no subnet AzureBastionSubnet") {
			t.Error(err)
		}
		w.Put(hub+"/subnets/AzureBastionSubnet", map[string]any{"properties": map[string]any{"addressPrefix": "10.9.0.0/26"}})
		w.ready(&c)
		w.create(&c, "m-0")
		if n := len(w.Resources("bastionhosts")); n != 1 {
			t.Errorf("%d bastions are there", n)
		}
		w.Remove(hub + "/subnets/AzureBastionSubnet")
		time.Sleep(settle)
		if got := w.observe(&c); !got.Ready || len(got.Drift) != 1 || !strings.Contains(got.Drift[0], "has no subnet AzureBastionSubnet") {
			t.Errorf("machines wait for the subnet of the bastion: %q, drift %q", got.Message, got.Drift)
		}
		w.end(&c)
		if len(w.Resources("bastionhosts")) > 0 || len(w.Resources("subnets")) != 2 {
			t.Errorf("left are %v and %v", w.Resources("bastionhosts"), w.Resources("subnets"))
		}
	})
}

// TestNATCalledBastion: a NAT gateway that is called bastion keeps its address, as its cluster has no bastion.
func TestNATCalledBastion(t *testing.T) {
	in(t, func(w *world) {
		c := w.cluster(strings.Replace(clusterSpec, "identityRef:", "networkSpec: {subnets: [{role: control-plane}, {role: node, natGateway: {name: bastion}}]}, identityRef:", 1), machineSpec)
		w.ready(&c)
		if got := w.observe(&c); !rest(got) {
			t.Errorf("drift %q, upkeep %q", got.Drift, got.Upkeep)
		}
		if _, ok := w.Resource(groupID("rg-2") + "/providers/Microsoft.Network/publicIPAddresses/pip-bastion"); !ok {
			t.Error("the NAT gateway has no address")
		}
		with := newCluster(t, strings.NewReplacer("identityRef:", "bastionSpec: {azureBastion: {}}, networkSpec: {subnets: [{role: control-plane}, {role: node, natGateway: {name: bastion}}]}, identityRef:", "GROUP", "rg-2").Replace(clusterSpec), machineSpec)
		w.follow(&with, "both", func() bool { return len(w.Resources("bastionhosts")) == 1 && len(w.Resources("natgateways")) == 1 })
	})
}

// TestAccessWithoutRight: with a role that lacks the rights for bastions and private endpoints, a running cluster gets machines
// and is deleted.
func TestAccessWithoutRight(t *testing.T) {
	in(t, func(w *world) {
		c := w.cluster(clusterSpec, machineSpec)
		w.create(&c, "m-0")
		for _, kind := range []string{"bastionhosts", "privateendpoints"} {
			w.Inject(azuretest.Fault{Method: "* " + kind, Status: http.StatusForbidden, Code: "AuthorizationFailed"})
		}
		with := newCluster(t, strings.NewReplacer("identityRef:", "bastionSpec: {azureBastion: {}}, identityRef:", "GROUP", "rg-2").Replace(endpoints), machineSpec)
		var err error
		for range 6 {
			time.Sleep(settle)
			err = w.p.EnsureInfrastructure(w.Context(), "op", &with)
		}
		if err == nil || !strings.Contains(err.Error(), "bastion eu-1-azure-bastion") || !strings.Contains(err.Error(), "private endpoint registry") {
			t.Errorf("the rights are missing: %v", err)
		}
		if got := w.observe(&with); !got.Ready {
			t.Errorf("machines wait: %q", got.Message)
		}
		w.create(&with, "m-1")
		without := newCluster(t, strings.Replace(clusterSpec, "GROUP", "rg-2", 1), machineSpec)
		if err := w.p.DeleteMachine(w.Context(), "op", &without, "m-1", ""); err != nil {
			t.Error(err)
		}
		for range 6 {
			time.Sleep(settle)
			_ = w.p.EnsureInfrastructure(w.Context(), "op", &without)
		}
		if got := w.observe(&without); !rest(got) {
			t.Errorf("after they left Git: %q, drift %q", got.Message, got.Drift)
		}
	})
}

// TestPrivateEndpoints: private endpoints are made once, in their subnets, and go when they left Git, and with the cluster. What
// the service has not approved, and what cannot be followed, is told, and holds no machine up.
func TestPrivateEndpoints(t *testing.T) {
	in(t, func(w *world) {
		c := w.cluster(endpoints, machineSpec)
		w.Inject(azuretest.Fault{Method: "PUT privateendpoints", Lose: true, Times: 1})
		w.ready(&c)
		all := w.Resources("privateendpoints")
		if len(all) != 1 || all[0].Name != "registry" {
			t.Fatalf("private endpoints are %v", all)
		}
		if in := all[0].Body["properties"].(map[string]any)["subnet"].(map[string]any)["id"]; !strings.HasSuffix(in.(string), "/eu-1-node-subnet") {
			t.Errorf("it is in %v", in)
		}
		w.create(&c, "m-0")
		for what, tc := range map[string]struct{ spec, want string }{
			"another service": {strings.Replace(endpoint, registry, registry+"-2", 1), "does not lead to " + registry + "-2 registry ("},
			"another group":   {strings.Replace(endpoint, "[registry]", "[data]", 1), "does not lead to " + registry + " data ("},
			"approval":        {strings.Replace(endpoint, "{", "{manualApproval: true, ", 1), "does not lead to " + registry + " registry with manual approval"},
			"another subnet":  {endpoint, "private endpoint registry is in "},
			"an address":      {strings.Replace(endpoint, "{", "{privateIPAddresses: [10.1.0.40], ", 1), "private endpoint registry has an address that Azure chose and not 10.1.0.40 ("},
		} {
			spec := strings.Replace(endpoints, endpoint, tc.spec, 1)
			if what == "another subnet" {
				spec = strings.Replace(clusterSpec, "identityRef:", "networkSpec: {subnets: [{role: control-plane, privateEndpoints: ["+endpoint+"]}, {role: node}]}, identityRef:", 1)
			}
			other := newCluster(t, strings.Replace(spec, "GROUP", "rg-2", 1), machineSpec)
			if got := w.observe(&other); !got.Ready || len(got.Drift) != 1 || !strings.Contains(got.Drift[0], tc.want) {
				t.Errorf("%s: %q, drift %q", what, got.Message, got.Drift)
			}
		}
		w.Retag(all[0].ID, func(tags map[string]string) { tags["fairlead.dev_part"] = "theirs" })
		if err := w.p.EnsureInfrastructure(w.Context(), "op", &c); err == nil || len(w.Resources("privateendpoints")) != 1 {
			t.Errorf("one of an unknown part: %v, %v", err, w.Resources("privateendpoints"))
		}
		w.Retag(all[0].ID, func(tags map[string]string) { tags["fairlead.dev_part"] = "endpoint-registry" })
		upper := newCluster(t, strings.Replace(strings.Replace(endpoints, "name: registry", "name: Registry", 1), "GROUP", "rg-2", 1), machineSpec)
		if got := w.observe(&upper); len(got.Drift) > 0 {
			t.Errorf("with another case: drift %q", got.Drift)
		}
		second := strings.Replace(endpoint, "registry, customNetworkInterfaceName: registry-nic,", "vault, manualApproval: true,", 1)
		two := newCluster(t, strings.Replace(strings.Replace(endpoints, endpoint, second, 1), "GROUP", "rg-2", 1), machineSpec)
		w.until(&two, "replaced", func(i fleet.Infrastructure) bool {
			_ = w.p.EnsureInfrastructure(w.Context(), "op", &two)
			all := w.Resources("privateendpoints")
			return len(all) == 1 && all[0].Name == "vault" && len(i.Drift) == 1 && strings.Contains(i.Drift[0], "connection images is Pending: as the double has it")
		})
		w.Edit(w.Resources("privateendpoints")[0].ID, func(body map[string]any) {
			list := body["properties"].(map[string]any)["manualPrivateLinkServiceConnections"].([]any)
			list[0].(map[string]any)["properties"].(map[string]any)["privateLinkServiceConnectionState"] = map[string]any{"status": "Approved"}
		})
		w.follow(&two, "approved", func() bool { return true })
		none := newCluster(t, strings.Replace(clusterSpec, "GROUP", "rg-2", 1), machineSpec)
		w.follow(&none, "gone", func() bool { return len(w.Resources("privateendpoints")) == 0 })
		w.follow(&c, "back", func() bool { return len(w.Resources("privateendpoints")) == 1 })
		w.end(&none) // a deletion sees what left Git, too
		if n := len(w.Resources("privateendpoints")) + len(w.Resources("virtualnetworks")) + len(w.Resources("networkinterfaces")); n > 0 {
			t.Errorf("%d things are left", n)
		}
	})
	in(t, func(w *world) {
		c := w.cluster(strings.Replace(endpoints, registry, registry+"-missing", 1), machineSpec)
		var err error
		for range 6 {
			time.Sleep(settle)
			err = w.p.EnsureInfrastructure(w.Context(), "op", &c)
		}
		if err == nil || !strings.Contains(err.Error(), "failed. It was not found.") {
			t.Errorf("a service that is not there: %v", err)
		}
	})
}

// TestFailedAndChanged: of a private endpoint and a bastion that failed before the first machine, people are told what Git has
// otherwise by now: a repair does not change that.
func TestFailedAndChanged(t *testing.T) {
	in(t, func(w *world) {
		c := w.cluster(endpoints, machineSpec)
		w.ready(&c)
		w.Edit(w.Resources("privateendpoints")[0].ID, func(body map[string]any) { body["properties"].(map[string]any)["provisioningState"] = "Failed" })
		time.Sleep(settle)
		if got := w.observe(&c); got.Ready || strings.Contains(got.Message, "does not lead") {
			t.Errorf("one that failed: ready %t, %q", got.Ready, got.Message)
		}
		other := newCluster(t, strings.NewReplacer(registry, registry+"-2", "GROUP", "rg-2").Replace(endpoints), machineSpec)
		if got := w.observe(&other); got.Ready || !strings.Contains(got.Message, "private endpoint registry does not lead to "+registry+"-2 registry (give it another name") {
			t.Errorf("one that failed, of another service: ready %t, %q", got.Ready, got.Message)
		}
	})
	in(t, func(w *world) {
		c := w.cluster(bastioned, machineSpec)
		w.ready(&c)
		w.Edit(w.Resources("bastionhosts")[0].ID, func(body map[string]any) { body["properties"].(map[string]any)["provisioningState"] = "Failed" })
		time.Sleep(settle)
		basic := newCluster(t, strings.NewReplacer("sku: Standard, enableTunneling: true", "", "GROUP", "rg-2").Replace(bastioned), machineSpec)
		if got := w.observe(&basic); got.Ready || !strings.Contains(got.Message, "has sku Standard and enableTunneling true, and not Basic and false") {
			t.Errorf("a bastion that failed, of another SKU: ready %t, %q", got.Ready, got.Message)
		}
	})
}

// TestOrphanedEndpoint: an orphaned private endpoint goes with its interface, which has its tags, and which Azure deletes with nothing
// else.
func TestOrphanedEndpoint(t *testing.T) {
	in(t, func(w *world) {
		c := w.cluster(endpoints, machineSpec)
		w.ready(&c)
		w.Inject(azuretest.Fault{Method: "DELETE networkinterfaces", Status: http.StatusBadRequest, Code: "CannotDeleteNicOfPrivateEndpoint"})
		others := []*fleet.Cluster{func() *fleet.Cluster { c := c; c.Key.Name = "other"; return &c }()}
		orphans, err := w.p.Orphans(w.Context(), c.Fleet, others)
		if err != nil || len(orphans) == 0 {
			t.Fatalf("orphans are %v, %v", orphans, err)
		}
		for _, o := range orphans {
			if o.Kind == "networkInterfaces" {
				if err := w.p.RemoveOrphan(w.Context(), c.Fleet, others, o); err != nil {
					t.Error(err)
				}
			}
		}
		for _, o := range orphans {
			if o.Kind == "privateEndpoints" {
				if err := w.p.RemoveOrphan(w.Context(), c.Fleet, others, o); err != nil {
					t.Error(err)
				}
			}
		}
		time.Sleep(settle)
		if n := len(w.Resources("privateendpoints")) + len(w.Resources("networkinterfaces")); n > 0 {
			t.Errorf("%d things are left", n)
		}
	})
}

// TestAddressesOfPrivateEndpoint: a private endpoint has the addresses of Git. One that Azure refuses is told, and others stay.
func TestAddressesOfPrivateEndpoint(t *testing.T) {
	in(t, func(w *world) {
		with := func(addresses string) string {
			return strings.Replace(endpoints, endpoint, strings.Replace(endpoint, "{", "{privateIPAddresses: ["+addresses+"], ", 1), 1)
		}
		c := w.cluster(with("10.1.0.41, 10.1.0.40"), machineSpec)
		w.create(&c, "m-0")
		if p := fmt.Sprint(w.Resources("privateendpoints")[0].Body["properties"].(map[string]any)["ipConfigurations"]); !strings.Contains(p, "10.1.0.40") || !strings.Contains(p, "10.1.0.41") {
			t.Errorf("the addresses are %s", p)
		}
		time.Sleep(settle)
		if got := w.observe(&c); !rest(got) {
			t.Errorf("%q, drift %q", got.Message, got.Drift)
		}
		other := newCluster(t, strings.Replace(with("10.1.0.40"), "GROUP", "rg-2", 1), machineSpec)
		if got := w.observe(&other); !got.Ready || len(got.Drift) != 1 || !strings.Contains(got.Drift[0], "private endpoint registry has 10.1.0.40, 10.1.0.41 and not 10.1.0.40 (") {
			t.Errorf("%q, drift %q", got.Message, got.Drift)
		}
		outside := w.cluster(with("10.0.0.40"), machineSpec)
		var err error
		for range 20 {
			err = w.p.EnsureInfrastructure(w.Context(), "op", &outside)
			time.Sleep(tick)
		}
		if err == nil || !strings.Contains(err.Error(), "The address 10.0.0.40 of a private endpoint") {
			t.Errorf("an address out of the subnet: %v", err)
		}
		w.end(&c)
	})
}

// TestPrivateEndpointOfAKS: the same in the network of a cluster of AKS, with which it goes.
func TestPrivateEndpointOfAKS(t *testing.T) {
	inAKS(t, planeSpec, func(w *managedWorld) {
		w.change("version: v1.33.5", "version: v1.33.5, virtualNetwork: {subnet: {privateEndpoints: ["+strings.Replace(endpoint, "{", "{privateIPAddresses: [10.240.0.40], ", 1)+"]}}")
		w.rest()
		if n := len(w.Resources("privateendpoints")); n != 1 {
			t.Errorf("%d private endpoints are there", n)
		}
		w.c.Delete = true
		for range 40 {
			if w.step() {
				break
			}
		}
		if n := len(w.Resources("privateendpoints")) + len(w.Resources("virtualnetworks")); n > 0 {
			t.Errorf("%d things are left: %v", n, w.errs)
		}
	})
}
