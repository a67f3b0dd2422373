package vcenter

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
)

// A Template is what VMs are cloned from: a template or a VM.
type Template struct {
	Ref          Ref
	Path         string
	Template     bool // false: it is a VM, which may run
	InstanceUUID string
	Hardware     string // version: "vmx-19"
	Firmware     string // "bios" or "efi"
	Guest        string // id of the operating system: "ubuntu64Guest"
	VApp         bool   // it has properties of an OVF
	Devices      []types.BaseVirtualDevice
	Datastores   []Ref
	Snapshot     *Ref // the current one; nil: it has none
	snapshots    map[string][]Ref
}

// Named returns the snapshot called name, or nil.
func (t *Template) Named(name string) (*Ref, error) {
	switch all := t.snapshots[name]; len(all) {
	case 0:
		return nil, nil
	case 1:
		return &all[0], nil
	default:
		return nil, fleet.Errorf(fleet.Invalid, "find snapshot "+name+" of "+t.Path, "%d snapshots have that name (rename all but one)", len(all))
	}
}

var uuidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// Find returns the VM or template that query means: an instance UUID, a path, or, in dc, a
// path below its folder of VMs or a name. Nil is none, without an error where what may be it
// is not told.
func (l *Look) Find(dc *Entity, query string) (*VM, error) {
	op := "find template " + query + " in data center " + dc.Name
	under := dc.Path + "/vm"
	var found []*VM
	for i := range l.VMs {
		vm := &l.VMs[i]
		var is bool
		switch at := l.Path(vm); {
		case uuidForm.MatchString(query):
			is = strings.EqualFold(query, vm.InstanceUUID)
		case strings.HasPrefix(query, "/"):
			is = matches(query, at)
		case strings.Contains(query, "/"):
			is = matches(under+"/"+query, at)
		default:
			is = strings.HasPrefix(at, under+"/") && matches(query, vm.Name)
		}
		if is {
			found = append(found, vm)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, fleet.Errorf(fleet.NotFound, op, "it is not there, or the user may not see it (write its name, its path as %s/NAME, or its instance UUID)", under)
	}
	var paths []string
	for _, vm := range found {
		paths = append(paths, l.Path(vm))
	}
	slices.Sort(paths)
	return nil, fleet.Errorf(fleet.Invalid, op, "several are meant (write the path of one): %s", list(paths))
}

// Template finds the template to clone, see Look.Find, and reads its properties.
func (c *Client) Template(ctx context.Context, dc *Entity, query string) (*Template, error) {
	l, err := c.Look(ctx, snapshot.Owner{})
	if err != nil {
		return nil, err
	}
	vm, err := l.Find(dc, query)
	if err != nil {
		return nil, err
	}
	return c.TemplateOf(ctx, vm.Ref, l.Path(vm))
}

// TemplateOf reads what the VM or template at path is made of.
func (c *Client) TemplateOf(ctx context.Context, ref Ref, path string) (*Template, error) {
	op := "read template " + path
	var o mo.VirtualMachine
	if err := c.properties(ctx, ref, []string{
		"config.hardware.device", "config.template", "config.version", "config.firmware", "config.guestId", "config.instanceUuid",
		"config.vAppConfig", "datastore", "snapshot",
	}, &o); err != nil {
		return nil, WrapLook(op, err)
	}
	if o.Config == nil {
		return nil, fleet.Errorf(fleet.Unavailable, op, "vCenter does not tell its configuration: it cannot reach its files, or it is being made")
	}
	t := &Template{
		Ref: ref, Path: path, Template: o.Config.Template, InstanceUUID: strings.ToLower(o.Config.InstanceUuid), Hardware: o.Config.Version,
		Firmware: o.Config.Firmware, Guest: o.Config.GuestId, VApp: o.Config.VAppConfig != nil, Devices: o.Config.Hardware.Device,
		Datastores: o.Datastore, snapshots: make(map[string][]Ref),
	}
	if o.Snapshot != nil {
		t.Snapshot = o.Snapshot.CurrentSnapshot
		t.addSnapshots(o.Snapshot.RootSnapshotList)
	}
	return t, nil
}

func (t *Template) addSnapshots(trees []types.VirtualMachineSnapshotTree) {
	for _, s := range trees {
		t.snapshots[s.Name] = append(t.snapshots[s.Name], s.Snapshot)
		t.addSnapshots(s.ChildSnapshotList)
	}
}

// Details are what a look does not tell of a VM.
type Details struct {
	Devices  []types.BaseVirtualDevice
	Hardware string            // version: "vmx-19"
	VMX      string            // "[datastore1] name/name.vmx"
	Config   map[string]string // of the keys that were asked for: those that are there
}

// Details reads those of vm, with keys of its ExtraConfig.
func (c *Client) Details(ctx context.Context, vm Ref, keys ...string) (*Details, error) {
	op := "read the configuration of " + vm.Value
	paths := []string{"config.hardware.device", "config.version", "config.files.vmPathName"}
	for _, k := range keys {
		paths = append(paths, configPath(k))
	}
	objects, err := c.details(ctx, []Ref{vm}, paths)
	switch {
	case err != nil:
		return nil, WrapLook(op, err)
	case len(objects) == 0:
		return nil, fleet.Errorf(fleet.NotFound, op, "it is not there")
	}
	if _, err := missing(objects[0]); err != nil {
		return nil, WrapLook(op, err)
	}
	out := &Details{Config: make(map[string]string)}
	for _, p := range objects[0].PropSet {
		switch v := p.Val.(type) {
		case types.ArrayOfVirtualDevice:
			out.Devices = v.VirtualDevice
		case types.OptionValue:
			out.Config[v.Key] = fmt.Sprint(v.Value)
		case string:
			if p.Name == "config.version" {
				out.Hardware = v
			} else {
				out.VMX = v
			}
		}
	}
	if out.Hardware == "" {
		return nil, fleet.Errorf(fleet.Unavailable, op, "vCenter does not tell it: it cannot reach the files, or the VM is being made")
	}
	return out, nil
}

// properties reads paths of ref into dst.
func (c *Client) properties(ctx context.Context, ref Ref, paths []string, dst any) error {
	vim, err := c.conn(ctx)
	if err != nil {
		return err
	}
	return property.DefaultCollector(vim).RetrieveOne(ctx, ref, paths, dst)
}
