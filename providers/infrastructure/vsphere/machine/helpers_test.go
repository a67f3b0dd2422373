package machine_test

import (
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
)

func cluster() *fleet.Cluster {
	return &fleet.Cluster{
		Fleet: "acme", Key: fleet.Key{Namespace: "prod", Name: "eu-1"},
		Endpoint: fleet.Endpoint{Host: "10.0.0.100", Port: 6443},
		Workers:  []fleet.Pool{{Name: "md-0", Role: fleet.RoleWorker, Replicas: 2, Version: "v1.34.1", Template: "1-abc"}},
	}
}

// tags are those of machine m-0 of cluster.
func tags(more ...string) map[string]string {
	t := map[string]string{
		"fairlead.dev/fleet": "acme", "fairlead.dev/cluster": "prod/eu-1", "fairlead.dev/machine": "m-0", "fairlead.dev/role": "worker",
		"fairlead.dev/pool": "md-0", "fairlead.dev/template": "1-abc", "fairlead.dev/version": "v1.34.1", "fairlead.dev/operation": "op-1",
		"fairlead.dev/made": "2026-11-21T12:00:00Z",
	}
	for i := 0; i < len(more); i += 2 {
		if t[more[i]] = more[i+1]; more[i+1] == "" {
			delete(t, more[i])
		}
	}
	return t
}

// m0 is the UUID of the machine with tags().
const m0 = "030af483-7e45-8cd2-89f0-289540edf966"

func spec(change func(s *api.VSphereMachineSpec)) *api.VSphereMachineSpec {
	s := &api.VSphereMachineSpec{}
	s.Template, s.NumCPUs, s.MemoryMiB = "ubuntu", 2, 2048
	s.Network.Devices = []api.NetworkDeviceSpec{{NetworkConfiguration: api.NetworkConfiguration{NetworkName: "VM Network", DHCP4: new(true)}}}
	if change != nil {
		change(s)
	}
	return s
}

func ref(kind, id string) types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: kind, Value: id}
}

const gib = 1 << 20 // in KiB

// template has a disk of 20 GiB and one of 5 on a controller that has unit 7, two cards and
// no snapshot.
func template() machine.Template {
	controller := &types.ParaVirtualSCSIController{}
	controller.Key, controller.ScsiCtlrUnitNumber = 1000, 7
	disk := func(key, unit int32, size int64) *types.VirtualDisk {
		d := &types.VirtualDisk{CapacityInKB: size * gib}
		d.Key, d.ControllerKey, d.UnitNumber = key, 1000, &unit
		return d
	}
	return machine.Template{Name: "ubuntu", Devices: []types.BaseVirtualDevice{
		controller, disk(2000, 0, 20), disk(2001, 1, 5), card(4000, "00:50:56:00:00:01"), card(4001, "00:50:56:00:00:02"),
	}}
}

func card(key int32, mac string) *types.VirtualVmxnet3 {
	c := &types.VirtualVmxnet3{}
	c.Key, c.MacAddress = key, mac
	return c
}

func request(change func(r *machine.Request)) machine.Request {
	r := machine.Request{
		Tags: tags(), Spec: spec(nil), Template: template(),
		UserData: providers.UserData{Format: "cloud-config", Content: fleet.NewSecret([]byte("#cloud-config\n{}\n"))},
		Place: machine.Place{
			Folder: ref("Folder", "group-v3"), Pool: ref("ResourcePool", "resgroup-8"),
			Networks: []types.BaseVirtualDeviceBackingInfo{&types.VirtualEthernetCardNetworkBackingInfo{
				VirtualDeviceDeviceBackingInfo: types.VirtualDeviceDeviceBackingInfo{DeviceName: "VM Network"},
			}},
		},
	}
	if change != nil {
		change(&r)
	}
	return r
}

func vm(change func(v *machine.VM)) machine.VM {
	v := machine.VM{
		Ref: ref("VirtualMachine", "vm-1"), Name: "m-0", Configured: true, UUID: m0, InstanceUUID: m0, Tags: machine.EncodeTags(tags()),
		Power: types.VirtualMachinePowerStatePoweredOff, Connection: types.VirtualMachineConnectionStateConnected,
		Created: now.Add(-time.Hour),
	}
	if change != nil {
		change(&v)
	}
	return v
}

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// owned is m-0 as it is seen in its cluster.
func owned(change func(v *machine.VM)) *machine.Owned {
	all := machine.MachinesOf([]machine.VM{vm(change)}, cluster())
	return &all[0]
}
