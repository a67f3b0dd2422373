package vcenter

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"fairlead.dev/fleet"
)

// Datacenter finds a data center by name or path. Empty is the only one there is.
func (i *Inventory) Datacenter(name string) (*Entity, error) {
	return i.find(KindDatacenter, nil, name, nil)
}

// Folder finds a folder of VMs in dc by name, path, or path below dc's folder of VMs. Empty
// is that folder.
func (i *Inventory) Folder(dc *Entity, name string) (*Entity, error) {
	if root := i.byRef[dc.roots[0]]; root != nil && (name == "" || name == root.Path) {
		return root, nil
	}
	return i.find(KindFolder, dc, name, nil)
}

// Clusters returns the clusters of hosts, by path.
func (i *Inventory) Clusters() (out []*Entity) {
	for _, e := range i.all {
		if e.Kind == KindCompute && e.Cluster {
			out = append(out, e)
		}
	}
	return out
}

// Compute finds a cluster, or a host without one, in dc.
func (i *Inventory) Compute(dc *Entity, name string) (*Entity, error) {
	return i.find(KindCompute, dc, name, nil)
}

// Pool finds a resource pool in dc by name or path. That of a cluster or host is also found
// by the name or path of these. Empty is the pool of the only cluster or host there is.
func (i *Inventory) Pool(dc *Entity, name string) (*Entity, error) {
	of := func(e *Entity) bool { return name != "" || e.Name == "Resources" }
	found, err := i.find(KindPool, dc, name, of)
	if err == nil || name == "" {
		return found, err
	}
	if compute, other := i.find(KindCompute, dc, name, nil); other == nil {
		if root := i.byRef[compute.Root]; root != nil {
			return root, nil
		}
	}
	return nil, err
}

// Datastore finds a datastore in dc that hosts of the cluster of pool reach, where pool is not
// nil.
func (i *Inventory) Datastore(dc, pool *Entity, name string) (*Entity, error) {
	found, err := i.find(KindDatastore, dc, name, i.reached(pool, func(c *Entity) []Ref { return c.Datastores }))
	if err == nil {
		return found, i.usable(found)
	}
	if cluster, other := i.find(KindDatastoreCluster, dc, name, nil); other == nil && name != "" {
		var within []string
		for _, e := range i.all {
			if e.parent == cluster.Ref {
				within = append(within, e.Name)
			}
		}
		return nil, fleet.Errorf(fleet.Invalid, "find datastore "+name, "it is a datastore cluster (name one of its datastores, %s, or a storage policy)", list(within))
	}
	if somewhere, other := i.find(KindDatastore, dc, name, nil); other == nil && pool != nil {
		return nil, fleet.Errorf(fleet.Invalid, "find datastore "+name, "no host of %s reaches %s (it reaches %s)", i.computeOf(pool).Path, somewhere.Path, list(i.namesOf(i.computeOf(pool).Datastores)))
	}
	return nil, err
}

// usable says why nothing can be put on a datastore now.
func (i *Inventory) usable(e *Entity) error {
	switch {
	case !e.Accessible:
		return fleet.Errorf(fleet.Unavailable, "use datastore "+e.Path, "vCenter says that it is not accessible")
	case e.Maintenance:
		return fleet.Errorf(fleet.Unavailable, "use datastore "+e.Path, "it is in maintenance mode")
	}
	return nil
}

// Network finds a port group, of a host or distributed, or a segment of NSX, in dc, that hosts
// of the cluster of pool reach, where pool is not nil. Segments have one name on each switch:
// the one that the cluster has is meant.
func (i *Inventory) Network(dc, pool *Entity, name string) (*Entity, error) {
	found, err := i.find(KindNetwork, dc, name, i.reached(pool, func(c *Entity) []Ref { return c.Networks }))
	if err == nil {
		return found, nil
	}
	if somewhere, other := i.find(KindNetwork, dc, name, nil); other == nil && pool != nil {
		return nil, fleet.Errorf(fleet.Invalid, "find network "+name, "no host of %s has %s (it has %s)", i.computeOf(pool).Path, somewhere.Path, list(i.namesOf(i.computeOf(pool).Networks)))
	}
	return nil, err
}

// Hosts returns the hosts of the cluster of pool that VMs can be started on now: connected
// and not in maintenance mode.
func (i *Inventory) Hosts(pool *Entity) []*Entity {
	var out []*Entity
	for _, ref := range i.computeOf(pool).Hosts {
		if h := i.byRef[ref]; h != nil && h.Connection == "connected" && !h.Maintenance {
			out = append(out, h)
		}
	}
	return out
}

