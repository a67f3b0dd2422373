package vspheretest

import (
	"slices"

	vcsim "github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// SetHosts has vCenter lose the hosts of a cluster, or one host, by its path, with all
// machines that are on them, or find them again. The machines go on.
func (v *VCenter) SetHosts(path string, connected bool) {
	ref := v.Ref(path)
	hosts := []types.ManagedObjectReference{ref}
	if c, ok := v.Registry().Get(ref).(*vcsim.ClusterComputeResource); ok {
		hosts = c.Host
	}
	state, machines := types.HostSystemConnectionStateNotResponding, types.VirtualMachineConnectionStateDisconnected
	if connected {
		state, machines = types.HostSystemConnectionStateConnected, types.VirtualMachineConnectionStateConnected
	}
	for _, h := range hosts {
		v.Edit(h, types.PropertyChange{Name: "runtime.connectionState", Val: state}, types.PropertyChange{Name: "summary.runtime.connectionState", Val: state})
		for _, vm := range v.on(h) {
			v.SetConnection(vm, machines)
		}
	}
}

// Crash has a host, by its path, lose its power, and its machines with it: vCenter does not
// reach them, and goes on telling what it saw last. [Options].Power is called with their power off.
func (v *VCenter) Crash(path string) {
	v.SetHosts(path, false)
	for _, ref := range v.on(v.Ref(path)) {
		vm := v.Registry().Get(ref).(*vcsim.VirtualMachine)
		v.Registry().WithLock(v.Context(), vm, func() {
			if m := v.read(vm); m.On && v.opts.Power != nil {
				m.On = false
				v.opts.Power(m)
			}
		})
	}
}

// Restart has HA restart the machines of a host that crashed, by its path, which were on, on
// other hosts of their cluster. Those that no other host can run stay.
func (v *VCenter) Restart(path string) {
	for _, ref := range v.on(v.Ref(path)) {
		vm := v.Registry().Get(ref).(*vcsim.VirtualMachine)
		var was types.VirtualMachinePowerState
		ctx, moved := v.Context(), false
		v.Registry().WithLock(ctx, vm, func() {
			if was = vm.Runtime.PowerState; vm.ResourcePool == nil {
				return
			}
			if to := v.host(*vm.ResourcePool, vm.Datastore, v.apart(vm)...); to != nil {
				v.move(ctx, vm, *to)
				ctx.Update(vm, powerState(types.VirtualMachinePowerStatePoweredOff))
				moved = true
			}
		})
		if !moved {
			continue
		}
		v.SetConnection(ref, types.VirtualMachineConnectionStateConnected)
		if was == types.VirtualMachinePowerStatePoweredOn {
			v.Power(ref, true)
		}
	}
}

// Boot has a host that crashed, by its path, back. Machines that are still on it are off.
func (v *VCenter) Boot(path string) {
	for _, ref := range v.on(v.Ref(path)) {
		v.Edit(ref, powerState(types.VirtualMachinePowerStatePoweredOff)...)
	}
	v.SetHosts(path, true)
}

// SetMaintenance has a host take machines no longer, or again. Those that run on it move
// to others, as by DRS.
func (v *VCenter) SetMaintenance(path string, in bool) {
	ref := v.Ref(path)
	v.Edit(ref, types.PropertyChange{Name: "runtime.inMaintenanceMode", Val: in}, types.PropertyChange{Name: "summary.runtime.inMaintenanceMode", Val: in})
	if !in {
		return
	}
	for _, vm := range v.vms() {
		ctx := v.Context()
		v.Registry().WithLock(ctx, vm, func() {
			if vm.Runtime.Host != nil && *vm.Runtime.Host == ref && vm.ResourcePool != nil {
				if to := v.host(*vm.ResourcePool, vm.Datastore, v.apart(vm)...); to != nil {
					v.move(ctx, vm, *to)
				}
			}
		})
	}
}

// on are the machines of a host.
func (v *VCenter) on(host types.ManagedObjectReference) (out []types.ManagedObjectReference) {
	h := v.Registry().Get(host).(*vcsim.HostSystem)
	v.Registry().WithLock(v.Context(), h, func() { out = slices.Clone(h.Vm) })
	return out
}

// has reports whether a host has one of machines.
func (v *VCenter) has(host types.ManagedObjectReference, machines []types.ManagedObjectReference) bool {
	return vcsim.FindReference(v.on(host), machines...) != nil
}

// apart are the machines that rules of DRS keep on other hosts than that of vm.
func (v *VCenter) apart(vm *vcsim.VirtualMachine) (out []types.ManagedObjectReference) {
	for e := v.entity(*vm.ResourcePool); e != nil; e = v.parent(e) {
		c, ok := e.(*vcsim.ClusterComputeResource)
		if !ok {
			continue
		}
		v.Registry().WithLock(v.Context(), c, func() {
			config, _ := c.ConfigurationEx.(*types.ClusterConfigInfoEx)
			if config == nil {
				return
			}
			for _, rule := range config.Rule {
				r, ok := rule.(*types.ClusterAntiAffinityRuleSpec)
				if ok && isTrue(r.Enabled) && vcsim.FindReference(r.Vm, vm.Self) != nil {
					out = append(out, r.Vm...)
				}
			}
		})
		break
	}
	return slices.DeleteFunc(out, func(other types.ManagedObjectReference) bool { return other == vm.Self })
}

// move has a machine on another host. Its lock is held.
func (v *VCenter) move(ctx *vcsim.Context, vm *vcsim.VirtualMachine, to types.ManagedObjectReference) {
	from := vm.Runtime.Host
	ctx.Update(vm, []types.PropertyChange{{Name: "runtime.host", Val: &to}, {Name: "summary.runtime.host", Val: &to}})
	if from != nil {
		h := v.Registry().Get(*from).(*vcsim.HostSystem)
		ctx.WithLock(h, func() { vcsim.RemoveReference(&h.Vm, vm.Self) })
	}
	h := v.Registry().Get(to).(*vcsim.HostSystem)
	ctx.WithLock(h, func() { h.Vm = append(h.Vm, vm.Self) })
}

func powerState(s types.VirtualMachinePowerState) []types.PropertyChange {
	return []types.PropertyChange{{Name: "runtime.powerState", Val: s}, {Name: "summary.runtime.powerState", Val: s}}
}
