package vcenter

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/providers/driver/snapshot"
)

// inventoryAge is how long an inventory is taken for what it was. What people make or rename
// in vCenter shows after that; a reference to what is gone fails in the request that uses it.
const inventoryAge = 30 * time.Second

// A Kind is one of inventory, as messages name it.
type Kind string

// The kinds. A pool of a cluster's or host's own is called Resources.
const (
	KindDatacenter       Kind = "data center"
	KindFolder           Kind = "folder"
	KindCompute          Kind = "cluster or host"
	KindPool             Kind = "resource pool"
	KindHost             Kind = "host"
	KindDatastore        Kind = "datastore"
	KindDatastoreCluster Kind = "datastore cluster"
	KindNetwork          Kind = "network"
)

// An Entity is one thing of inventory.
type Entity struct {
	Ref  Ref
	Kind Kind
	Name string
	Path string // "/DC0/host/DC0_C0/Resources"

	parent Ref
	roots  [4]Ref // of a data center: folders of VMs, hosts, datastores, networks

	// Of a Compute.
	Cluster    bool // it is a cluster: it has rules and groups
	Root       Ref  // its own resource pool
	Hosts      []Ref
	Datastores []Ref // that a host of it reaches
	Networks   []Ref
	// Owner of a Pool or Host is its Compute.
	Owner Ref

	// Of a Host.
	Connection  types.HostSystemConnectionState
	Maintenance bool // of a datastore also: it is entering or in maintenance mode
	// Of a Datastore.
	Accessible bool
	Free       int64 // bytes
}

// Inventory is what a vCenter has besides VMs. It must not be changed.
type Inventory struct {
	all   []*Entity // sorted by path
	byRef map[Ref]*Entity
	root  Ref
}

// Root returns the root folder.
func (i *Inventory) Root() Ref { return i.root }

// Entity returns the one with ref, or nil.
func (i *Inventory) Entity(ref Ref) *Entity { return i.byRef[ref] }

// Inventory returns what there is, as it was within the last half minute.
func (c *Client) Inventory(ctx context.Context) (*Inventory, error) {
	return c.inventories.Get(ctx, snapshot.Owner{})
}

// listInventory lists it, again where the session ended meanwhile.
func (c *Client) listInventory(ctx context.Context) (*Inventory, error) {
	out, err := again(ctx, c, c.inventoryOnce)
	return out, WrapLook("list the inventory of "+c.String(), err)
}

func (c *Client) inventoryOnce(ctx context.Context) (*Inventory, error) {
	vim, err := c.conn(ctx)
	if err != nil {
		return nil, err
	}
	objects, err := mo.RetrievePropertiesEx(ctx, vim, types.RetrievePropertiesEx{
		This: vim.ServiceContent.PropertyCollector, SpecSet: []types.PropertyFilterSpec{inventorySpec(vim.ServiceContent.RootFolder)},
		Options: types.RetrieveOptions{MaxObjects: c.page},
	})
	if err != nil {
		return nil, err
	}
	out := &Inventory{byRef: make(map[Ref]*Entity), root: vim.ServiceContent.RootFolder}
	for _, o := range objects {
		for _, m := range o.MissingSet {
			if _, ok := m.Fault.Fault.(*types.NotAuthenticated); ok {
				return nil, &TaskError{Cause: m.Fault.Fault, Message: m.Fault.LocalizedMessage}
			}
		}
		e := entityOf(o)
		if e.Name != "" { // what the user may not see is not there
			out.byRef[e.Ref] = e
		}
	}
	root := out.byRef[out.root]
	if root == nil {
		return nil, errors.New("the listing lacks the root folder, so it cannot be complete (the user needs System.View on it)")
	}
	for _, e := range out.byRef {
		e.Path = out.path(e, root)
		if e != root {
			out.all = append(out.all, e)
		}
	}
	slices.SortFunc(out.all, func(a, b *Entity) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Ref.Value, b.Ref.Value))
	})
	return out, nil
}

func (i *Inventory) path(e, root *Entity) string {
	out := ""
	for range 100 {
		if e == root || e == nil {
			return out
		}
		out = "/" + e.Name + out
		e = i.byRef[e.parent]
	}
	return out
}

