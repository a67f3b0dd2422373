package vspheretest

import (
	"slices"
	"strings"

	vcsim "github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// A Grant is a permission of a user. That of the nearest object above applies, as in
// vCenter: one at a folder takes the place of one at its data center.
type Grant struct {
	Path       string   // of the object: "/", "/DC0/vm/fleet"
	Privileges []string // by their ids; System.Anonymous, System.View and System.Read come with each
	Alone      bool     // objects below do not inherit it
	None       bool     // no access, as the role of that name
}

// system are the privileges that every role has but that of no access.
var system = []string{"System.Anonymous", "System.Read", "System.View"}

// privileges are those of a user on an object.
func (v *VCenter) privileges(name string, ref types.ManagedObjectReference) (all bool, ids []string) {
	v.mu.Lock()
	u := v.users[name]
	v.mu.Unlock()
	if u == nil || u.admin {
		return true, nil // vcsim's own sessions have no user here
	}
	for at, first := v.entity(ref), true; at != nil; at, first = v.parent(at), false {
		path := v.path(at)
		for _, g := range u.grants {
			if g.Path == path && (first || !g.Alone) {
				if g.None {
					return false, nil
				}
				return false, append(slices.Clone(system), g.Privileges...)
			}
		}
	}
	return false, nil
}

// May reports whether a user has a privilege on an object.
func (v *VCenter) May(name string, ref types.ManagedObjectReference, privilege string) bool {
	all, ids := v.privileges(name, ref)
	return all || slices.Contains(ids, privilege)
}

func (v *VCenter) entity(ref types.ManagedObjectReference) mo.Entity {
	e, _ := v.Registry().Get(ref).(mo.Entity)
	return e
}

func (v *VCenter) parent(e mo.Entity) mo.Entity {
	if p := e.Entity().Parent; p != nil {
		return v.entity(*p)
	}
	return nil
}

// path is where an object is in the inventory, without the root folder.
func (v *VCenter) path(e mo.Entity) string {
	var names []string
	for p := e; p != nil; p = v.parent(p) {
		if p.Entity().Parent != nil {
			names = append([]string{entityName(p)}, names...)
		}
	}
	return "/" + strings.Join(names, "/")
}

// A need is a privilege that a call takes on an object.
type need struct {
	on        types.ManagedObjectReference
	privilege string
}

// needs are what a call takes, by vSphere's API reference ("Required Privileges").
func (v *VCenter) needs(m *vcsim.Method) []need {
	this := func(ids ...string) (out []need) {
		for _, id := range ids {
			out = append(out, need{m.This, id})
		}
		return out
	}
	switch r := m.Body.(type) {
	case *types.CloneVM_Task:
		source := "VirtualMachine.Provisioning.Clone"
		if vm, ok := v.Registry().Get(m.This).(*vcsim.VirtualMachine); ok && vm.Config != nil && vm.Config.Template {
			source = "VirtualMachine.Provisioning.DeployTemplate"
		}
		out := append(this(source), need{r.Folder, "VirtualMachine.Inventory.CreateFromExisting"})
		if p := r.Spec.Location.Pool; p != nil {
			out = append(out, need{*p, "Resource.AssignVMToPool"})
		}
		if d := r.Spec.Location.Datastore; d != nil {
			out = append(out, need{*d, "Datastore.AllocateSpace"})
		}
		if r.Spec.Config != nil {
			for _, n := range v.networks(r.Spec.Config.DeviceChange) {
				out = append(out, need{n, "Network.Assign"})
			}
			for _, id := range configPrivileges(r.Spec.Config) {
				out = append(out, need{r.Folder, id})
			}
		}
		return out
	case *types.ReconfigVM_Task:
		return this(configPrivileges(&r.Spec)...)
	case *types.PowerOnVM_Task:
		return this("VirtualMachine.Interact.PowerOn")
	case *types.PowerOffVM_Task, *types.ShutdownGuest:
		return this("VirtualMachine.Interact.PowerOff")
	case *types.ResetVM_Task, *types.RebootGuest:
		return this("VirtualMachine.Interact.Reset")
	case *types.Destroy_Task:
		if m.This.Type == "VirtualMachine" {
			return this("VirtualMachine.Inventory.Delete")
		}
	case *types.UpgradeVM_Task:
		return this("VirtualMachine.Config.UpgradeVirtualHardware")
	case *types.CreateSnapshot_Task:
		return this("VirtualMachine.State.CreateSnapshot")
	case *types.ReconfigureComputeResource_Task:
		return this("Host.Inventory.EditCluster")
	case *types.CreateFolder:
		return this("Folder.Create")
	case *types.TerminateSession:
		return []need{{v.root(), "Sessions.TerminateSession"}}
	}
	return nil
}

// configPrivileges are what parts of a VM's configuration take. The reference says it of
// changes of a VM; of a clone it says so of some, and all are asked of its folder here.
func configPrivileges(s *types.VirtualMachineConfigSpec) (out []string) {
	add := func(is bool, id string) {
		if is && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	add(len(s.ExtraConfig) > 0, "VirtualMachine.Config.AdvancedConfig")
	add(s.NumCPUs != 0 || s.NumCoresPerSocket != nil, "VirtualMachine.Config.CPUCount")
	add(s.MemoryMB != 0, "VirtualMachine.Config.Memory")
	add(s.Annotation != "", "VirtualMachine.Config.Annotation")
	add(s.Name != "", "VirtualMachine.Config.Rename")
	add(s.Flags != nil || s.NestedHVEnabled != nil || s.Uuid != "" || s.InstanceUuid != "", "VirtualMachine.Config.Settings")
	add(s.CpuAllocation != nil || s.MemoryAllocation != nil || s.MemoryReservationLockedToMax != nil, "VirtualMachine.Config.Resource")
	add(s.VAppConfigRemoved != nil, "VApp.ApplicationConfig")
	for _, c := range s.DeviceChange {
		d := c.GetVirtualDeviceConfigSpec()
		_, disk := d.Device.(*types.VirtualDisk)
		_, raw := d.Device.(*types.VirtualPCIPassthrough)
		switch {
		case raw:
			add(true, "VirtualMachine.Config.RawDevice")
		case disk && d.Operation == types.VirtualDeviceConfigSpecOperationAdd:
			add(true, "VirtualMachine.Config.AddNewDisk")
		case disk && d.Operation == types.VirtualDeviceConfigSpecOperationRemove:
			add(true, "VirtualMachine.Config.RemoveDisk")
		case disk:
			add(true, "VirtualMachine.Config.DiskExtend")
		case d.Operation == types.VirtualDeviceConfigSpecOperationEdit:
			add(true, "VirtualMachine.Config.EditDevice")
		default:
			add(true, "VirtualMachine.Config.AddRemoveDevice")
		}
	}
	return out
}

// networks are what cards of changes are connected to.
func (v *VCenter) networks(changes []types.BaseVirtualDeviceConfigSpec) (out []types.ManagedObjectReference) {
	for _, c := range changes {
		card, ok := c.GetVirtualDeviceConfigSpec().Device.(types.BaseVirtualEthernetCard)
		if !ok {
			continue
		}
		switch b := card.GetVirtualEthernetCard().Backing.(type) {
		case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
			out = append(out, types.ManagedObjectReference{Type: "DistributedVirtualPortgroup", Value: b.Port.PortgroupKey})
		case *types.VirtualEthernetCardNetworkBackingInfo:
			if b.Network != nil {
				out = append(out, *b.Network)
			}
		}
	}
	return out
}

// forbids is the fault of a call that a user may not make.
func (v *VCenter) forbids(name string, m *vcsim.Method) types.BaseMethodFault {
	for _, n := range v.needs(m) {
		if !v.May(name, n.on, n.privilege) {
			return &types.NoPermission{Object: &n.on, PrivilegeId: n.privilege}
		}
	}
	return nil
}

// hide takes out of an answer what a user may not see: objects in a traversal are left
// out without a word.
func (v *VCenter) hide(name string, res soap.HasFault) {
	v.mu.Lock()
	u := v.users[name]
	v.mu.Unlock()
	if u == nil || u.admin {
		return
	}
	keep := func(all []types.ObjectContent) []types.ObjectContent {
		return slices.DeleteFunc(all, func(o types.ObjectContent) bool {
			return v.entity(o.Obj) != nil && !v.May(name, o.Obj, "System.View")
		})
	}
	switch r := res.(type) {
	case *methods.RetrievePropertiesExBody:
		if r.Res != nil && r.Res.Returnval != nil {
			r.Res.Returnval.Objects = keep(r.Res.Returnval.Objects)
		}
	case *methods.ContinueRetrievePropertiesExBody:
		if r.Res != nil {
			r.Res.Returnval.Objects = keep(r.Res.Returnval.Objects)
		}
	}
}

// An authorization is vcsim's AuthorizationManager, which knows the grants.
type authorization struct {
	*vcsim.AuthorizationManager
	v *VCenter
}

// HasPrivilegeOnEntities answers for the user of the session that is named, which has to be there.
func (a *authorization) HasPrivilegeOnEntities(r *types.HasPrivilegeOnEntities) soap.HasFault {
	a.v.mu.Lock()
	name, ok := a.v.sessions[r.SessionId]
	a.v.mu.Unlock()
	if !ok {
		return vcsimFault(&types.InvalidArgument{InvalidProperty: "sessionId"})
	}
	return &methods.HasPrivilegeOnEntitiesBody{Res: &types.HasPrivilegeOnEntitiesResponse{
		Returnval: a.available(name, r.Entity, r.PrivId),
	}}
}

// HasUserPrivilegeOnEntities answers for a user.
func (a *authorization) HasUserPrivilegeOnEntities(r *types.HasUserPrivilegeOnEntities) soap.HasFault {
	return &methods.HasUserPrivilegeOnEntitiesBody{Res: &types.HasUserPrivilegeOnEntitiesResponse{
		Returnval: a.available(r.UserName, r.Entities, r.PrivId),
	}}
}

// FetchUserPrivilegeOnEntities lists what a user has.
func (a *authorization) FetchUserPrivilegeOnEntities(r *types.FetchUserPrivilegeOnEntities) soap.HasFault {
	out := new(types.FetchUserPrivilegeOnEntitiesResponse)
	for _, e := range r.Entities {
		all, ids := a.v.privileges(r.UserName, e)
		if all {
			return a.AuthorizationManager.FetchUserPrivilegeOnEntities(r)
		}
		out.Returnval = append(out.Returnval, types.UserPrivilegeResult{Entity: e, Privileges: ids})
	}
	return &methods.FetchUserPrivilegeOnEntitiesBody{Res: out}
}

func (a *authorization) available(name string, entities []types.ManagedObjectReference, ids []string) (out []types.EntityPrivilege) {
	for _, e := range entities {
		p := types.EntityPrivilege{Entity: e}
		for _, id := range ids {
			p.PrivAvailability = append(p.PrivAvailability, types.PrivilegeAvailability{PrivId: id, IsGranted: a.v.May(name, e, id)})
		}
		out = append(out, p)
	}
	return out
}
