package vsphere_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/conformance"
	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

// TestConformance runs the suite on a vCenter for each of its tests. VMs of one name are in
// folders of their own: see TestSameName.
func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.RunParallel(t, func() conformance.Options { return suite(t) })
}

// suite returns the options of one check.
func suite(t testing.TB) conformance.Options {
	worlds := make(map[providers.Infrastructure]*world)
	var last *world
	var listing *vspheretest.Injected
	return conformance.Options{
		New: func(t testing.TB) providers.Infrastructure {
			last, listing = newWorld(t, vspheretest.Options{Datacenters: 1}), nil
			p := upkeeper{newProvider(t, nil)}
			worlds[p] = last
			return p
		},
		Cluster: func() fleet.Cluster { return last.zoned(t) },
		Foreign: func(_ testing.TB, p providers.Infrastructure, name string) func() bool {
			w := worlds[p]
			m := w.AddMachine("/DC0/vm", name)
			return func() bool { _, ok := w.Machine(m.Path); return ok }
		},
		FailListing: func(_ testing.TB, p providers.Infrastructure, nth int) {
			time.Sleep(2 * tick) // so that no look is good enough
			if listing != nil {
				listing.End()
			}
			listing = worlds[p].FailCalls(vspheretest.CallFault{Method: "RetrievePropertiesEx", Skip: nth - 1, Times: 1, Fault: &types.HostCommunication{}})
		},
		Provider: "vsphere", Hooks: hooks(worlds), Deviations: nil,
	}
}

// zoned is a cluster with two failure domains.
func (w *world) zoned(t testing.TB) fleet.Cluster {
	c := w.cluster(t, nil)
	for _, z := range []string{"0", "1"} {
		domain := &api.VSphereFailureDomainSpec{
			Region:   api.FailureDomain{Name: "region-0", Type: api.DatacenterFailureDomain, TagCategory: "k8s-region"},
			Zone:     api.FailureDomain{Name: "zone-0-" + z, Type: api.ComputeClusterFailureDomain, TagCategory: "k8s-zone"},
			Topology: api.Topology{Datacenter: "DC0", ComputeCluster: "DC0_C" + z, Datastore: "LocalDS_" + z},
		}
		zone := &api.VSphereDeploymentZoneSpec{
			Server: w.Server(), FailureDomain: "fd-" + z, ControlPlane: new(true),
			PlacementConstraint: api.PlacementConstraint{ResourcePool: fmt.Sprintf("/DC0/host/DC0_C%s/Resources/DC0_C%[1]s_RP1", z)},
		}
		c.Companions = append(c.Companions, newObject(t, "VSphereFailureDomain", "fd-"+z, domain), newObject(t, "VSphereDeploymentZone", "zone-"+z, zone))
	}
	return c
}

