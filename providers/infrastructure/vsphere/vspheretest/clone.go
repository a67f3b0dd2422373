package vspheretest

import (
	"bytes"
	"fmt"
	"path"
	"slices"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/object"
	vcsim "github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"
)

// maxName is the longest name of a VM, by the API reference of VirtualMachineConfigSpec.
const maxName = 80

// A clone is one that runs.
type clone struct {
	v      *VCenter
	req    *types.CloneVM_Task
	folder *vcsim.Folder
	source types.VirtualMachineConfigInfo // a copy
	linked map[int32]string               // files of the template's disks by key, where the clone is linked
	place  string                         // of the template: its datastore
	pool   *types.ManagedObjectReference
}

// CloneVMTask makes a VM as vCenter does, instead of vcsim's: see doc.go.
func (m *machine) CloneVMTask(_ *vcsim.Context, req *types.CloneVM_Task) soap.HasFault {
	refuse := func(f types.BaseMethodFault) soap.HasFault {
		return &methods.CloneVM_TaskBody{Fault_: vcsim.Fault(Words(f), f)}
	}
	location := req.Spec.Location
	for _, ref := range []*types.ManagedObjectReference{&req.Folder, location.Pool, location.Datastore, location.Host, req.Spec.Snapshot} {
		if ref != nil && m.v.Registry().Get(*ref) == nil {
			return refuse(&types.ManagedObjectNotFound{Obj: *ref})
		}
	}
	folder, ok := m.v.Registry().Get(req.Folder).(*vcsim.Folder)
	if !ok {
		return refuse(&types.InvalidArgument{InvalidProperty: "folder"})
	}
	c := &clone{v: m.v, req: req, folder: folder, pool: location.Pool}
	wrong := m.unusable()
	if wrong == nil {
		wrong = c.read(m.VirtualMachine)
	}
	f := m.v.fate("CloneVM_Task", req.Name, m.user)
	task := m.v.start(m.VirtualMachine, "CloneVM_Task", m.user, f, func(ctx *vcsim.Context) (types.AnyType, *failure) {
		if wrong != nil {
			return nil, fails(wrong)
		}
		return c.run(ctx, f)
	})
	return &methods.CloneVM_TaskBody{Res: &types.CloneVM_TaskResponse{Returnval: task}}
}

// read copies what the clone takes from its source, whose lock is held.
func (c *clone) read(vm *vcsim.VirtualMachine) types.BaseMethodFault {
	source := *vm.Config
	spec := c.req.Spec
	if c.pool == nil && !vm.Config.Template {
		c.pool = vm.ResourcePool
	}
	if c.pool == nil {
		return &types.InvalidArgument{InvalidProperty: "spec.location.pool"}
	}
	if spec.Snapshot != nil {
		s, ok := c.v.Registry().Get(*spec.Snapshot).(*vcsim.VirtualMachineSnapshot)
		if !ok || s.Vm != vm.Self {
			return &types.InvalidArgument{InvalidProperty: "spec.snapshot"}
		}
		source = s.Config
		source.Template = vm.Config.Template
	}
	if spec.Location.DiskMoveType == string(types.VirtualMachineRelocateDiskMoveOptionsCreateNewChildDiskBacking) {
		if spec.Snapshot == nil { // VirtualMachineRelocateDiskMoveOptions: "only valid when cloning from a snapshot"
			return &types.InvalidArgument{InvalidProperty: "spec.location.diskMoveType"}
		}
		c.linked = make(map[int32]string)
		for _, d := range source.Hardware.Device {
			if b, ok := diskBacking(d); ok {
				c.linked[d.GetVirtualDevice().Key] = b.FileName
			}
		}
	}
	c.place = datastoreOf(source.Files.VmPathName)
	c.source = copied(source)
	return nil
}

// run makes the VM. While it is held, the VM is listed without configuration.
func (c *clone) run(ctx *vcsim.Context, f *fate) (types.AnyType, *failure) {
	if f != nil && f.Fault != nil && !f.Hold {
		return nil, c.v.failure(f)
	}
	vm, failed := c.make(ctx, f != nil && f.Hold)
	if failed != nil {
		return nil, failed
	}
	if f != nil && f.Hold {
		goes := c.v.waitsFor(f)
		c.v.Registry().WithLock(ctx, vm.VirtualMachine, func() { vm.reveal(ctx) })
		if !goes {
			return nil, fails(&types.RequestCanceled{})
		}
		if f.Fault != nil {
			_, _ = c.v.destroy(ctx, vm.VirtualMachine)
			return nil, c.v.failure(f)
		}
	}
	switch {
	case c.req.Spec.Template:
		c.v.Registry().WithLock(ctx, vm.VirtualMachine, func() { vm.MarkAsTemplate(&types.MarkAsTemplate{This: vm.Self}) })
	case c.req.Spec.PowerOn:
		var res soap.HasFault
		c.v.Registry().WithLock(ctx, vm.VirtualMachine, func() {
			res = vm.VirtualMachine.PowerOnVMTask(ctx, &types.PowerOnVM_Task{This: vm.Self})
		})
		if _, failed := c.v.finish(returned(res)); failed != nil {
			return nil, failed
		}
	}
	return vm.Self, nil
}

