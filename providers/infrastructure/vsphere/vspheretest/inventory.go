package vspheretest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/units"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
)

// A Template is a VM to clone, in the folder templates of each data center.
type Template struct {
	Name        string
	Snapshot    string // name of its snapshot; "" means none: it cannot be cloned linked
	DiskGiB     int64  // default 20
	ExtraConfig map[string]string
	VM          bool // it is a VM that is switched off, and no template
}

// DefaultTemplates are as image-builder makes them: one of them has no snapshot.
func DefaultTemplates() []Template {
	return []Template{
		{Name: "ubuntu-2204-kube-v1.34.0", Snapshot: "ready"},
		{Name: "ubuntu-2204-kube-v1.35.0", Snapshot: "ready"},
		{Name: "flatcar-stable-kube-v1.34.0"},
	}
}

// Rules are those of DRS that a compute cluster has, by its path.
func (v *VCenter) Rules(path string) []types.BaseClusterRuleInfo {
	conf, err := object.NewClusterComputeResource(v.Local(), v.Ref(path)).Configuration(context.Background())
	if err != nil {
		panic(fmt.Sprintf("vspheretest: %s: %v", path, err))
	}
	return conf.Rule
}

// Local is a client whose calls never fail and are not counted.
func (v *VCenter) Local() *vim25.Client {
	c, err := vim25.NewClient(context.Background(), v.model.Service)
	if err != nil {
		panic(err) // it asks this process
	}
	return c
}

func (v *VCenter) finder() *find.Finder { return find.NewFinder(v.Local(), false) }

// Ref finds an object by its path in the inventory, "/DC0/host/DC0_C0". It panics where
// there is none, or more than one.
func (v *VCenter) Ref(path string) types.ManagedObjectReference {
	all, err := v.finder().ManagedObjectList(context.Background(), path)
	if err != nil || len(all) != 1 {
		panic(fmt.Sprintf("vspheretest: %d objects at %q: %v", len(all), path, err))
	}
	return all[0].Object.Reference()
}

// root is the root folder.
func (v *VCenter) root() types.ManagedObjectReference { return v.Local().ServiceContent.RootFolder }

// furnish makes folders, templates and tags.
func (v *VCenter) furnish(ctx context.Context) error {
	dcs, err := v.finder().DatacenterList(ctx, "*")
	if err != nil {
		return err
	}
	for _, dc := range dcs {
		folders, err := dc.Folders(ctx)
		if err != nil {
			return err
		}
		if _, err = folders.VmFolder.CreateFolder(ctx, "fleet"); err != nil {
			return err
		}
		in, err := folders.VmFolder.CreateFolder(ctx, "templates")
		if err != nil {
			return err
		}
		for _, t := range v.opts.Templates {
			if err := v.template(ctx, dc, in, t); err != nil {
				return fmt.Errorf("template %s: %w", t.Name, err)
			}
		}
	}
	return v.tag(ctx)
}

// template makes a VM with a disk and a card, and marks it as template.
func (v *VCenter) template(ctx context.Context, dc *object.Datacenter, in *object.Folder, t Template) error {
	f := v.finder().SetDatacenter(dc)
	network, e1 := f.Network(ctx, dc.Name()+"_DVPG0")
	pool, e2 := f.ResourcePool(ctx, dc.Name()+"_C0/Resources")
	store, e3 := f.Datastore(ctx, "LocalDS_0")
	if err := errors.Join(e1, e2, e3); err != nil {
		return err
	}
	backing, err := network.EthernetCardBackingInfo(ctx)
	if err != nil {
		return err
	}
	var devices object.VirtualDeviceList
	scsi, _ := devices.CreateSCSIController("pvscsi")
	disk := devices.CreateDisk(scsi.(types.BaseVirtualController), store.Reference(), "")
	disk.CapacityInKB = max(t.DiskGiB, 20) * units.GB / units.KB
	if t.DiskGiB != 0 {
		disk.CapacityInKB = t.DiskGiB * units.GB / units.KB
	}
	card, _ := object.EthernetCardTypes().CreateEthernetCard("vmxnet3", backing)
	changes, _ := object.VirtualDeviceList{scsi, disk, card}.ConfigSpec(types.VirtualDeviceConfigSpecOperationAdd)
	v.address(changes)
	spec := types.VirtualMachineConfigSpec{
		Name: t.Name, GuestId: string(types.VirtualMachineGuestOsIdentifierUbuntu64Guest), Version: "vmx-15", Firmware: "efi",
		NumCPUs: 2, MemoryMB: 2048, Annotation: "made by image-builder", DeviceChange: changes,
		Files: &types.VirtualMachineFileInfo{VmPathName: "[LocalDS_0] " + t.Name},
	}
	for k, value := range t.ExtraConfig {
		spec.ExtraConfig = append(spec.ExtraConfig, &types.OptionValue{Key: k, Value: value})
	}
	task, err := in.CreateVM(ctx, spec, pool, nil)
	if err != nil {
		return err
	}
	made, err := task.WaitForResult(ctx)
	if err != nil {
		return err
	}
	vm := object.NewVirtualMachine(v.Local(), made.Result.(types.ManagedObjectReference))
	if t.Snapshot != "" {
		task, err := vm.CreateSnapshot(ctx, t.Snapshot, "", false, false)
		if err != nil {
			return err
		}
		if err := task.Wait(ctx); err != nil {
			return err
		}
	}
	if t.VM {
		return nil
	}
	return vm.MarkAsTemplate(ctx)
}

// tag makes categories for regions and zones, and tags of data centers and clusters.
func (v *VCenter) tag(ctx context.Context) error {
	c, err := v.REST(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Logout(ctx) }()
	m := tags.NewManager(c)
	regions, err := m.CreateCategory(ctx, &tags.Category{Name: "k8s-region", Cardinality: "SINGLE", AssociableTypes: []string{"Datacenter"}})
	if err != nil {
		return err
	}
	zones, err := m.CreateCategory(ctx, &tags.Category{Name: "k8s-zone", Cardinality: "SINGLE", AssociableTypes: []string{"ClusterComputeResource"}})
	if err != nil {
		return err
	}
	attach := func(category, name, path string) error {
		id, err := m.CreateTag(ctx, &tags.Tag{CategoryID: category, Name: name})
		if err != nil {
			return err
		}
		return m.AttachTag(ctx, id, v.Ref(path))
	}
	for dc := range v.opts.Datacenters {
		if err := attach(regions, fmt.Sprintf("region-%d", dc), fmt.Sprintf("/DC%d", dc)); err != nil {
			return err
		}
		for n := range v.opts.Clusters {
			if err := attach(zones, fmt.Sprintf("zone-%d-%d", dc, n), fmt.Sprintf("/DC%d/host/DC%[1]d_C%d", dc, n)); err != nil {
				return err
			}
		}
	}
	return nil
}

// splitPath are the parts of a path.
func splitPath(path string) []string { return strings.Split(strings.Trim(path, "/"), "/") }