// kindOfType is what a type of managed object is; "": nothing that is looked for.
func kindOfType(t string) Kind {
	switch t {
	case "Datacenter":
		return KindDatacenter
	case "Folder":
		return KindFolder
	case "ComputeResource", "ClusterComputeResource":
		return KindCompute
	case "ResourcePool", "VirtualApp":
		return KindPool
	case "HostSystem":
		return KindHost
	case "Datastore":
		return KindDatastore
	case "StoragePod":
		return KindDatastoreCluster
	case "Network", "DistributedVirtualPortgroup", "OpaqueNetwork":
		return KindNetwork
	}
	return ""
}

func entityOf(o types.ObjectContent) *Entity {
	e := &Entity{Ref: o.Obj, Kind: kindOfType(o.Obj.Type), Cluster: o.Obj.Type == "ClusterComputeResource"}
	for _, p := range o.PropSet {
		switch v := p.Val.(type) {
		case string:
			if p.Name == "name" {
				e.Name = plainName(v)
			} else if p.Name == "summary.maintenanceMode" {
				e.Maintenance = v != "" && v != string(types.DatastoreSummaryMaintenanceModeStateNormal)
			}
		case Ref:
			switch p.Name {
			case "parent":
				e.parent = v
				if e.Kind == KindHost {
					e.Owner = v
				}
			case "owner":
				e.Owner = v
			case "resourcePool":
				e.Root = v
			default:
				if i := slices.Index(rootPaths(), p.Name); i >= 0 {
					e.roots[i] = v
				}
			}
		case types.ArrayOfManagedObjectReference:
			switch p.Name {
			case "host":
				e.Hosts = v.ManagedObjectReference
			case "datastore":
				e.Datastores = v.ManagedObjectReference
			case "network":
				e.Networks = v.ManagedObjectReference
			}
		case types.HostSystemConnectionState:
			e.Connection = v
		case bool:
			if e.Kind == KindDatastore {
				e.Accessible = v
			} else {
				e.Maintenance = v
			}
		case int64:
			e.Free = v
		}
	}
	return e
}

// rootPaths are properties of a data center, in the order of Entity.roots.
func rootPaths() []string {
	return []string{"vmFolder", "hostFolder", "datastoreFolder", "networkFolder"}
}

func inventorySpec(root Ref) types.PropertyFilterSpec {
	down := []types.BaseSelectionSpec{
		along("folder", "Folder", "childEntity", "folder", "pod", "vms", "hosts", "datastores", "networks", "host", "root"),
		along("pod", "StoragePod", "childEntity"),
		along("host", "ComputeResource", "host"),
		along("root", "ComputeResource", "resourcePool", "pool"),
		along("pool", "ResourcePool", "resourcePool", "pool"),
	}
	for i, name := range []string{"vms", "hosts", "datastores", "networks"} {
		down = append(down, along(name, "Datacenter", rootPaths()[i], "folder"))
	}
	spec := types.PropertyFilterSpec{ObjectSet: []types.ObjectSpec{{Obj: root, SelectSet: down}}}
	for kind, more := range map[string][]string{
		"Datacenter": rootPaths(), "Folder": nil, "StoragePod": nil,
		"ComputeResource":        {"resourcePool", "host", "datastore", "network"},
		"ClusterComputeResource": {"resourcePool", "host", "datastore", "network"},
		"ResourcePool":           {"owner"}, "VirtualApp": {"owner"},
		"HostSystem": {"runtime.connectionState", "runtime.inMaintenanceMode"},
		"Datastore":  {"summary.accessible", "summary.maintenanceMode", "summary.freeSpace"},
		"Network":    nil, "DistributedVirtualPortgroup": nil, "OpaqueNetwork": nil,
	} {
		spec.PropSet = append(spec.PropSet, types.PropertySpec{Type: kind, PathSet: append([]string{"name", "parent"}, more...)})
	}
	slices.SortFunc(spec.PropSet, func(a, b types.PropertySpec) int { return cmp.Compare(a.Type, b.Type) })
	return spec
}
