package vspheretest

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/object"
	vcsim "github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// A Machine is what a VM is at one moment.
type Machine struct {
	Ref                types.ManagedObjectReference
	Name, Path         string // in the inventory: "/DC0/vm/fleet/m1"
	On, Gone           bool
	Cloning            bool // it is listed without configuration
	UUID, InstanceUUID string
	Host               string // the name
	ExtraConfig        map[string]string
	MACs               []string // of its cards, in their order
	Addresses          []string // that its guest reports
}

// read copies it. The lock is held.
func (v *VCenter) read(vm *vcsim.VirtualMachine) Machine {
	m := Machine{
		Ref: vm.Self, Name: vm.Name, Path: v.path(vm), Cloning: vm.Config == nil,
		On: vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn, ExtraConfig: make(map[string]string),
	}
	if vm.Runtime.Host != nil {
		if h := v.entity(*vm.Runtime.Host); h != nil {
			m.Host = h.Entity().Name
		}
	}
	if vm.Guest != nil {
		for _, n := range vm.Guest.Net {
			m.Addresses = append(m.Addresses, n.IpAddress...)
		}
	}
	if vm.Config == nil {
		return m
	}
	m.UUID, m.InstanceUUID = vm.Config.Uuid, vm.Config.InstanceUuid
	for _, o := range vm.Config.ExtraConfig {
		m.ExtraConfig[o.GetOptionValue().Key] = fmt.Sprint(o.GetOptionValue().Value)
	}
	for _, d := range object.VirtualDeviceList(vm.Config.Hardware.Device).SelectByType((*types.VirtualEthernetCard)(nil)) {
		m.MACs = append(m.MACs, d.(types.BaseVirtualEthernetCard).GetVirtualEthernetCard().MacAddress)
	}
	return m
}

// vms are all that are no templates.
func (v *VCenter) vms() (out []*vcsim.VirtualMachine) {
	for _, e := range v.Registry().All("VirtualMachine") {
		vm := e.(*vcsim.VirtualMachine)
		v.Registry().WithLock(v.Context(), vm, func() {
			if vm.Config == nil || !vm.Config.Template {
				out = append(out, vm)
			}
		})
	}
	return out
}

// Machines are all VMs that are no templates, by their paths.
func (v *VCenter) Machines() (out []Machine) {
	for _, vm := range v.vms() {
		v.Registry().WithLock(v.Context(), vm, func() { out = append(out, v.read(vm)) })
	}
	slices.SortFunc(out, func(a, b Machine) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Ref.Value, b.Ref.Value))
	})
	return out
}

// Machine finds the one with a name, or a path, or a UUID.
func (v *VCenter) Machine(id string) (Machine, bool) {
	all := v.Machines()
	i := slices.IndexFunc(all, func(m Machine) bool { return m.Name == id || m.Path == id || m.UUID == id && id != "" })
	if i < 0 {
		return Machine{}, false
	}
	return all[i], true
}

// Edit changes properties of an object, and tells who waits for updates. Values are no
// pointers.
func (v *VCenter) Edit(ref types.ManagedObjectReference, changes ...types.PropertyChange) {
	if o := v.Registry().Get(ref); o != nil {
		v.Registry().AtomicUpdate(v.Context(), o, changes)
	}
}

// Report has the tools of a machine that is on tell addresses of its first card.
func (v *VCenter) Report(ref types.ManagedObjectReference, addresses ...string) {
	vm, ok := v.Registry().Get(ref).(*vcsim.VirtualMachine)
	if !ok {
		return
	}
	ctx := v.Context()
	v.Registry().WithLock(ctx, vm, func() {
		if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
			ctx.Update(vm, v.reported(vm, addresses))
		}
	})
}

func (v *VCenter) reported(vm *vcsim.VirtualMachine, addresses []string) []types.PropertyChange {
	m := v.read(vm)
	var nics []types.GuestNicInfo
	for i, mac := range m.MACs {
		n := types.GuestNicInfo{MacAddress: mac, Connected: true, DeviceConfigId: 4000 + int32(i)}
		if i == 0 {
			n.IpAddress = addresses
		}
		nics = append(nics, n)
	}
	first := ""
	if len(addresses) > 0 {
		first = addresses[0]
	}
	return []types.PropertyChange{
		{Name: "guest.net", Val: nics},
		{Name: "guest.ipAddress", Val: first},
		{Name: "guest.hostName", Val: m.Name},
		{Name: "guest.toolsRunningStatus", Val: string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)},
		{Name: "guest.toolsStatus", Val: types.VirtualMachineToolsStatusToolsOk},
		{Name: "guest.guestState", Val: string(types.VirtualMachineGuestStateRunning)},
		{Name: "summary.guest.ipAddress", Val: first},
	}
}

// noGuest is what a machine without a guest that runs reports.
func noGuest() []types.PropertyChange {
	return []types.PropertyChange{
		{Name: "guest.net", Val: []types.GuestNicInfo{}},
		{Name: "guest.ipAddress", Val: ""},
		{Name: "guest.hostName", Val: ""},
		{Name: "guest.toolsRunningStatus", Val: string(types.VirtualMachineToolsRunningStatusGuestToolsNotRunning)},
		{Name: "guest.toolsStatus", Val: types.VirtualMachineToolsStatusToolsNotRunning},
		{Name: "guest.guestState", Val: string(types.VirtualMachineGuestStateNotRunning)},
		{Name: "summary.guest.ipAddress", Val: ""},
	}
}

// powered is called when a machine is switched on or off, under its lock.
func (v *VCenter) powered(ctx *vcsim.Context, ref types.ManagedObjectReference, on bool) {
	vm, ok := v.Registry().Get(ref).(*vcsim.VirtualMachine)
	if !ok || vm.Config == nil {
		return
	}
	switch {
	case !on:
		ctx.Update(vm, noGuest())
	case v.opts.Guest != nil:
		if addresses := v.opts.Guest(v.read(vm)); addresses != nil {
			ctx.Update(vm, v.reported(vm, addresses))
		}
	}
	if v.opts.Power != nil {
		v.opts.Power(v.read(vm))
	}
}

// gone is called when a machine leaves the inventory, under its lock.
func (v *VCenter) gone(_ *vcsim.Context, ref types.ManagedObjectReference) {
	if vm, ok := v.Registry().Get(ref).(*vcsim.VirtualMachine); ok && v.opts.Power != nil {
		m := v.read(vm)
		m.On, m.Gone = false, true
		v.opts.Power(m)
	}
}

// entityName is the name of an object: some have a field of their own for it.
func entityName(e mo.Entity) string {
	if n := e.Entity().Name; n != "" {
		return n
	}
	switch o := e.(type) {
	case *mo.Network:
		return o.Name
	case *vcsim.DistributedVirtualPortgroup:
		return o.Name
	case *vcsim.DistributedVirtualSwitch:
		return o.Name
	}
	return ""
}
