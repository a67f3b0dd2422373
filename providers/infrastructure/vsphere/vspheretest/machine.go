package vspheretest

import (
	vcsim "github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// A machine is a VM of vcsim that does what a VM of vCenter does. It is made for one call,
// under the lock of the VM.
type machine struct {
	*vcsim.VirtualMachine
	v    *VCenter
	user string
}

// through carries out a task of vcsim, or what faults have for it, and says which task it is.
func (m *machine) through(ctx *vcsim.Context, method string, check func() types.BaseMethodFault, pass func(*vcsim.Context) soap.HasFault) (types.ManagedObjectReference, *soap.Fault) {
	f := m.v.fate(method, m.Name, m.user)
	wrong := m.unusable()
	if wrong == nil && check != nil {
		wrong = check()
	}
	if f == nil && wrong == nil {
		res := pass(ctx)
		if res.Fault() != nil {
			return types.ManagedObjectReference{}, res.Fault()
		}
		return returned(res), nil
	}
	return m.v.start(m.VirtualMachine, method, m.user, f, func(own *vcsim.Context) (types.AnyType, *failure) {
		if f != nil && f.Hold && !m.v.waitsFor(f) {
			return nil, fails(&types.RequestCanceled{})
		}
		switch {
		case f != nil && f.Fault != nil:
			return nil, m.v.failure(f)
		case wrong != nil:
			return nil, fails(wrong)
		}
		var res soap.HasFault
		m.v.Registry().WithLock(own, m.VirtualMachine, func() { res = pass(own) })
		if res.Fault() != nil {
			return nil, fails(res.Fault().VimFault().(types.BaseMethodFault))
		}
		return m.v.finish(returned(res))
	}), nil
}

// failure is how a task ends for which there is a fault.
func (v *VCenter) failure(f *fate) *failure {
	if !f.Hold && !f.Queue {
		v.meets(f)
	}
	if f.Message != "" {
		return &failure{f.Fault, f.Message}
	}
	return fails(f.Fault)
}

// unusable is why nothing can be done to the machine.
func (m *machine) unusable() types.BaseMethodFault {
	if m.Config == nil { // its clone runs
		return &types.TaskInProgress{}
	}
	switch m.Runtime.ConnectionState {
	case types.VirtualMachineConnectionStateDisconnected:
		return &types.HostNotConnected{}
	case types.VirtualMachineConnectionStateInaccessible, types.VirtualMachineConnectionStateInvalid, types.VirtualMachineConnectionStateOrphaned:
		return &types.InvalidState{}
	}
	return nil
}

// returned is the task that an answer names.
func returned(res soap.HasFault) types.ManagedObjectReference {
	switch r := res.(type) {
	case *methods.ReconfigVM_TaskBody:
		return r.Res.Returnval
	case *methods.PowerOnVM_TaskBody:
		return r.Res.Returnval
	case *methods.PowerOffVM_TaskBody:
		return r.Res.Returnval
	case *methods.Destroy_TaskBody:
		return r.Res.Returnval
	case *methods.UpgradeVM_TaskBody:
		return r.Res.Returnval
	case *methods.CreateVM_TaskBody:
		return r.Res.Returnval
	case *methods.CloneVM_TaskBody:
		return r.Res.Returnval
	}
	panic("vspheretest: no task")
}

// ReconfigVMTask gives new cards addresses as vCenter does, and lets no disk shrink.
func (m *machine) ReconfigVMTask(ctx *vcsim.Context, r *types.ReconfigVM_Task) soap.HasFault {
	m.v.address(r.Spec.DeviceChange)
	ref, fault := m.through(ctx, "ReconfigVM_Task", nil, func(c *vcsim.Context) soap.HasFault { return m.VirtualMachine.ReconfigVMTask(c, r) })
	if fault != nil {
		return &methods.ReconfigVM_TaskBody{Fault_: fault}
	}
	return &methods.ReconfigVM_TaskBody{Res: &types.ReconfigVM_TaskResponse{Returnval: ref}}
}

// PowerOnVMTask takes a host that can run it: where its own cannot, another of the cluster,
// as DRS does.
func (m *machine) PowerOnVMTask(ctx *vcsim.Context, r *types.PowerOnVM_Task) soap.HasFault {
	ref, fault := m.through(ctx, "PowerOnVM_Task", func() types.BaseMethodFault { return m.place(ctx) },
		func(c *vcsim.Context) soap.HasFault { return m.VirtualMachine.PowerOnVMTask(c, r) })
	if fault != nil {
		return &methods.PowerOnVM_TaskBody{Fault_: fault}
	}
	return &methods.PowerOnVM_TaskBody{Res: &types.PowerOnVM_TaskResponse{Returnval: ref}}
}

// place moves the machine to a host that can run it, and that has none of those which rules of
// DRS keep apart from it, where there is one.
func (m *machine) place(ctx *vcsim.Context) types.BaseMethodFault {
	if m.ResourcePool == nil || m.Runtime.Host == nil {
		return nil
	}
	others := m.v.apart(m.VirtualMachine)
	if m.v.runs(*m.Runtime.Host, m.Datastore) && !m.v.has(*m.Runtime.Host, others) {
		return nil
	}
	host := m.v.host(*m.ResourcePool, m.Datastore, others...)
	if host == nil {
		return &types.NoCompatibleHost{}
	}
	m.v.move(ctx, m.VirtualMachine, *host)
	return nil
}

// PowerOffVMTask can be held, and fail.
func (m *machine) PowerOffVMTask(ctx *vcsim.Context, r *types.PowerOffVM_Task) soap.HasFault {
	ref, fault := m.through(ctx, "PowerOffVM_Task", nil, func(c *vcsim.Context) soap.HasFault { return m.VirtualMachine.PowerOffVMTask(c, r) })
	if fault != nil {
		return &methods.PowerOffVM_TaskBody{Fault_: fault}
	}
	return &methods.PowerOffVM_TaskBody{Res: &types.PowerOffVM_TaskResponse{Returnval: ref}}
}

// UpgradeVMTask can be held, and fail.
func (m *machine) UpgradeVMTask(ctx *vcsim.Context, r *types.UpgradeVM_Task) soap.HasFault {
	ref, fault := m.through(ctx, "UpgradeVM_Task", nil, func(c *vcsim.Context) soap.HasFault { return m.VirtualMachine.UpgradeVMTask(c, r) })
	if fault != nil {
		return &methods.UpgradeVM_TaskBody{Fault_: fault}
	}
	return &methods.UpgradeVM_TaskBody{Res: &types.UpgradeVM_TaskResponse{Returnval: ref}}
}

// DestroyTask can be held, and fail.
func (m *machine) DestroyTask(ctx *vcsim.Context, r *types.Destroy_Task) soap.HasFault {
	ref, fault := m.through(ctx, "Destroy_Task", nil, func(c *vcsim.Context) soap.HasFault { return m.VirtualMachine.DestroyTask(c, r) })
	if fault != nil {
		return &methods.Destroy_TaskBody{Fault_: fault}
	}
	return &methods.Destroy_TaskBody{Res: &types.Destroy_TaskResponse{Returnval: ref}}
}

// ShutdownGuest asks the tools, which must run. The guest goes down when it likes: a fault
// can hold it, and have it never.
func (m *machine) ShutdownGuest(ctx *vcsim.Context, _ *types.ShutdownGuest) soap.HasFault {
	body := &methods.ShutdownGuestBody{Res: new(types.ShutdownGuestResponse)}
	refuse := func(f types.BaseMethodFault) soap.HasFault {
		return &methods.ShutdownGuestBody{Fault_: vcsim.Fault(Words(f), f)}
	}
	switch {
	case m.unusable() != nil:
		return refuse(m.unusable())
	case m.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn:
		return refuse(&types.InvalidPowerState{RequestedState: types.VirtualMachinePowerStatePoweredOn, ExistingState: m.Runtime.PowerState})
	case m.Guest == nil || m.Guest.ToolsRunningStatus != string(types.VirtualMachineToolsRunningStatusGuestToolsRunning):
		return refuse(&types.ToolsUnavailable{})
	}
	f := m.v.fate("ShutdownGuest", m.Name, m.user)
	m.v.running.Go(func() {
		if f != nil && (!m.v.waitsFor(f) || f.Fault != nil) {
			return
		}
		own := m.v.Context()
		m.v.Registry().WithLock(own, m.VirtualMachine, func() {
			if m.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
				own.Update(m.VirtualMachine, powerState(types.VirtualMachinePowerStatePoweredOff))
			}
		})
	})
	return body
}

