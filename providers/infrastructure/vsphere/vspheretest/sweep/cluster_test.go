// Package sweep_test holds the whole vSphere provider to what it promises, whatever goes
// wrong at whatever call, and with no more rights than its guide gives it, on a vCenter in
// this process.
package sweep_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

// Where machines are.
const (
	folder    = "/DC0/vm/fleet"
	templates = "/DC0/vm/templates/ubuntu-2204-kube-"
	network   = "/DC0/network/DC0_DVPG0"
	rack      = "/DC0/host/DC0_C0" // has a group of hosts
	policy    = "vSAN Default Storage Policy"
)

// A world is a vCenter with all that a cluster names.
type world struct {
	*vspheretest.VCenter
	tag string // id of a tag for machines
}

// newWorld returns one with a group of hosts, and VMs of others that are called as machines are.
func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{VCenter: vspheretest.New(t, vspheretest.Options{
		Datacenters: 1,
		Templates:   []vspheretest.Template{{Name: "ubuntu-2204-kube-v1.34.0", Snapshot: "ready"}, {Name: "ubuntu-2204-kube-v1.35.0", Snapshot: "ready", VM: true}},
		Guest: func(m vspheretest.Machine) []string {
			return []string{"10.0.0." + strings.TrimPrefix(m.Ref.Value, "vm-")}
		},
	})}
	w.furnish(t)
	w.AddMachine("/DC0/vm", "eu-1-md-0-of-others")
	w.ResetCalls()
	return w
}

