package azure_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/azure/azuretest"
)

// dual is a cluster whose workers have addresses of IPv6, too.
var dual = strings.Replace(clusterSpec, "identityRef:", "networkSpec: {vnet: {cidrBlocks: [10.0.0.0/8, '2001:db8::/56']}, subnets: [{role: control-plane, cidrBlocks: [10.0.0.0/16, '2001:db8::/64']}, {role: node, cidrBlocks: [10.1.0.0/16, '2001:db8:0:1::/64']}]}, identityRef:", 1)

// versions returns of which versions of IP the addresses of a machine are.
func versions(m fleet.Machine) (out string) {
	for _, text := range m.Addresses {
		if a := netip.MustParseAddr(text); a.Is4() {
			out += "4"
		} else {
			out += "6"
		}
	}
	return out
}

// TestDualStack: subnets have both ranges, machines have an address of each, and the load balancer leads to those of IPv4.
func TestDualStack(t *testing.T) {
	in(t, func(w *world) {
		c := w.cluster(dual, machineSpec)
		for _, name := range []fleet.MachineName{"cp-0", "m-0"} {
			if m := w.create(&c, name); versions(m) != "46" {
				t.Errorf("machine %s is at %v", name, m.Addresses)
			}
		}
		for _, s := range w.Resources("subnets") {
			p := s.Body["properties"].(map[string]any)
			if n := len(p["addressPrefixes"].([]any)); n != 2 {
				t.Errorf("%s has %d ranges", s.Name, n)
			}
			if _, has := p["natGateway"]; has != strings.Contains(s.Name, "node") {
				t.Errorf("%s has a NAT gateway: %t", s.Name, has)
			}
		}
		for _, nic := range w.Resources("networkinterfaces") {
			list := nic.Body["properties"].(map[string]any)["ipConfigurations"].([]any)
			behind := func(i int) bool {
				return list[i].(map[string]any)["properties"].(map[string]any)["loadBalancerBackendAddressPools"] != nil
			}
			if behind(1) || behind(0) != strings.HasPrefix(nic.Name, "cp-") {
				t.Errorf("behind the load balancer is %v", list)
			}
		}
		w.Edit(w.Resources("networkinterfaces")[1].ID, func(body map[string]any) {
			slices.Reverse(body["properties"].(map[string]any)["ipConfigurations"].([]any))
		})
		time.Sleep(settle)
		got := w.observe(&c)
		if len(got.Drift)+len(got.Upkeep) > 0 || versions(machineOf(got, "m-0")) != "46" {
			t.Errorf("drift %q, upkeep %q, machines %+v", got.Drift, got.Upkeep, got.Machines)
		}
	})
}

// TestDualStackAddedLater: a VNet keeps its ranges, and machines go on with IPv4. Once people added the ranges in Azure, new
// machines have both.
func TestDualStackAddedLater(t *testing.T) {
	in(t, func(w *world) {
		c := w.cluster(clusterSpec, machineSpec)
		w.create(&c, "m-0")
		with := newCluster(t, strings.Replace(dual, "GROUP", "rg-2", 1), machineSpec)
		time.Sleep(settle)
		if got := w.observe(&with); !got.Ready || len(got.Drift) != 3 || !strings.Contains(got.Drift[2], "has 10.0.0.0/8 and not 10.0.0.0/8, 2001:db8::/56 (add the range of IPv6 in Azure, or leave it out)") || !strings.Contains(got.Drift[0], "has 10.0.0.0/16 and not 10.0.0.0/16, 2001:db8::/64 (add the range of IPv6 in Azure, or leave it out)") {
			t.Errorf("ready %t: %q, drift %q", got.Ready, got.Message, got.Drift)
		}
		if m := w.create(&with, "m-1"); versions(m) != "4" {
			t.Errorf("machine m-1 is at %v", m.Addresses)
		}
		w.Edit(w.Resources("virtualnetworks")[0].ID, func(body map[string]any) {
			body["properties"].(map[string]any)["addressSpace"].(map[string]any)["addressPrefixes"] = []any{"10.0.0.0/8", "2001:DB8::/56"}
		})
		for i, s := range w.Resources("subnets") {
			w.Edit(s.ID, func(body map[string]any) {
				p := body["properties"].(map[string]any)
				p["addressPrefixes"] = []any{p["addressPrefix"], []string{"2001:db8:0:0::/64", "2001:db8:0:1::/64"}[i]}
				delete(p, "addressPrefix")
			})
		}
		time.Sleep(settle)
		if got := w.observe(&with); len(got.Drift) > 0 {
			t.Errorf("drift %q", got.Drift)
		}
		if m := w.create(&with, "m-2"); versions(m) != "46" {
			t.Errorf("machine m-2 is at %v", m.Addresses)
		}
		if m := w.create(&c, "m-3"); versions(m) != "4" {
			t.Errorf("a machine that Git gives no IPv6 is at %v", m.Addresses)
		}
	})
}