// ComputeOf returns the cluster, or the host without one, of a resource pool or host, or
// itself; nil where the user may not see it.
func (i *Inventory) ComputeOf(e *Entity) *Entity {
	if e.Kind == KindCompute {
		return e
	}
	return i.byRef[e.Owner]
}

// computeOf is ComputeOf, and what has nothing where that is hidden.
func (i *Inventory) computeOf(e *Entity) *Entity {
	if c := i.ComputeOf(e); c != nil {
		return c
	}
	return &Entity{Kind: KindCompute, Path: "the cluster of " + e.Path}
}

// reached returns what keeps those that of says of the cluster of pool.
func (i *Inventory) reached(pool *Entity, of func(*Entity) []Ref) func(*Entity) bool {
	if pool == nil {
		return nil
	}
	refs := of(i.computeOf(pool))
	return func(e *Entity) bool { return slices.Contains(refs, e.Ref) }
}

func (i *Inventory) namesOf(refs []Ref) []string {
	var out []string
	for _, ref := range refs {
		if e := i.byRef[ref]; e != nil {
			out = append(out, e.Name)
		}
	}
	slices.Sort(out)
	return out
}

// find returns the one entity of kind that query means, in dc where that is not nil, among
// those that keep.
func (i *Inventory) find(kind Kind, dc *Entity, query string, keep func(*Entity) bool) (*Entity, error) {
	op := fmt.Sprintf("find %s %s", kind, query)
	if query == "" {
		op = "choose a " + string(kind)
	}
	if dc != nil {
		op += " in data center " + dc.Name
	}
	var all, found []string
	var out *Entity
	for _, e := range i.all {
		if e.Kind != kind || keep != nil && !keep(e) || dc != nil && !strings.HasPrefix(e.Path, dc.Path+"/") || kind == KindFolder && dc != nil && !i.ofVMs(e, dc) {
			continue
		}
		all = append(all, e.Path)
		if i.means(query, e, dc) {
			out, found = e, append(found, e.Path)
		}
	}
	switch {
	case len(found) == 1:
		return out, nil
	case len(found) > 1 && query == "":
		return nil, fleet.Errorf(fleet.Invalid, op, "there are several, and none is named: %s", list(found))
	case len(found) > 1:
		return nil, fleet.Errorf(fleet.Invalid, op, "several are meant (write the path of one): %s", list(found))
	case len(all) == 0:
		return nil, fleet.Errorf(fleet.NotFound, op, "there is none that the user may see")
	}
	return nil, fleet.Errorf(fleet.NotFound, op, "it is not there, or the user may not see it; there are: %s", list(all))
}

// ofVMs reports whether e is, or is below, dc's folder of VMs.
func (i *Inventory) ofVMs(e, dc *Entity) bool {
	root := i.byRef[dc.roots[0]]
	return root != nil && (e == root || strings.HasPrefix(e.Path, root.Path+"/"))
}

// means reports whether query is e: its name, its id, its path, or its path below a folder
// that dc has of the start. Names and parts of paths may be patterns, as CAPV takes them:
// "*/Resources".
func (i *Inventory) means(query string, e, dc *Entity) bool {
	switch {
	case query == "" || query == e.Ref.Value || query == e.Ref.Type+":"+e.Ref.Value:
		return true
	case strings.HasPrefix(query, "/"):
		return matches(path.Clean(query), e.Path)
	case !strings.Contains(query, "/"):
		return matches(query, strings.ReplaceAll(e.Name, "/", "%2f"))
	case dc == nil:
		return matches("/"+path.Clean(query), e.Path)
	}
	for _, root := range dc.roots {
		if r := i.byRef[root]; r != nil && matches(r.Path+"/"+strings.TrimPrefix(path.Clean(query), "./"), e.Path) {
			return true
		}
	}
	return false
}

// matches compares as path.Match. A text that is no pattern means itself.
func matches(pattern, text string) bool {
	if pattern == text {
		return true
	}
	ok, err := path.Match(pattern, text)
	return ok && err == nil
}

// longestList is how many names a message has.
const longestList = 12

// list writes names for a message.
func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	if more := len(names) - longestList; more > 0 {
		return strings.Join(names[:longestList], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}
