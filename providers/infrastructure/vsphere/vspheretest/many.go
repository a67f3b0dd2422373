package vspheretest

import (
	vcsim "github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// A Twin is what tells a VM of [VCenter.AddMany] from the one that it is like.
type Twin struct {
	Name        string
	UUID        string // of its BIOS and of the instance
	ExtraConfig map[string]string
	Addresses   []string // that its guest reports
}

// AddMany puts VMs into the folder of another one, which are as that one is in all else, with its
// disks and its power. It takes no time and no task, unlike a clone.
func (v *VCenter) AddMany(like types.ManagedObjectReference, twins []Twin) {
	ctx := v.Context()
	from := v.Registry().Get(like).(*vcsim.VirtualMachine)
	folder := v.Registry().Get(*from.Parent).(*vcsim.Folder)
	for _, t := range twins {
		vm := new(vcsim.VirtualMachine)
		v.Registry().WithLock(ctx, from, func() { vm.VirtualMachine = from.VirtualMachine })
		vm.Self = types.ManagedObjectReference{}
		vm.Name, vm.Summary.Config.Name = t.Name, t.Name
		config, guest := *from.Config, types.GuestInfo{}
		if from.Guest != nil {
			guest = *from.Guest
		}
		config.Name, config.Uuid, config.InstanceUuid, config.ExtraConfig = t.Name, t.UUID, t.UUID, nil
		for k, value := range t.ExtraConfig {
			config.ExtraConfig = append(config.ExtraConfig, &types.OptionValue{Key: k, Value: value})
		}
		vm.Config, vm.Guest = &config, &guest
		v.Registry().PutEntity(folder, vm)
		v.Registry().WithLock(ctx, folder, func() {
			ctx.Update(folder, []types.PropertyChange{{Name: "childEntity", Val: append(folder.ChildEntity, vm.Self)}})
		})
		if len(t.Addresses) > 0 {
			v.Report(vm.Self, t.Addresses...)
		}
	}
}