// TestDualStackOfPeople: in a VNet of people, machines have addresses of IPv6 where Git says so and the subnet has a range.
func TestDualStackOfPeople(t *testing.T) {
	in(t, func(w *world) {
		w.Put(hub, map[string]any{"location": azuretest.Location})
		for _, s := range []string{"a", "b"} {
			w.Put(hub+"/subnets/"+s, map[string]any{"properties": map[string]any{"addressPrefix": "10.0.0.0/16"}})
		}
		spec := strings.NewReplacer("vnet: {", "vnet: {name: hub, resourceGroup: shared, ", "{role: control-plane, cidrBlocks: [10.0.0.0/16, '2001:db8::/64']}", "{role: control-plane, name: a}", "role: node", "role: node, name: b", "GROUP", "rg-2").Replace(dual)
		c := newCluster(t, spec, machineSpec)
		time.Sleep(settle)
		err := w.p.EnsureInfrastructure(w.Context(), "op", &c)
		if wantKind(t, "EnsureInfrastructure", err, fleet.Invalid); !strings.Contains(err.Error(), "subnet b of VNet hub, which is not of the cluster, has no range of IPv6") {
			t.Error(err)
		}
		w.Edit(hub+"/subnets/b", func(body map[string]any) {
			body["properties"].(map[string]any)["addressPrefixes"] = []any{"10.0.0.0/16", "2001:db8:0:1::/64"}
		})
		time.Sleep(settle)
		if cp, m := w.create(&c, "cp-0"), w.create(&c, "m-0"); versions(cp) != "4" || versions(m) != "46" {
			t.Errorf("machines are at %v and %v", cp.Addresses, m.Addresses)
		}
		four := newCluster(t, strings.NewReplacer(", '2001:db8::/56'", "", ", '2001:db8:0:1::/64'", "").Replace(spec), machineSpec)
		if m := w.create(&four, "m-2"); versions(m) != "4" {
			t.Errorf("a machine that Git gives no IPv6 is at %v", m.Addresses)
		}
		w.Edit(hub+"/subnets/b", func(body map[string]any) {
			body["properties"].(map[string]any)["addressPrefixes"] = []any{"10.0.0.0/16"}
		})
		time.Sleep(settle)
		if got := w.observe(&c); !got.Ready || len(got.Drift) != 1 {
			t.Errorf("machines wait for a range of IPv6: %q, drift %q", got.Message, got.Drift)
		}
		if m := w.create(&c, "m-1"); versions(m) != "4" {
			t.Errorf("machine m-1 is at %v", m.Addresses)
		}
		if i := slices.IndexFunc(w.Calls(), func(c azuretest.Call) bool { return strings.HasPrefix(c.Method, "PUT subnets") }); i >= 0 {
			t.Errorf("%s was called", w.Calls()[i].Method)
		}
	})
}
