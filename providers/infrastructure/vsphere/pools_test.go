package vsphere_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/addresses"
	"fairlead.dev/providers/infrastructure/vsphere"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

// pooled is a bench whose machines have an address of a pool with these addresses.
func pooled(t testing.TB, list ...string) *bench {
	t.Helper()
	b := newBench(t, func(s *api.VSphereMachineSpec) {
		s.Network.Devices[0].DHCP4 = nil
		s.Network.Devices[0].Nameservers = []string{"10.0.0.2"}
		s.Network.Devices[0].AddressesFromPools = []addresses.Ref{{APIGroup: "ipam.cluster.x-k8s.io", Kind: "InClusterIPPool", Name: "nodes"}}
	})
	spec, err := json.Marshal(addresses.PoolSpec{Addresses: list, Prefix: 24, Gateway: "10.7.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	b.c.Companions = append(b.c.Companions, fleet.Object{
		GVK: schema.GroupVersionKind{Group: "ipam.cluster.x-k8s.io", Version: "v1alpha2", Kind: "InClusterIPPool"}, Namespace: "prod", Name: "nodes", Spec: spec,
	})
	return b
}

func metadataOf(t testing.TB, m vspheretest.Machine) string {
	t.Helper()
	text, err := base64.StdEncoding.DecodeString(m.ExtraConfig["guestinfo.metadata"])
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestAddresses: machines have addresses of their pool, each its own, from birth, and what they
// are told is what their tags say.
func TestAddresses(t *testing.T) {
	t.Parallel()
	b := pooled(t, "10.7.0.10-10.7.0.11")
	b.p = newProvider(t, func(o *vsphere.Options) { o.Settle = time.Minute }) // a busy machine lists clones late
	b.ensure()
	for _, name := range []fleet.MachineName{"m-0", "m-1"} {
		if err := b.ask(name); err != nil {
			t.Fatal(err)
		}
	}
	wantKind(t, "a third machine", b.ask("m-2"), fleet.Exhausted, "all of its 2 addresses are taken")
	b.until("both clones", func(i fleet.Infrastructure) bool { return len(i.Upkeep) == 2 })
	b.ensure()
	seen := make(map[string]bool)
	for _, name := range []string{"m-0", "m-1"} {
		v := b.vms(name)[0]
		var tags map[string]string
		if err := json.Unmarshal([]byte(v.ExtraConfig["fairlead.dev/tags"]), &tags); err != nil {
			t.Fatal(err)
		}
		_, address, _ := strings.Cut(tags["fairlead.dev/addresses"], "=")
		if text := metadataOf(t, v); address == "" || seen[address] || !strings.Contains(text, "- "+address+"/24\n") || !strings.Contains(text, "gateway4: 10.7.0.1\n") {
			t.Errorf("%s has %q and is told\n%s", name, address, text)
		}
		seen[address] = true
	}
}

// TestAddressTwice: of two machines of one address that never ran, one is removed, the same to
// whoever looks, and one that runs is never taken.
func TestAddressTwice(t *testing.T) {
	t.Parallel()
	b := pooled(t, "10.7.0.10-10.7.0.20")
	for _, name := range []fleet.MachineName{"m-0", "m-1"} {
		if err := b.ask(name); err != nil {
			t.Fatal(err)
		}
	}
	b.until("both clones", func(i fleet.Infrastructure) bool { return len(i.Upkeep) == 2 })
	b.share("m-0", "m-1")
	i := b.until("one is to go", func(i fleet.Infrastructure) bool {
		return strings.Contains(strings.Join(i.Upkeep, " "), "remove machine")
	})
	if text := strings.Join(i.Upkeep, "; "); strings.Count(text, "remove machine") != 1 {
		t.Errorf("upkeep = %q, want one removed", i.Upkeep)
	}
	b.ensure()
	b.until("one is left", func(i fleet.Infrastructure) bool {
		return len(i.Machines) == 1 && i.Machines[0].State == fleet.MachineRunning
	})
	if err := b.ask("m-2"); err != nil {
		t.Fatal(err)
	}
	b.until("another clone", func(i fleet.Infrastructure) bool { return len(i.Upkeep) == 1 })
	left := b.observe().Machines[0].Name
	b.share(string(left), "m-2")
	b.until("it is to go", func(i fleet.Infrastructure) bool {
		return len(i.Upkeep) == 1 && strings.Contains(i.Upkeep[0], "remove machine m-2")
	})
	b.ensure()
	b.until("the one that runs is left", func(i fleet.Infrastructure) bool {
		return len(i.Machines) == 1 && i.Machines[0].Name == left && i.Machines[0].State == fleet.MachineRunning
	})
}

// share gives the machine called to the address of another, as where two agents chose it.
func (b *bench) share(from, to string) {
	b.t.Helper()
	tags := func(name string) map[string]string {
		var out map[string]string
		if err := json.Unmarshal([]byte(b.vms(name)[0].ExtraConfig["fairlead.dev/tags"]), &out); err != nil {
			b.t.Fatal(err)
		}
		return out
	}
	t := tags(to)
	t["fairlead.dev/addresses"] = tags(from)["fairlead.dev/addresses"]
	text, err := json.Marshal(t)
	if err != nil {
		b.t.Fatal(err)
	}
	b.w.SetExtraConfig(b.vms(to)[0].Ref, map[string]string{"fairlead.dev/tags": string(text)})
}