// furnish makes a tag, and groups of VMs and hosts with their rule.
func (w *world) furnish(t testing.TB) {
	t.Helper()
	ctx := t.Context()
	r, err := w.REST(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Logout(context.WithoutCancel(ctx)) }()
	m := tags.NewManager(r)
	category, err := m.CreateCategory(ctx, &tags.Category{Name: "owners", Cardinality: "SINGLE", AssociableTypes: []string{"VirtualMachine"}})
	if err != nil {
		t.Fatal(err)
	}
	if w.tag, err = m.CreateTag(ctx, &tags.Tag{Name: "platform", CategoryID: category}); err != nil {
		t.Fatal(err)
	}
	c, err := w.Client(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Logout(context.WithoutCancel(ctx)) }()
	add := types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd}
	task, err := object.NewClusterComputeResource(c.Client, w.Ref(rack)).Reconfigure(ctx, &types.ClusterConfigSpecEx{
		GroupSpec: []types.ClusterGroupSpec{
			{ArrayUpdateSpec: add, Info: &types.ClusterVmGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: "vms"}}},
			{ArrayUpdateSpec: add, Info: &types.ClusterHostGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: "hosts"}}},
		},
		RulesSpec: []types.ClusterRuleSpec{{ArrayUpdateSpec: add, Info: &types.ClusterVmHostRuleInfo{
			ClusterRuleInfo: types.ClusterRuleInfo{Name: "rack", Enabled: types.NewBool(true)}, VmGroupName: "vms", AffineHostGroupName: "hosts",
		}}},
	}, true)
	if err == nil {
		err = task.Wait(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// object returns one as the decoder makes it.
func newObject(t testing.TB, kind, name string, spec any) fleet.Object {
	t.Helper()
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	group, version := "infrastructure.cluster.x-k8s.io", "v1beta2"
	if kind == "InClusterIPPool" {
		group, version = "ipam.cluster.x-k8s.io", "v1alpha2"
	}
	return fleet.Object{GVK: schema.GroupVersionKind{Group: group, Version: version, Kind: kind}, Namespace: "prod", Name: name, Spec: text}
}

// machineSpec has something of everything.
func (w *world) machineSpec(version string, worker bool) *api.VSphereMachineSpec {
	s := &api.VSphereMachineSpec{PowerOffMode: api.PowerOffTrySoft}
	s.Template, s.Datacenter, s.Folder, s.StoragePolicyName = templates+version, "DC0", folder, policy
	s.NumCPUs, s.MemoryMiB, s.OS, s.HardwareVersion, s.TagIDs = 4, 4096, api.Linux, "vmx-19", []string{w.tag}
	s.DataDisks = []api.VSphereDisk{{Name: "etcd", SizeGiB: 4}}
	s.Network.Devices = []api.NetworkDeviceSpec{{
		NetworkConfiguration: api.NetworkConfiguration{
			NetworkName: network, Nameservers: []string{"10.0.0.2"},
			AddressesFromPools: []addresses.Ref{{APIGroup: "ipam.cluster.x-k8s.io", Kind: "InClusterIPPool", Name: "nodes"}},
		},
	}}
	if worker {
		cpu := resource.MustParse("1000M")
		s.DiskGiB, s.Resources.Requests.CPU = 30, &cpu
		s.PciDevices = []api.PCIDeviceSpec{{VendorID: new(int32(4318)), DeviceID: new(int32(7864))}}
	}
	return s
}

// zone is a failure domain of the cluster.
func (w *world) zone(t testing.TB, name, cluster, store string, server bool, hosts api.FailureDomainHosts) []fleet.Object {
	return []fleet.Object{
		newObject(t, "VSphereFailureDomain", name, &api.VSphereFailureDomainSpec{
			Topology: api.Topology{Datacenter: "DC0", ComputeCluster: cluster, Datastore: store, Hosts: hosts},
		}),
		newObject(t, "VSphereDeploymentZone", name, &api.VSphereDeploymentZoneSpec{
			Server: w.Server(), FailureDomain: name, ControlPlane: new(server),
			PlacementConstraint: api.PlacementConstraint{ResourcePool: "/DC0/host/" + cluster + "/Resources/" + cluster + "_RP1"},
		}),
	}
}

// cluster returns one whose servers are in two zones and whose workers are on a group of hosts,
// for an account.
func (w *world) cluster(t testing.TB, user, password string) fleet.Cluster {
	t.Helper()
	account := fleet.Key{Namespace: "prod", Name: "vsphere"}
	c := fleet.Cluster{
		Fleet: "fleet-a", Key: fleet.Key{Namespace: "prod", Name: "eu-1"}, Provider: "vsphere",
		Infrastructure: newObject(t, "VSphereCluster", "eu-1", map[string]any{
			"server": w.Server(), "thumbprint": w.Thumbprint(), "controlPlaneEndpoint": map[string]any{"port": 6443},
			"virtualIP":   map[string]any{"addressFromPool": map[string]any{"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "nodes"}},
			"identityRef": map[string]any{"kind": "Secret", "name": account.Name}, "failureDomainSelector": map[string]any{},
		}),
		ControlPlane: fleet.Pool{Name: "eu-1-cp", Role: fleet.RoleControlPlane, Replicas: 1, Version: "v1.34.0", Template: "1-cp"},
		Workers:      []fleet.Pool{{Name: "eu-1-md-0", Role: fleet.RoleWorker, Replicas: 1, Version: "v1.34.0", Template: "1-md", FailureDomain: "rack"}},
	}
	c.Infrastructure.Secrets = map[fleet.Key]fleet.SecretData{account: {
		"username": fleet.NewSecret([]byte(user)), "password": fleet.NewSecret([]byte(password)),
	}}
	c.Companions = append(c.Companions, w.zone(t, "zone-0", "DC0_C0", "LocalDS_0", true, api.FailureDomainHosts{})...)
	c.Companions = append(c.Companions, w.zone(t, "zone-1", "DC0_C1", "LocalDS_1", true, api.FailureDomainHosts{})...)
	c.Companions = append(c.Companions, w.zone(t, "rack", "DC0_C0", "LocalDS_0", false, api.FailureDomainHosts{VMGroupName: "vms", HostGroupName: "hosts"})...)
	c.Companions = append(c.Companions, newObject(t, "InClusterIPPool", "nodes", addresses.PoolSpec{
		Addresses: []string{"10.7.0.10-10.7.0.40"}, Prefix: 24, Gateway: "10.7.0.1",
	}))
	w.version(t, &c, "v1.34.0", "1")
	return c
}

// version has all machines of c be of a version, by a template of that name.
func (w *world) version(t testing.TB, c *fleet.Cluster, version, template string) {
	c.ControlPlane.Version, c.ControlPlane.Template = version, fleet.TemplateHash(template+"-cp")
	c.ControlPlane.Infrastructure = newObject(t, "VSphereMachineTemplate", "cp", w.machineSpec(version, false))
	c.Workers[0].Version, c.Workers[0].Template = version, fleet.TemplateHash(template+"-md")
	c.Workers[0].Infrastructure = newObject(t, "VSphereMachineTemplate", "md-0", w.machineSpec(version, true))
}
