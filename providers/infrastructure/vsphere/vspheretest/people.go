package vspheretest

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/object"
	vcsim "github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// SetExtraConfig changes options of a machine; "" takes one away.
func (v *VCenter) SetExtraConfig(ref types.ManagedObjectReference, options map[string]string) {
	var spec types.VirtualMachineConfigSpec
	for k, value := range options {
		spec.ExtraConfig = append(spec.ExtraConfig, &types.OptionValue{Key: k, Value: value})
	}
	v.do(ref, func(ctx context.Context, vm *object.VirtualMachine) (*object.Task, error) {
		return vm.Reconfigure(ctx, spec)
	})
}

// Power switches a machine on or off.
func (v *VCenter) Power(ref types.ManagedObjectReference, on bool) {
	v.do(ref, func(ctx context.Context, vm *object.VirtualMachine) (*object.Task, error) {
		if on {
			return vm.PowerOn(ctx)
		}
		return vm.PowerOff(ctx)
	})
}

// Destroy switches a machine off and removes it, as people would.
func (v *VCenter) Destroy(ref types.ManagedObjectReference) {
	if m := v.Registry().Get(ref).(*vcsim.VirtualMachine); m.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
		v.Power(ref, false)
	}
	v.do(ref, func(ctx context.Context, vm *object.VirtualMachine) (*object.Task, error) { return vm.Destroy(ctx) })
}

// Copy clones a machine as people do, with all that it has.
func (v *VCenter) Copy(ref types.ManagedObjectReference, name string) Machine {
	vm := v.Registry().Get(ref).(*vcsim.VirtualMachine)
	return v.clone(ref, *vm.Parent, *vm.ResourcePool, name)
}

// AddMachine creates a VM without an owner, of the first template of its data center.
func (v *VCenter) AddMachine(folder, name string) Machine {
	dc := "/" + splitPath(folder)[0]
	template := v.Ref(dc + "/vm/templates/" + v.opts.Templates[0].Name)
	return v.clone(template, v.Ref(folder), v.Ref(dc+"/host/"+splitPath(folder)[0]+"_C0/Resources"), name)
}

func (v *VCenter) clone(ref, folder, pool types.ManagedObjectReference, name string) Machine {
	v.do(ref, func(ctx context.Context, vm *object.VirtualMachine) (*object.Task, error) {
		return vm.Clone(ctx, object.NewFolder(v.Local(), folder), name, types.VirtualMachineCloneSpec{
			Location: types.VirtualMachineRelocateSpec{Pool: &pool},
		})
	})
	m, _ := v.Machine(v.path(v.entity(folder)) + "/" + name)
	return m
}

// do carries out a task of people: faults are for others.
func (v *VCenter) do(ref types.ManagedObjectReference, f func(context.Context, *object.VirtualMachine) (*object.Task, error)) {
	ctx := context.Background()
	task, err := f(ctx, object.NewVirtualMachine(v.Local(), ref))
	if err == nil {
		err = task.Wait(ctx)
	}
	if err != nil {
		panic(fmt.Sprintf("vspheretest: %s: %v", ref, err))
	}
}

// destroy removes a machine that is off.
func (v *VCenter) destroy(ctx *vcsim.Context, vm *vcsim.VirtualMachine) (types.AnyType, *failure) {
	var task types.ManagedObjectReference
	v.Registry().WithLock(ctx, vm, func() { task = returned(vm.DestroyTask(ctx, &types.Destroy_Task{This: vm.Self})) })
	return v.finish(task)
}

// SetConnection has vCenter lose a machine, or find it again: disconnected, orphaned,
// inaccessible, invalid, connected.
func (v *VCenter) SetConnection(ref types.ManagedObjectReference, state types.VirtualMachineConnectionState) {
	v.Edit(ref, types.PropertyChange{Name: "runtime.connectionState", Val: state}, types.PropertyChange{Name: "summary.runtime.connectionState", Val: state})
}

// SetFull has a datastore, by its path, take nothing any more, or again.
func (v *VCenter) SetFull(path string, full bool) {
	ref := v.Ref(path)
	v.mu.Lock()
	v.full[ref] = full
	v.mu.Unlock()
	var free int64
	if d := v.Registry().Get(ref).(*vcsim.Datastore); !full {
		free = d.Summary.Capacity
	}
	v.Edit(ref, types.PropertyChange{Name: "summary.freeSpace", Val: free})
}
