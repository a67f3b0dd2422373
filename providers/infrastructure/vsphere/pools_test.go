package vsphere_test

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/addresses"
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

// TestAddressTwice: of two machines of one address that never ran, one fails, the same to whoever
// looks, and stays for the planner to delete. One that runs is never taken.
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
	lost := func(i fleet.Infrastructure) (out []fleet.MachineName) {
		for _, m := range i.Machines {
			if m.State == fleet.MachineFailed && strings.Contains(m.Message, "of InClusterIPPool/prod/nodes was given to another machine too") {
				out = append(out, m.Name)
			}
		}
		return out
	}
	i := b.until("one fails", func(i fleet.Infrastructure) bool { return len(lost(i)) == 1 })
	if len(i.Upkeep) != 1 {
		t.Errorf("upkeep = %q, want that of the other machine", i.Upkeep)
	}
	b.ensure()
	i = b.until("the other runs", func(i fleet.Infrastructure) bool { return len(i.Upkeep) == 0 })
	if len(i.Machines) != 2 || len(lost(i)) != 1 {
		t.Fatalf("machines = %+v, want one that runs and one that failed", i.Machines)
	}
	b.remove(lost(i)[0])
	left := b.observe().Machines[0].Name
	if err := b.ask("m-2"); err != nil {
		t.Fatal(err)
	}
	b.until("another clone", func(i fleet.Infrastructure) bool { return len(i.Upkeep) == 1 })
	b.share(string(left), "m-2")
	b.until("it fails", func(i fleet.Infrastructure) bool {
		return len(i.Upkeep) == 0 && slices.Equal(lost(i), []fleet.MachineName{"m-2"})
	})
}

// TestCopyHoldsNothing: a copy that people made of a machine has its tags and not its address, so that
// the machine is powered on again where it was switched off.
func TestCopyHoldsNothing(t *testing.T) {
	b := pooled(t, "10.7.0.10-10.7.0.20")
	b.make("m-0")
	original := b.vms("m-0")[0]
	copied := b.w.Copy(original.Ref, "m-0-forensics")
	b.w.Power(copied.Ref, true)
	b.w.Power(original.Ref, false)
	b.until("it is off", func(i fleet.Infrastructure) bool { return len(i.Upkeep) == 1 })
	b.ensure()
	b.until("it runs", func(i fleet.Infrastructure) bool { return i.Machines[0].State == fleet.MachineRunning })
	if left := b.vms("m-0"); len(left) != 1 || left[0].Ref != original.Ref {
		t.Errorf("left are %+v, want the machine", left)
	}
}

// TestAddressOfAMachineThatRan: a machine that ran and whose address another one runs with stays off,
// with its disks, and says why.
func TestAddressOfAMachineThatRan(t *testing.T) {
	b := pooled(t, "10.7.0.10-10.7.0.20")
	b.make("m-0")
	b.make("m-1")
	b.share("m-0", "m-1")
	b.w.Power(b.vms("m-1")[0].Ref, false)
	i := b.until("it is off", func(i fleet.Infrastructure) bool { return i.Machines[1].State != fleet.MachineRunning })
	if m := i.Machines[1]; m.State != fleet.MachinePending || !strings.Contains(m.Message, "was given to another machine too") || len(i.Upkeep) > 0 {
		t.Errorf("machine = %+v, upkeep %q, want it off and told", m, i.Upkeep)
	}
	b.ensure()
	if v := b.vms("m-1"); len(v) != 1 || v[0].On {
		t.Errorf("its VM is %+v, want it as it was", v)
	}
}

// TestMachineOfAnotherTemplate: Git replaces the template of a pool. A machine of the old one that was
// switched off is powered on and not changed, and one that never ran fails.
func TestMachineOfAnotherTemplate(t *testing.T) {
	b := newBench(t, nil)
	b.make("m-0")
	if err := b.ask("m-1"); err != nil {
		t.Fatal(err)
	}
	b.until("the clone", func(i fleet.Infrastructure) bool { return len(i.Upkeep) == 1 })
	before := metadataOf(t, b.vms("m-0")[0])
	next := *b.c
	spec, err := api.ReadMachine(b.c.Workers[0].Infrastructure)
	if err != nil {
		t.Fatal(err)
	}
	device := spec.Network.Devices[0]
	device.DHCP4, device.IPAddrs, device.Gateway4 = nil, []string{"10.9.9.9/24"}, "10.9.9.1"
	spec.Network.Devices = []api.NetworkDeviceSpec{device, device}
	next.Workers = []fleet.Pool{b.c.Workers[0]}
	next.Workers[0].Template, next.Workers[0].Infrastructure = "2-md", newObject(t, "VSphereMachineTemplate", "md-1", spec)
	b.c = &next
	b.w.Power(b.vms("m-0")[0].Ref, false)
	i := b.until("m-0 is off", func(i fleet.Infrastructure) bool { return i.Machines[0].State == fleet.MachinePending })
	if m := i.Machines[1]; m.State != fleet.MachineFailed || !strings.Contains(m.Message, "before its pool got another template") || slices.ContainsFunc(i.Upkeep, func(u string) bool { return strings.Contains(u, "m-1") }) {
		t.Errorf("the machine that never ran is %+v, upkeep %q", m, i.Upkeep)
	}
	b.ensure()
	b.until("m-0 runs", func(i fleet.Infrastructure) bool { return i.Machines[0].State == fleet.MachineRunning })
	if after := metadataOf(t, b.vms("m-0")[0]); after != before {
		t.Errorf("a machine of the old template was told another network:\n%s", after)
	}
	if b.vms("m-1")[0].On {
		t.Error("a machine that knows no network was powered on")
	}
}

// TestSecondLookBeforeFinish: a VM that became another cluster's after it was listed is neither changed nor
// powered on.
func TestSecondLookBeforeFinish(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.ensure()
	if err := b.ask("m-0"); err != nil {
		t.Fatal(err)
	}
	b.until("the clone", func(i fleet.Infrastructure) bool { return len(i.Upkeep) == 1 })
	after := b.w.takeOver(t, b.vms("m-0")[0].Path)
	b.restart() // so that it lists
	b.ensure()
	if taken, there := after(); !taken || !there {
		t.Errorf("taken over: %t, as it was left: %t", taken, there)
	}
	if v := b.vms("m-0")[0]; v.On || v.ExtraConfig["guestinfo.metadata"] != "" {
		t.Errorf("the VM of another cluster is %+v", v)
	}
}

// share gives the machine called to the address of another, as where two agents chose it.
func (b *bench) share(from, to string) {
	b.t.Helper()
	b.setTag(to, "fairlead.dev/addresses", b.held(from, "fairlead.dev/addresses"))
}
