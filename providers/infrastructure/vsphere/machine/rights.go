package machine

// An Object is a kind of object of vCenter that a user has privileges on, in the words of the
// guide.
type Object string

// The kinds of objects.
const (
	OnVCenter   Object = "vCenter" // the root folder
	OnCluster   Object = "compute clusters"
	OnPool      Object = "resource pools"
	OnDatastore Object = "datastores"
	OnNetwork   Object = "networks"
	OnTemplate  Object = "templates"
	OnFolder    Object = "folder of the fleet"
)

// A Right is a privilege on objects of a kind, by its id in vCenter.
type Right struct {
	On        Object
	Privilege string
}

// Rights returns all rights that machines may take. docs/guides/infrastructure/vsphere.md has them as a table.
// Source: VMware vSphere Web Services API, the required privileges of each method.
func Rights() []Right {
	var out []Right
	for _, r := range rights() {
		out = append(out, r.Right)
	}
	return out
}

// Rights returns those of Rights that r takes, which needs neither tags nor user data. Volumes
// and power are of each machine: it is not known before what it is when it goes.
func (r *Request) Rights() []Right {
	var out []Right
	for _, one := range rights() {
		if one.needed == nil || one.needed(r) {
			out = append(out, one.Right)
		}
	}
	return out
}

// A neededRight is one with the requests that take it; nil: all do.
type neededRight struct {
	Right

	needed func(r *Request) bool
}

func rights() []neededRight {
	right := func(on Object, privilege string, needed func(r *Request) bool) neededRight {
		return neededRight{Right{on, privilege}, needed}
	}
	pci := func(r *Request) bool { return len(r.Spec.PciDevices) > 0 }
	return []neededRight{
		right(OnVCenter, "InventoryService.Tagging.AttachTag", func(r *Request) bool { return len(r.Spec.TagIDs) > 0 }),
		right(OnVCenter, "StorageProfile.View", func(r *Request) bool { return r.Spec.StoragePolicyName != "" || r.Spec.CryptoProfile != "" }),
		// Machines run without the rule that keeps them apart, and not without the hosts of their zone.
		right(OnCluster, "Host.Inventory.EditCluster", func(r *Request) bool { return r.Place.Grouped }),
		right(OnPool, "Resource.AssignVMToPool", nil),
		right(OnDatastore, "Datastore.AllocateSpace", nil),
		right(OnNetwork, "Network.Assign", nil),
		right(OnTemplate, "VirtualMachine.Provisioning.Clone", func(r *Request) bool { return r.Template.VM }),
		right(OnTemplate, "VirtualMachine.Provisioning.DeployTemplate", func(r *Request) bool { return !r.Template.VM }),
		right(OnFolder, "VApp.ApplicationConfig", nil),
		right(OnFolder, "VirtualMachine.Config.AddNewDisk", func(r *Request) bool { return len(r.Spec.DataDisks) > 0 }),
		right(OnFolder, "VirtualMachine.Config.AddRemoveDevice", nil),
		right(OnFolder, "VirtualMachine.Config.AdvancedConfig", nil),
		right(OnFolder, "VirtualMachine.Config.Annotation", nil),
		right(OnFolder, "VirtualMachine.Config.CPUCount", nil),
		right(OnFolder, "VirtualMachine.Config.DiskExtend", func(r *Request) bool {
			larger, err := r.larger() // an error is one of the clone
			return err == nil && larger != ""
		}),
		right(OnFolder, "VirtualMachine.Config.Memory", nil),
		right(OnFolder, "VirtualMachine.Config.RawDevice", pci),
		right(OnFolder, "VirtualMachine.Config.RemoveDisk", nil),
		right(OnFolder, "VirtualMachine.Config.Resource", func(r *Request) bool {
			h := r.hardware()
			return pci(r) || h.CpuAllocation != nil || h.MemoryAllocation != nil
		}),
		right(OnFolder, "VirtualMachine.Config.Settings", nil),
		right(OnFolder, "VirtualMachine.Config.UpgradeVirtualHardware", func(r *Request) bool {
			return older(r.Template.Hardware, r.Spec.HardwareVersion)
		}),
		right(OnFolder, "VirtualMachine.Interact.PowerOff", nil),
		right(OnFolder, "VirtualMachine.Interact.PowerOn", nil),
		right(OnFolder, "VirtualMachine.Inventory.CreateFromExisting", nil),
		right(OnFolder, "VirtualMachine.Inventory.Delete", nil),
	}
}
