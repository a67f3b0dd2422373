package machine_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
)

// always are the rights that every machine takes.
var always = []string{
	"Resource.AssignVMToPool", "Datastore.AllocateSpace", "Network.Assign", "VApp.ApplicationConfig", "VirtualMachine.Config.AddRemoveDevice",
	"VirtualMachine.Config.AdvancedConfig", "VirtualMachine.Config.Annotation", "VirtualMachine.Config.CPUCount", "VirtualMachine.Config.Memory",
	"VirtualMachine.Config.RemoveDisk", "VirtualMachine.Config.Settings", "VirtualMachine.Interact.PowerOff", "VirtualMachine.Interact.PowerOn",
	"VirtualMachine.Inventory.CreateFromExisting", "VirtualMachine.Inventory.Delete",
}

// TestRights: a request takes what its machine needs, and nothing else.
func TestRights(t *testing.T) {
	const deploy = "VirtualMachine.Provisioning.DeployTemplate"
	for reason, tc := range map[string]struct {
		change func(r *machine.Request)
		want   []string // besides always
	}{
		"nothing special": {func(*machine.Request) {}, []string{deploy}},
		"a VM is cloned":  {func(r *machine.Request) { r.Template.VM = true }, []string{"VirtualMachine.Provisioning.Clone"}},
		"tags":            {func(r *machine.Request) { r.Spec.TagIDs = []string{"urn:a"} }, []string{deploy, "InventoryService.Tagging.AttachTag"}},
		"a policy":        {func(r *machine.Request) { r.Spec.StoragePolicyName = "gold" }, []string{deploy, "StorageProfile.View"}},
		"encryption":      {func(r *machine.Request) { r.Spec.CryptoProfile = "secret" }, []string{deploy, "StorageProfile.View"}},
		"a group of hosts": {
			func(r *machine.Request) { r.Place.Grouped = true }, []string{deploy, "Host.Inventory.EditCluster"},
		},
		"data disks": {
			func(r *machine.Request) { r.Spec.DataDisks = []api.VSphereDisk{{SizeGiB: 1}} }, []string{deploy, "VirtualMachine.Config.AddNewDisk"},
		},
		"a disk as large as in the template": {func(r *machine.Request) { r.Spec.DiskGiB = 20 }, []string{deploy}},
		"a larger disk": {
			func(r *machine.Request) { r.Spec.DiskGiB = 21 }, []string{deploy, "VirtualMachine.Config.DiskExtend"},
		},
		"a larger second disk": {
			func(r *machine.Request) { r.Spec.AdditionalDisksGiB = []int32{6} }, []string{deploy, "VirtualMachine.Config.DiskExtend"},
		},
		"disks that cannot be, as the clone says": {func(r *machine.Request) { r.Spec.DiskGiB = 1 }, []string{deploy}},
		"PCI devices": {
			func(r *machine.Request) { r.Spec.PciDevices = []api.PCIDeviceSpec{{VGPUProfile: "grid"}} },
			[]string{deploy, "VirtualMachine.Config.RawDevice", "VirtualMachine.Config.Resource"},
		},
		"processors that it is sure of": {
			func(r *machine.Request) { r.Spec.Resources.Requests.CPU = new(resource.MustParse("1000M")) },
			[]string{deploy, "VirtualMachine.Config.Resource"},
		},
		"shares of memory": {func(r *machine.Request) { r.Spec.Resources.Shares.Memory = 5 }, []string{deploy, "VirtualMachine.Config.Resource"}},
		"newer hardware": {
			func(r *machine.Request) { r.Template.Hardware, r.Spec.HardwareVersion = "vmx-15", "vmx-19" },
			[]string{deploy, "VirtualMachine.Config.UpgradeVirtualHardware"},
		},
		"hardware that the template has": {
			func(r *machine.Request) { r.Template.Hardware, r.Spec.HardwareVersion = "vmx-19", "vmx-19" }, []string{deploy},
		},
	} {
		var got []string
		r := request(tc.change)
		for _, one := range r.Rights() {
			got = append(got, one.Privilege)
		}
		want := slices.Concat(always, tc.want)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: it takes\n%q, want\n%q", reason, got, want)
		}
	}
}
