package vspheretest

import (
	"math"
	"net/http"
	"sync"

	vcsim "github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// vcenters finds the VCenter of a registry, for objects that vcsim makes by reflection.
var vcenters sync.Map

// wrap puts this package before vcsim's own methods.
func (v *VCenter) wrap() {
	m := v.model.Map()
	vcenters.Store(m, v)
	content := m.Get(types.ManagedObjectReference{Type: "ServiceInstance", Value: "ServiceInstance"}).(*vcsim.ServiceInstance).Content
	c := &collector{}
	c.Self = content.PropertyCollector
	m.Put(c)
	m.Handler = v.handle
	w := &watcher{v: v}
	w.Self = types.ManagedObjectReference{Type: "Watcher", Value: "watcher"}
	m.AddHandler(w)
}

// handle is asked for the object that carries out a call. A fault is answered in its place.
func (v *VCenter) handle(ctx *vcsim.Context, method *vcsim.Method) (mo.Reference, types.BaseMethodFault) {
	if ctx.Session == nil {
		return nil, nil
	}
	if method.Name == "Logout" {
		v.forgets(ctx.Session.Key)
		return nil, nil
	}
	v.knows(ctx.Session)
	if fault := v.forbids(ctx.Session.UserName, method); fault != nil {
		return nil, fault
	}
	var instead mo.Reference
	switch o := ctx.Map.Get(method.This).(type) {
	case *vcsim.VirtualMachine:
		instead = &machine{VirtualMachine: o, v: v, user: ctx.Session.UserName}
	case *vcsim.AuthorizationManager:
		instead = &authorization{AuthorizationManager: o, v: v}
	case *vcsim.SearchIndex:
		instead = &search{SearchIndex: o, v: v}
	}
	if instead == nil || !overridden[method.Name] {
		return nil, nil
	}
	// vcsim prefers what the session has of that reference, and falls back to the
	// registry: it is to find nothing.
	this := method.This
	ctx.Caller, method.This = &this, types.ManagedObjectReference{Type: "Overridden", Value: this.Value}
	return instead, nil
}

// overridden are the methods that machine, authorization and search have instead of vcsim.
var overridden = map[string]bool{
	"CloneVM_Task": true, "ReconfigVM_Task": true, "PowerOnVM_Task": true, "PowerOffVM_Task": true, "UpgradeVM_Task": true, "Destroy_Task": true,
	"ShutdownGuest": true, "HasPrivilegeOnEntities": true, "HasUserPrivilegeOnEntities": true, "FetchUserPrivilegeOnEntities": true,
	"FindAllByUuid": true,
}

// A collector is vcsim's PropertyCollector. Each session has one.
type collector struct{ vcsim.PropertyCollector }

// RetrievePropertiesEx hides what a user may not see.
func (c *collector) RetrievePropertiesEx(ctx *vcsim.Context, r *types.RetrievePropertiesEx) soap.HasFault {
	res := c.PropertyCollector.RetrievePropertiesEx(ctx, r)
	if v := of(ctx); ctx.Session != nil {
		v.hide(ctx.Session.UserName, res)
	}
	return res
}

// ContinueRetrievePropertiesEx hides the same of later pages.
func (c *collector) ContinueRetrievePropertiesEx(ctx *vcsim.Context, r *types.ContinueRetrievePropertiesEx) soap.HasFault {
	res := c.PropertyCollector.ContinueRetrievePropertiesEx(ctx, r)
	if v := of(ctx); ctx.Session != nil {
		v.hide(ctx.Session.UserName, res)
	}
	return res
}

// CreatePropertyCollector makes one of this kind.
func (c *collector) CreatePropertyCollector(ctx *vcsim.Context, _ *types.CreatePropertyCollector) soap.HasFault {
	made := &collector{}
	made.Self.Type = "PropertyCollector"
	return &methods.CreatePropertyCollectorBody{Res: &types.CreatePropertyCollectorResponse{Returnval: ctx.Session.Put(made).Reference()}}
}

// WaitForUpdatesEx ends with its session: vcsim's goes on for ever. What cancels it may come
// before it waits, so it looks again each second.
func (c *collector) WaitForUpdatesEx(ctx *vcsim.Context, r *types.WaitForUpdatesEx) soap.HasFault {
	v, left := of(ctx), int32(math.MaxInt32)
	var options types.WaitOptions
	if r.Options != nil {
		options = *r.Options
	}
	if options.MaxWaitSeconds != nil {
		left = *options.MaxWaitSeconds
	}
	for {
		if !v.waiting(ctx.Session.Key, &c.PropertyCollector) {
			return vcsimFault(&types.NotAuthenticated{})
		}
		chunk := options
		chunk.MaxWaitSeconds = new(min(left, 1))
		res := c.PropertyCollector.WaitForUpdatesEx(ctx, &types.WaitForUpdatesEx{This: r.This, Version: r.Version, Options: &chunk})
		body, ok := res.(*methods.WaitForUpdatesExBody)
		if left -= 1; !ok || body.Fault_ != nil || body.Res.Returnval != nil || left <= 0 {
			return res
		}
	}
}

func of(ctx *vcsim.Context) *VCenter {
	v, ok := vcenters.Load(ctx.Map)
	if !ok { // it ended while this was answered
		panic(http.ErrAbortHandler)
	}
	return v.(*VCenter)
}

// faultBody is an answer that is a fault.
type faultBody struct{ fault *soap.Fault }

// Fault implements soap.HasFault.
func (f *faultBody) Fault() *soap.Fault { return f.fault }

func vcsimFault(f types.BaseMethodFault) soap.HasFault { return &faultBody{vcsim.Fault(Words(f), f)} }

// A watcher sees all changes of the registry, under the lock of what changes.
type watcher struct {
	mo.Task // vcsim wants a managed object
	v       *VCenter
}

// PutObject gives tasks the names that vCenter has for them.
func (w *watcher) PutObject(ctx *vcsim.Context, o mo.Reference) {
	t, ok := o.(*vcsim.Task)
	if !ok {
		return
	}
	ctx.WithLock(t, func() {
		if id, ok := descriptions[t.Info.DescriptionId]; ok {
			t.Info.DescriptionId = id
		}
		if e, ok := ctx.Map.Get(*t.Info.Entity).(mo.Entity); ok && e.Entity().Name != "" {
			t.Info.EntityName = e.Entity().Name
		}
	})
}

// UpdateObject tells who waits for tasks, and guests of power.
func (w *watcher) UpdateObject(ctx *vcsim.Context, o mo.Reference, changes []types.PropertyChange) {
	for _, c := range changes {
		switch {
		case c.Name == "info.state" && (c.Val == types.TaskInfoStateSuccess || c.Val == types.TaskInfoStateError):
			w.v.taskDone(o.Reference())
		case c.Name == "runtime.powerState" && o.Reference().Type == "VirtualMachine":
			w.v.powered(ctx, o.Reference(), c.Val == types.VirtualMachinePowerStatePoweredOn)
		}
	}
}

// RemoveObject tells guests that their machine is gone.
func (w *watcher) RemoveObject(ctx *vcsim.Context, ref types.ManagedObjectReference) {
	if ref.Type == "VirtualMachine" {
		w.v.gone(ctx, ref)
	}
}

// descriptions are the ids of tasks in vCenter's catalogue, by those of vcsim.
var descriptions = map[string]string{
	"VirtualMachine.cloneVm": "VirtualMachine.clone", "VirtualMachine.reconfigVm": "VirtualMachine.reconfigure",
	"VirtualMachine.upgradeVm": "VirtualMachine.upgradeVirtualHardware", "VirtualMachine.relocateVm": "VirtualMachine.relocate",
	"Folder.createVm": "Folder.createVm",
}