// made is a VM that was just made.
type made struct {
	*vcsim.VirtualMachine
	config *types.VirtualMachineConfigInfo // the hidden part of its configuration
}

// reveal shows a VM whole.
func (m *made) reveal(ctx *vcsim.Context) {
	if m.config != nil {
		m.VirtualMachine.Config = m.config
		ctx.Update(m.VirtualMachine, []types.PropertyChange{{Name: "config.changeVersion", Val: m.config.ChangeVersion}})
	}
}

// make has vcsim make a VM by a specification that says everything.
func (c *clone) make(ctx *vcsim.Context, hidden bool) (*made, *failure) {
	v := c.v
	v.creating.Lock()
	defer v.creating.Unlock()
	name := c.req.Name
	if len([]rune(name)) > maxName || name == "" {
		return nil, fails(&types.InvalidName{Name: name})
	}
	var twin mo.Entity
	v.Registry().WithLock(ctx, c.folder, func() { twin = v.Registry().FindByName(name, c.folder.ChildEntity) })
	if twin != nil {
		return nil, fails(&types.DuplicateName{Name: name, Object: twin.Reference()})
	}
	store, f := c.datastore()
	if f != nil {
		return nil, fails(f)
	}
	host := c.req.Spec.Location.Host
	if host == nil {
		host = v.host(*c.pool, []types.ManagedObjectReference{store.Self})
	}
	if host == nil || !v.runs(*host, []types.ManagedObjectReference{store.Self}) {
		return nil, fails(&types.NoCompatibleHost{})
	}
	spec, f := c.spec(store)
	if f != nil {
		return nil, fails(f)
	}
	var res soap.HasFault
	v.Registry().WithLock(ctx, c.folder, func() {
		res = c.folder.CreateVMTask(ctx, &types.CreateVM_Task{This: c.folder.Self, Config: *spec, Pool: *c.pool, Host: host})
	})
	ref, failed := v.finish(returned(res))
	if failed != nil {
		return nil, failed
	}
	vm := &made{VirtualMachine: v.Registry().Get(ref.(types.ManagedObjectReference)).(*vcsim.VirtualMachine)}
	v.Registry().WithLock(ctx, vm.VirtualMachine, func() { c.complete(ctx, vm, hidden) })
	return vm, nil
}

// datastore is where the VM goes.
func (c *clone) datastore() (*vcsim.Datastore, types.BaseMethodFault) {
	var store *vcsim.Datastore
	if ref := c.req.Spec.Location.Datastore; ref != nil {
		store, _ = c.v.Registry().Get(*ref).(*vcsim.Datastore)
	} else if dc := c.v.datacenter(c.folder); dc != nil {
		store, _ = c.v.Registry().FindByName(c.place, dc.Datastore).(*vcsim.Datastore)
	}
	if store == nil || c.v.datacenter(store) != c.v.datacenter(c.folder) {
		return nil, &types.InvalidArgument{InvalidProperty: "spec.location.datastore"}
	}
	c.v.mu.Lock()
	full := c.v.full[store.Self]
	c.v.mu.Unlock()
	if full {
		file := fmt.Sprintf("[%s] %s/%[2]s.vmdk", store.Name, c.req.Name)
		return nil, &types.NoDiskSpace{FileFault: types.FileFault{File: file}, Datastore: store.Name}
	}
	return store, nil
}