// hooks reach the vCenters of providers.
func hooks(worlds map[providers.Infrastructure]*world) conformance.Hooks {
	return conformance.Hooks{
		Changes: func(_ testing.TB, p providers.Infrastructure) string {
			var out strings.Builder
			for _, c := range worlds[p].Calls() {
				if c.Changes() {
					fmt.Fprintln(&out, c.N, c.Method, c.This)
				}
			}
			return out.String()
		},
		Contents: func(_ testing.TB, p providers.Infrastructure) []string {
			var out []string
			for w := worlds[p]; w != nil; w = w.other {
				for _, m := range w.Machines() {
					out = append(out, "VM "+m.Path)
				}
			}
			slices.Sort(out)
			return out
		},
		LoseAnswer: func(_ testing.TB, p providers.Infrastructure, nth int) func() bool {
			f := worlds[p].FailCalls(vspheretest.CallFault{Changes: true, Skip: nth - 1, Times: 1, Lose: true})
			return func() bool { f.End(); return f.Done() > 0 }
		},
		Retag: func(t testing.TB, p providers.Infrastructure, id fleet.ProviderID, change func(map[string]string)) {
			m, ok := worlds[p].Machine(strings.TrimPrefix(string(id), "vsphere://"))
			if !ok {
				t.Fatalf("there is no VM %q", id)
			}
			tags := make(map[string]string)
			if err := json.Unmarshal([]byte(m.ExtraConfig["fairlead.dev/tags"]), &tags); err != nil {
				t.Fatal(err)
			}
			change(tags)
			text, err := json.Marshal(tags)
			if err != nil {
				t.Fatal(err)
			}
			worlds[p].SetExtraConfig(m.Ref, map[string]string{"fairlead.dev/tags": string(text)})
		},
		LoseRecords: func(_ testing.TB, p providers.Infrastructure, id fleet.ProviderID) func() bool {
			uuid := strings.TrimPrefix(string(id), "vsphere://")
			before, _ := worlds[p].Machine(uuid)
			worlds[p].SetConnection(before.Ref, types.VirtualMachineConnectionStateOrphaned)
			return func() bool {
				m, there := worlds[p].Machine(uuid)
				return there && m.On == before.On && maps.Equal(m.ExtraConfig, before.ExtraConfig)
			}
		},
		TakeOver: func(t testing.TB, p providers.Infrastructure, id fleet.ProviderID) func() (taken, there bool) {
			return worlds[p].takeOver(t, strings.TrimPrefix(string(id), "vsphere://"))
		},
		FailBoot: func(_ testing.TB, p providers.Infrastructure) {
			worlds[p].FailTasks(vspheretest.TaskFault{Task: "PowerOnVM_Task", Fault: &types.InvalidVmConfig{Property: "hardware"}})
		},
		FailCreate: func(_ testing.TB, p providers.Infrastructure) func() {
			return worlds[p].FailTasks(vspheretest.TaskFault{Task: "CloneVM_Task", Fault: &types.NoDiskSpace{Datastore: "LocalDS_0"}}).End
		},
		Elsewhere: func(t testing.TB, p providers.Infrastructure, c *fleet.Cluster) *fleet.Cluster {
			other := newWorld(t, vspheretest.Options{Datacenters: 1})
			worlds[p].other = other
			out := *c
			pool := c.Workers[0]
			pool.Infrastructure = newObject(t, "VSphereMachineTemplate", "elsewhere", other.machineSpec("/DC0/vm/fleet", func(s *api.VSphereMachineSpec) {
				s.Server, s.Thumbprint = other.Server(), other.Thumbprint()
			}))
			out.Workers = []fleet.Pool{pool}
			return &out
		},
		OtherName: func(t testing.TB, p providers.Infrastructure, c *fleet.Cluster) *fleet.Cluster {
			b := bench{t: t, c: c}
			b.leadTo(worlds[p].alias(), worlds[p].Thumbprint())
			return b.c
		},
		Pooled: func(t testing.TB, c *fleet.Cluster, name, last string) *fleet.Cluster {
			spec, err := api.ReadMachine(c.Workers[0].Infrastructure)
			if err != nil {
				t.Fatal(err)
			}
			spec.Network.Devices[0].DHCP4 = nil
			spec.Network.Devices[0].AddressesFromPools = []addresses.Ref{{APIGroup: "ipam.cluster.x-k8s.io", Kind: "GlobalInClusterIPPool", Name: name}}
			out, pool := *c, c.Workers[0]
			pool.Infrastructure = newObject(t, "VSphereMachineTemplate", name, spec)
			out.Workers, out.Companions = []fleet.Pool{pool}, append(slices.Clone(c.Companions), poolOf(t, name, "10.9.0.10-"+last))
			return &out
		},
		EndpointAt: func(_ testing.TB, _ providers.Infrastructure, c *fleet.Cluster, address string) *fleet.Cluster {
			out := *c
			out.Endpoint = fleet.Endpoint{Host: address, Port: 6443}
			return &out
		},
		Mistaken: func(t testing.TB, _ providers.Infrastructure, c *fleet.Cluster) (out []*fleet.Cluster) {
			for _, mistake := range []func(*api.VSphereMachineSpec){
				func(s *api.VSphereMachineSpec) { s.Template = "ubunut" },
				func(s *api.VSphereMachineSpec) { s.Folder = "/DC0/vm/flete" },
				func(s *api.VSphereMachineSpec) { s.Network.Devices[0].NetworkName = "VM Ntework" },
				func(s *api.VSphereMachineSpec) { s.StoragePolicyName = "godl" },
			} {
				spec, err := api.ReadMachine(c.Workers[0].Infrastructure)
				if err != nil {
					t.Fatal(err)
				}
				mistake(spec)
				m, pool := *c, c.Workers[0]
				pool.Infrastructure = newObject(t, "VSphereMachineTemplate", "mistaken", spec)
				m.Workers = []fleet.Pool{pool}
				out = append(out, &m)
			}
			return out
		},
		FailureDomain: "zone-1",
		UserDataLimit: 49149,
	}
}

// takeOver has another cluster get a VM once it was listed, before anything is asked of it. id is its UUID
// or its path.
func (w *world) takeOver(t testing.TB, id string) func() (taken, there bool) {
	t.Helper()
	m, ok := w.Machine(id)
	if !ok {
		t.Fatalf("there is no VM %q", id)
	}
	theirs := strings.Replace(m.ExtraConfig["fairlead.dev/tags"], `"fairlead.dev/cluster":"prod/`, `"fairlead.dev/cluster":"theirs/`, 1)
	var listed, taken atomic.Bool
	ends := []*vspheretest.Injected{
		w.FailCalls(vspheretest.CallFault{Method: "RetrievePropertiesEx", Text: "TraversalSpec", Times: 1, Do: func(vspheretest.Call) { listed.Store(true) }}),
		w.FailCalls(vspheretest.CallFault{Text: ">" + m.Ref.Value + "<", Do: func(vspheretest.Call) {
			if listed.Load() && taken.CompareAndSwap(false, true) {
				w.SetExtraConfig(m.Ref, map[string]string{"fairlead.dev/tags": theirs})
			}
		}}),
	}
	return func() (bool, bool) {
		for _, f := range ends {
			f.End()
		}
		now, ok := w.Machine(id)
		return taken.Load(), ok && now.ExtraConfig["fairlead.dev/tags"] == theirs
	}
}
