package azure

import (
	"cmp"
	"context"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// extensionsOf returns the extensions that Git names for a VM: one of a former template keeps those that it has.
func (v *view) extensionsOf(m *vm) []api.VMExtension {
	pool, ok := v.c.Pool(m.machine.Pool)
	if !ok || m.machine.Template != pool.Template || m.machine.State != fleet.MachineRunning || m.machine.Damaged != "" || v.c.Delete {
		return nil
	}
	spec, err := api.ReadMachine(pool.Infrastructure)
	if err != nil {
		return nil
	}
	return spec.VMExtensions
}

// lookAtExtensions finds the extensions of VMs that are to have some. Those of a VM that had all are not looked at again.
func (v *view) lookAtExtensions(ctx context.Context) {
	for _, m := range v.vms {
		if len(v.extensionsOf(m)) == 0 || v.p.extended.Has(m.Properties.ID) {
			continue
		}
		all, err := arm.List[arm.Resource[arm.Extension]](ctx, v.place.Client, m.ID+"/extensions", "$expand", "instanceView")
		switch {
		case arm.IsMissing(err): // the VM went meanwhile
			continue
		case err != nil: // it holds up nothing else
			m.unread = err
		}
		m.extensions = make(map[string]*arm.Resource[arm.Extension])
		for i := range all {
			m.extensions[strings.ToLower(all[i].Name)] = &all[i]
		}
	}
}

// extend decides about the extensions of VMs. No machine waits for them. One that is there is not changed, as with Cluster API.
func (v *view) extend(d *steps.Decision) {
	for _, m := range v.vms {
		if m.unread != nil {
			d.Faults = append(d.Faults, arm.WrapLook("find the extensions of VM "+m.Name, m.unread))
			continue
		}
		if m.extensions == nil {
			continue
		}
		complete := true
		for _, e := range v.extensionsOf(m) {
			what, is := "extension "+e.Name+" of VM "+m.Name, m.extensions[strings.ToLower(e.Name)]
			complete = complete && is != nil && is.Properties.Provisioning == succeeded
			switch {
			case is == nil:
				d.Add(steps.Step{What: "install " + what, Upkeep: true, Do: func(ctx context.Context) error { return v.install(ctx, m, e) }})
			case is.Properties.Provisioning == failed || is.Properties.Provisioning == canceled:
				code, text := is.Properties.View.Failure()
				d.Faults = append(d.Faults, fleet.Errorf(fleet.Conflict, "install "+what, "%s (change it in Git, so that the machine is replaced, or delete the extension in Azure, and it is installed again)", cmp.Or(strings.Trim(code+": "+text, ": "), is.Properties.Provisioning)))
			case is.Properties.Provisioning != succeeded:
				d.Add(steps.Step{What: what + " is being installed", Blocked: true, Upkeep: true})
			}
		}
		if complete {
			v.p.extended.Note(m.Properties.ID, true)
		}
	}
}

// install requests an extension of a VM. Azure does not return its protected settings, and neither an error nor a log has them.
// Source: Azure REST API, Virtual Machine Extensions, Create Or Update, and CAPZ, azure/services/vmextensions/spec.go.
func (v *view) install(ctx context.Context, m *vm, e api.VMExtension) error {
	p := map[string]any{"publisher": e.Publisher, "type": e.Name, "typeHandlerVersion": e.Version}
	if len(e.Settings) > 0 {
		p["settings"] = e.Settings
	}
	if len(e.ProtectedSettings) > 0 {
		p["protectedSettings"] = e.ProtectedSettings
	}
	v.p.o.Log.InfoContext(ctx, "installing an extension", "vm", m.ID, "extension", e.Name)
	err := v.place.Put(ctx, m.ID+"/extensions/"+e.Name, map[string]any{"location": v.spec.Location, "properties": p}, arm.Absent())
	if err == nil || arm.IsTaken(err) { // it may not be listed yet
		m.extensions[strings.ToLower(e.Name)] = &arm.Resource[arm.Extension]{Name: e.Name, Properties: arm.Extension{State: arm.State{Provisioning: made}}}
		return nil
	}
	return arm.Named(err)
}

// withExtensions reports whether machines of a cluster have extensions.
func withExtensions(_ *view, m *api.AzureMachineSpec) bool { return len(m.VMExtensions) > 0 }
