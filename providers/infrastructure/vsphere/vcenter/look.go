package vcenter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/providers/driver/snapshot"
)

// A Look is all that a vCenter shows to its user: VMs, and what was asked for of late. It
// must not be changed.
type Look struct {
	Began time.Time
	VMs   []VM   // sorted by reference
	Tasks []Task // queued, running, or ended within the last ten minutes; the newest last

	index  map[Ref]int
	places map[Ref]place

	derived sync.Once
	value   any
}

// Derived returns what derive returned when it was called first, for all who use l. They have to ask for the same.
func (l *Look) Derived(derive func() any) any {
	l.derived.Do(func() { l.value = derive() })
	return l.value
}

// A place is a folder or a data center.
type place struct {
	name   string
	parent Ref
}

// VM returns the one with ref, or nil.
func (l *Look) VM(ref Ref) *VM {
	if i, ok := l.index[ref]; ok {
		return &l.VMs[i]
	}
	return nil
}

// Tagged returns the VMs with tags of any fleet, also where those cannot be read, and copies
// of machines.
func (l *Look) Tagged() []*VM {
	var out []*VM
	for i := range l.VMs {
		if l.VMs[i].Tagged {
			out = append(out, &l.VMs[i])
		}
	}
	return out
}

// Path is where vm is, as people find it: "/DC0/vm/prod/web".
func (l *Look) Path(vm *VM) string {
	out, at := "/"+vm.Name, vm.Folder
	for range 100 {
		p, ok := l.places[at]
		if !ok || p.parent.Value == "" {
			return out
		}
		out, at = "/"+p.name+out, p.parent
	}
	return out
}

// Look returns a look that is good for o: begun after what Changed was told of o, and not
// older than a tick. Those that ask at one time share one.
func (c *Client) Look(ctx context.Context, o snapshot.Owner) (*Look, error) {
	return c.looks.Get(ctx, o)
}

// Changed says that something of o was asked for.
func (c *Client) Changed(o snapshot.Owner) { c.looks.Changed(o) }

// look lists all.
func (c *Client) look(ctx context.Context) (*Look, error) {
	out, err := again(ctx, c, c.lookOnce)
	return out, WrapLook("list the virtual machines of "+c.String(), err)
}

// again lists, and does so once more where the session ended meanwhile: the rest of the pages
// went with it, and without one vCenter answers a listing with what is missing.
func again[T any](ctx context.Context, c *Client, list func(context.Context) (T, error)) (T, error) {
	before := c.sessions()
	out, err := list(ctx)
	if err == nil || before == 0 || c.sessions() == before && !notAuthenticated(err) {
		return out, err
	}
	if notAuthenticated(err) {
		if err := c.connect(ctx, before); err != nil {
			return out, err
		}
	}
	return list(ctx)
}

// sessions counts logins.
func (c *Client) sessions() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// detailsAtOnce is how many VMs one request asks for by reference.
const detailsAtOnce = 500

func (c *Client) lookOnce(ctx context.Context) (*Look, error) {
	vim, err := c.conn(ctx)
	if err != nil {
		return nil, err
	}
	root := vim.ServiceContent.RootFolder
	out := &Look{Began: time.Now(), places: make(map[Ref]place), index: make(map[Ref]int)}
	objects, err := mo.RetrievePropertiesEx(ctx, vim, types.RetrievePropertiesEx{
		This: vim.ServiceContent.PropertyCollector, SpecSet: []types.PropertyFilterSpec{everywhere(root, alwaysPaths()), recent(vim.ServiceContent.TaskManager)},
		Options: types.RetrieveOptions{MaxObjects: c.page},
	})
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		if err := out.add(o, c.asked.token); err != nil {
			return nil, err
		}
	}
	if _, ok := out.places[root]; !ok {
		return nil, errors.New("the listing lacks the root folder, so it cannot be complete (the user needs System.View on it, or the session ended)")
	}
	slices.SortFunc(out.VMs, func(a, b VM) int { return cmp.Compare(a.Ref.Value, b.Ref.Value) })
	c.remember(out)
	if err := c.addDetails(ctx, out); err != nil {
		return nil, err
	}
	out.VMs = slices.DeleteFunc(out.VMs, func(vm VM) bool { return vm.Ref.Value == "" })
	for i, vm := range out.VMs {
		out.index[vm.Ref] = i
	}
	slices.SortStableFunc(out.Tasks, func(a, b Task) int { return a.Queued.Compare(b.Queued) })
	c.learn(out)
	return out, nil
}