// spec is all of the new VM: what the source has, and the request over it.
func (c *clone) spec(store *vcsim.Datastore) (*types.VirtualMachineConfigSpec, types.BaseMethodFault) {
	from, with := c.source, c.req.Spec.Config
	if with == nil {
		with = new(types.VirtualMachineConfigSpec)
	}
	out := *with // all that vcsim knows of it, which is more than it takes when it clones
	out.Name, out.Files = c.req.Name, &types.VirtualMachineFileInfo{VmPathName: fmt.Sprintf("[%s] %s", store.Name, c.req.Name)}
	or(&out.Version, from.Version)
	or(&out.GuestId, from.GuestId)
	or(&out.Firmware, from.Firmware)
	or(&out.Annotation, from.Annotation)
	or(&out.NumCPUs, from.Hardware.NumCPU)
	or(&out.MemoryMB, int64(from.Hardware.MemoryMB))
	or(&out.NumCoresPerSocket, from.Hardware.NumCoresPerSocket)
	or(&out.BootOptions, from.BootOptions)
	or(&out.Uuid, uuid.NewString()) // vcsim makes it of the path
	if out.Flags == nil {
		flags := from.Flags
		out.Flags = &flags
	}
	if !isTrue(with.VAppConfigRemoved) && from.VAppConfig != nil && out.VAppConfig == nil {
		out.VAppConfig = vAppSpec(from.VAppConfig)
	}
	out.ExtraConfig = inherit(from.ExtraConfig, with.ExtraConfig)
	if out.InstanceUuid == "" || c.v.hasInstance(out.InstanceUuid) { // the reference: vCenter changes one that conflicts
		out.InstanceUuid = uuid.NewString()
	}
	changes := append(slices.Clone(c.req.Spec.Location.DeviceChange), with.DeviceChange...)
	var f types.BaseMethodFault
	out.DeviceChange, f = c.devices(changes)
	return &out, f
}

// or sets what is zero.
func or[T comparable](at *T, value T) {
	var zero T
	if *at == zero {
		*at = value
	}
}

func isTrue(b *bool) bool { return b != nil && *b }

// inherit lays options over those of a template. An empty value takes one away.
func inherit(of, over []types.BaseOptionValue) (out []types.BaseOptionValue) {
	has := make(map[string]bool)
	for _, o := range over {
		has[o.GetOptionValue().Key] = true
		if s, ok := o.GetOptionValue().Value.(string); !ok || s != "" {
			out = append(out, o)
		}
	}
	for _, o := range of {
		if k := o.GetOptionValue().Key; !has[k] && k != "govcsim" { // vcsim adds that itself
			out = append(out, o)
		}
	}
	return out
}

// complete puts right what vcsim made, under its lock.
func (c *clone) complete(ctx *vcsim.Context, vm *made, hidden bool) {
	var changes []types.PropertyChange
	if c.linked != nil {
		for _, d := range vm.VirtualMachine.Config.Hardware.Device {
			if b, ok := diskBacking(d); ok && c.linked[d.GetVirtualDevice().Key] != "" {
				b.Parent = &types.VirtualDiskFlatVer2BackingInfo{VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{FileName: c.linked[d.GetVirtualDevice().Key]}}
			}
		}
	}
	changes = append(changes, noGuest()...) // vcsim says at once what cards the guest has
	if hidden {
		vm.config, vm.VirtualMachine.Config = vm.VirtualMachine.Config, nil
	}
	ctx.Update(vm.VirtualMachine, changes)
}

// hasInstance reports whether a VM has that instance UUID.
func (v *VCenter) hasInstance(id string) bool {
	for _, e := range v.Registry().All("VirtualMachine") {
		vm := e.(*vcsim.VirtualMachine)
		has := false
		v.Registry().WithLock(v.Context(), vm, func() { has = vm.Config != nil && vm.Config.InstanceUuid == id })
		if has {
			return true
		}
	}
	return false
}

// datacenter is the one that an object is in.
func (v *VCenter) datacenter(e mo.Entity) *vcsim.Datacenter {
	for ; e != nil; e = v.parent(e) {
		if dc, ok := e.(*vcsim.Datacenter); ok {
			return dc
		}
	}
	return nil
}

func datastoreOf(file string) string {
	var p object.DatastorePath
	p.FromString(path.Clean(file))
	return p.Datastore
}

// copied is a copy of all that can be reached from it.
func copied(c types.VirtualMachineConfigInfo) (out types.VirtualMachineConfigInfo) {
	var b bytes.Buffer
	if err := xml.NewEncoder(&b).Encode(c); err != nil {
		panic(err)
	}
	d := xml.NewDecoder(&b)
	d.TypeFunc = types.TypeFunc()
	if err := d.Decode(&out); err != nil {
		panic(err)
	}
	return out
}

// vAppSpec asks for the properties that a vApp has.
func vAppSpec(of types.BaseVmConfigInfo) types.BaseVmConfigSpec {
	out := new(types.VmConfigSpec)
	for _, p := range of.GetVmConfigInfo().Property {
		out.Property = append(out.Property, types.VAppPropertySpec{
			ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd}, Info: &p,
		})
	}
	return out
}