// runs reports whether a host can run a machine that has its files on datastores.
func (v *VCenter) runs(ref types.ManagedObjectReference, datastores []types.ManagedObjectReference) bool {
	h, ok := v.Registry().Get(ref).(*vcsim.HostSystem)
	if !ok {
		return false
	}
	v.Registry().WithLock(v.Context(), h, func() {
		ok = h.Runtime.ConnectionState == types.HostSystemConnectionStateConnected && !h.Runtime.InMaintenanceMode
		for _, d := range datastores {
			ok = ok && vcsim.FindReference(h.Datastore, d) != nil
		}
	})
	return ok
}

// host is the one of a resource pool's cluster that can run a machine and has the fewest, and
// none of others, where there is such a one; nil: there is none.
func (v *VCenter) host(pool types.ManagedObjectReference, datastores []types.ManagedObjectReference, others ...types.ManagedObjectReference) (best *types.ManagedObjectReference) {
	var hosts []types.ManagedObjectReference
	for e := v.entity(pool); e != nil; e = v.parent(e) {
		switch c := e.(type) {
		case *vcsim.ClusterComputeResource:
			hosts = c.Host
		case *mo.ComputeResource:
			hosts = c.Host
		}
		if hosts != nil {
			break
		}
	}
	fewest, crowded := -1, false
	for _, h := range hosts {
		if !v.runs(h, datastores) {
			continue
		}
		n, has := v.load(h), v.has(h, others)
		if best == nil || crowded && !has || crowded == has && n < fewest {
			best, fewest, crowded = &h, n, has
		}
	}
	return best
}

// load is how many machines a host has.
func (v *VCenter) load(ref types.ManagedObjectReference) (n int) {
	h := v.Registry().Get(ref).(*vcsim.HostSystem)
	v.Registry().WithLock(v.Context(), h, func() { n = len(h.Vm) })
	return n
}