// add takes one object of the listing in.
func (l *Look) add(o types.ObjectContent, token func(Ref) string) error {
	if gone, err := missing(o); gone || err != nil {
		return err
	}
	switch o.Obj.Type {
	case "Task":
		for _, p := range o.PropSet {
			if info, ok := p.Val.(types.TaskInfo); ok {
				l.Tasks = append(l.Tasks, taskOf(info, token(o.Obj)))
			}
		}
	case "VirtualMachine":
		vm := VM{Ref: o.Obj, Unread: true}
		for _, p := range o.PropSet {
			vm.read(p)
		}
		l.VMs = append(l.VMs, vm)
	default:
		p := place{}
		for _, q := range o.PropSet {
			switch v := q.Val.(type) {
			case string:
				p.name = plainName(v)
			case Ref:
				p.parent = v
			}
		}
		l.places[o.Obj] = p
	}
	return nil
}

// missing says what vCenter does not show of o: nothing that matters, that it went
// meanwhile, or an error.
func missing(o types.ObjectContent) (gone bool, err error) {
	if o.Obj.Type == "Task" {
		return len(o.MissingSet) > 0, nil // of another owner, or it ended long ago
	}
	if len(o.MissingSet) == 0 {
		return false, nil
	}
	m := o.MissingSet[0]
	if _, ok := m.Fault.Fault.(*types.ManagedObjectNotFound); ok {
		return true, nil
	}
	return false, fmt.Errorf("it does not show %s of %s %s: %w", m.Path, o.Obj.Type, o.Obj.Value, soap.WrapVimFault(m.Fault.Fault))
}

// detailed reports whether vm may have an owner.
func (c *Client) detailed(vm *VM) bool {
	return vm.Tagged || vm.Unread || c.o.Ours != nil && c.o.Ours(vm.InstanceUUID)
}

// addDetails asks for details of the VMs that may be somebody's. What went meanwhile loses its
// reference.
func (c *Client) addDetails(ctx context.Context, l *Look) error {
	at := make(map[Ref]int)
	var refs []Ref
	for i, vm := range l.VMs {
		if c.detailed(&vm) {
			at[vm.Ref], refs = i, append(refs, vm.Ref)
		}
	}
	for some := range slices.Chunk(refs, detailsAtOnce) {
		objects, err := c.details(ctx, some, detailPaths())
		if err != nil {
			return err
		}
		for _, o := range objects {
			gone, err := missing(o)
			if err != nil {
				return err
			}
			vm := &l.VMs[at[o.Obj]]
			delete(at, o.Obj)
			if gone {
				vm.Ref = Ref{}
				continue
			}
			for _, p := range o.PropSet {
				vm.read(p)
			}
		}
	}
	for _, i := range at { // asked for and not told: it went
		l.VMs[i].Ref = Ref{}
	}
	return nil
}

// Again reads the VM with ref again, as an observation shows it; nil: it is gone. An observation may be old.
func (c *Client) Again(ctx context.Context, ref Ref) (*VM, error) {
	all, err := c.detailedOnce(ctx, []Ref{ref})
	if err != nil || len(all) == 0 {
		return nil, WrapLook("read virtual machine "+ref.Value, err)
	}
	return &all[0], nil
}

// details reads paths of refs. One that is gone fails the request for all: it is left out.
func (c *Client) details(ctx context.Context, refs []Ref, paths []string) ([]types.ObjectContent, error) {
	vim, err := c.conn(ctx)
	if err != nil {
		return nil, err
	}
	refs = slices.Clone(refs)
	for len(refs) > 0 {
		spec := types.PropertyFilterSpec{PropSet: []types.PropertySpec{{Type: "VirtualMachine", PathSet: paths}}}
		for _, ref := range refs {
			spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: ref})
		}
		objects, err := mo.RetrievePropertiesEx(ctx, vim, types.RetrievePropertiesEx{
			This: vim.ServiceContent.PropertyCollector, SpecSet: []types.PropertyFilterSpec{spec},
		})
		gone, ok := FaultOf(err).(*types.ManagedObjectNotFound)
		if !ok {
			return objects, err
		}
		rest := slices.DeleteFunc(slices.Clone(refs), func(r Ref) bool { return r == gone.Obj })
		if len(rest) == len(refs) {
			return nil, err
		}
		refs = rest
	}
	return nil, nil
}

// An identity is what was seen of a VM while vCenter told its configuration.
type identity struct{ tags, instance, uuid string }

// remember gives what is known of VMs to those whose configuration vCenter does not tell now:
// unreachable is not gone.
func (c *Client) remember(l *Look) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range l.VMs {
		vm := &l.VMs[i]
		if id, ok := c.known[vm.Ref]; ok && vm.Unread {
			vm.InstanceUUID, vm.UUID = id.instance, id.uuid
			if id.tags != "" {
				vm.readTags(id.tags)
			}
		}
	}
}

// learn replaces the remembered configuration with that of l, and notifies watchers.
func (c *Client) learn(l *Look) {
	known := make(map[Ref]identity)
	for _, vm := range l.VMs {
		if c.detailed(&vm) && vm.InstanceUUID != "" {
			known[vm.Ref] = identity{vm.TagsValue, vm.InstanceUUID, vm.UUID}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known, c.latest = known, l
	close(c.next)
	c.next = make(chan struct{})
}
