package vcenter

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
)

// Groups are those of a cluster, and its rules.
type Groups struct {
	VMs   map[string][]Ref // groups of VMs, by name
	Hosts map[string][]Ref // groups of hosts
	// Affine are rules that put VMs of a group onto hosts of another.
	Affine []HostRule
	apart  map[string]*types.ClusterAntiAffinityRuleSpec
}

// A HostRule puts the VMs of a group onto the hosts of another.
type HostRule struct {
	Name, VMGroup, HostGroup string
	Enabled, Mandatory       bool
}

// RuleFor returns the rule that binds VMs of group vms to hosts of group hosts, or nil.
func (g *Groups) RuleFor(vms, hosts string) *HostRule {
	i := slices.IndexFunc(g.Affine, func(r HostRule) bool { return r.VMGroup == vms && r.HostGroup == hosts })
	if i < 0 {
		return nil
	}
	return &g.Affine[i]
}

// Apart returns the VMs that the rule called name keeps apart; false: there is none.
func (g *Groups) Apart(name string) ([]Ref, bool) {
	r, ok := g.apart[name]
	if !ok {
		return nil, false
	}
	return r.Vm, true
}

// ApartNames returns the names of the rules that keep VMs apart, sorted.
func (g *Groups) ApartNames() []string { return slices.Sorted(maps.Keys(g.apart)) }

// Groups reads those of cluster.
func (c *Client) Groups(ctx context.Context, cluster Ref) (*Groups, error) {
	var o mo.ClusterComputeResource
	if err := c.properties(ctx, cluster, []string{"configurationEx"}, &o); err != nil {
		return nil, WrapLook("read the groups and rules of "+cluster.Value, err)
	}
	g := &Groups{VMs: make(map[string][]Ref), Hosts: make(map[string][]Ref), apart: make(map[string]*types.ClusterAntiAffinityRuleSpec)}
	conf, ok := o.ConfigurationEx.(*types.ClusterConfigInfoEx)
	if !ok {
		return nil, fleet.Errorf(fleet.Invalid, "read the groups and rules of "+cluster.Value, "it is not a cluster of hosts with DRS")
	}
	for _, group := range conf.Group {
		switch group := group.(type) {
		case *types.ClusterVmGroup:
			g.VMs[group.Name] = group.Vm
		case *types.ClusterHostGroup:
			g.Hosts[group.Name] = group.Host
		}
	}
	for _, rule := range conf.Rule {
		switch rule := rule.(type) {
		case *types.ClusterVmHostRuleInfo:
			if rule.AffineHostGroupName != "" {
				g.Affine = append(g.Affine, HostRule{
					Name: rule.Name, VMGroup: rule.VmGroupName, HostGroup: rule.AffineHostGroupName,
					Enabled: isTrue(rule.Enabled), Mandatory: isTrue(rule.Mandatory),
				})
			}
		case *types.ClusterAntiAffinityRuleSpec:
			g.apart[rule.Name] = rule
		}
	}
	return g, nil
}

// KnownGroups returns what Groups does, as it was within the last seconds unless this process changed it since.
func (c *Client) KnownGroups(ctx context.Context, cluster Ref) (*Groups, error) {
	c.mu.Lock()
	known := c.groups[cluster]
	if known == nil {
		known = snapshot.NewCache(inventoryAge, "read the groups and rules of "+cluster.Value, func(ctx context.Context) (*Groups, error) { return c.Groups(ctx, cluster) })
		c.groups[cluster] = known
	}
	c.mu.Unlock()
	return known.Get(ctx, snapshot.Owner{})
}

func isTrue(b *bool) bool { return b != nil && *b }

// JoinGroup puts vms into the group of VMs called group, which has to be there. Where all are in
// there is neither a task nor an error. A group is changed as a whole: while another change
// of the cluster, asked for by this process, is under way, the kind is Unavailable, and the error wraps a BusyError.
func (c *Client) JoinGroup(ctx context.Context, cluster Ref, group string, vms ...Ref) (Ref, error) {
	var names []string
	for _, vm := range vms {
		names = append(names, vm.Value)
	}
	op := "put " + strings.Join(names, ", ") + " into the group of virtual machines " + group
	return c.changeCluster(ctx, op, cluster, func(g *Groups) (*types.ClusterConfigSpecEx, error) {
		members, ok := g.VMs[group]
		missing := slices.DeleteFunc(slices.Clone(vms), func(vm Ref) bool { return slices.Contains(members, vm) })
		switch {
		case !ok:
			return nil, fleet.Errorf(fleet.NotFound, op, "there is no such group; there are: %s", list(slices.Sorted(maps.Keys(g.VMs))))
		case len(missing) == 0:
			return nil, nil
		}
		return &types.ClusterConfigSpecEx{GroupSpec: []types.ClusterGroupSpec{{
			ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationEdit},
			Info:            &types.ClusterVmGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: group}, Vm: slices.Concat(members, missing)},
		}}}, nil
	})
}

// KeepApart has the rule called name keep vms on different hosts as far as that goes, and no
// others: it is made, changed or, for fewer than two, removed. Where it is so already there is
// neither a task nor an error. See JoinGroup for what is Unavailable.
func (c *Client) KeepApart(ctx context.Context, cluster Ref, name string, vms []Ref) (Ref, error) {
	op := "keep virtual machines apart with the rule " + name
	vms = slices.Clone(vms)
	slices.SortFunc(vms, func(a, b Ref) int { return strings.Compare(a.Value, b.Value) })
	vms = slices.Compact(vms)
	return c.changeCluster(ctx, op, cluster, func(g *Groups) (*types.ClusterConfigSpecEx, error) {
		rule, there := g.apart[name]
		spec := types.ClusterRuleSpec{Info: &types.ClusterAntiAffinityRuleSpec{
			ClusterRuleInfo: types.ClusterRuleInfo{Name: name, Enabled: types.NewBool(true), Mandatory: types.NewBool(false), UserCreated: types.NewBool(true)},
			Vm:              vms,
		}}
		switch {
		case there && len(vms) < 2:
			spec = types.ClusterRuleSpec{ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationRemove, RemoveKey: rule.Key}}
		case len(vms) < 2:
			return nil, nil
		case there && sameRefs(rule.Vm, vms) && isTrue(rule.Enabled):
			return nil, nil
		case there:
			spec.Operation = types.ArrayUpdateOperationEdit
			spec.Info.GetClusterRuleInfo().Key = rule.Key
		default:
			spec.Operation = types.ArrayUpdateOperationAdd
		}
		return &types.ClusterConfigSpecEx{RulesSpec: []types.ClusterRuleSpec{spec}}, nil
	})
}

// A BusyError says that another change of the compute cluster, asked for by this process, is under way.
type BusyError struct{ Task Ref }

func (e *BusyError) Error() string { return "another change of the cluster is under way" }

// changeCluster reads the groups of cluster and asks for what change makes of them; nothing
// where that is nil. One at a time: what is read has to have what was asked for before.
func (c *Client) changeCluster(ctx context.Context, op string, cluster Ref, change func(*Groups) (*types.ClusterConfigSpecEx, error)) (Ref, error) {
	select {
	case c.clusters <- struct{}{}:
		defer func() { <-c.clusters }()
	case <-ctx.Done():
		return Ref{}, fleet.Errorf(fleet.Unavailable, op, "%w", ctx.Err())
	}
	c.mu.Lock()
	before, busy := c.changing[cluster]
	c.mu.Unlock()
	if busy {
		t, err := c.Task(ctx, before)
		switch {
		case err != nil:
			return Ref{}, WrapLook(op, err)
		case t != nil && t.Running():
			return Ref{}, fleet.Errorf(fleet.Unavailable, op, "%w", &BusyError{Task: before})
		}
	}
	g, err := c.Groups(ctx, cluster)
	if err != nil {
		return Ref{}, WrapLook(op, err)
	}
	spec, err := change(g)
	if err != nil || spec == nil {
		return Ref{}, err
	}
	task, err := c.start(ctx, op, "", func(ctx context.Context, vim *vim25.Client) (*object.Task, error) {
		return object.NewComputeResource(vim, cluster).Reconfigure(ctx, spec, true)
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.groups, cluster) // also where the answer is lost
	if err == nil {
		c.changing[cluster] = task
	}
	return task, err
}

func sameRefs(a, b []Ref) bool {
	if len(a) != len(b) {
		return false
	}
	for _, ref := range a {
		if !slices.Contains(b, ref) {
			return false
		}
	}
	return true
}

// DatastoresOf returns the datastores that a host of hosts reaches, sorted.
func (c *Client) DatastoresOf(ctx context.Context, hosts []Ref) ([]Ref, error) {
	spec := types.PropertyFilterSpec{PropSet: []types.PropertySpec{{Type: "HostSystem", PathSet: []string{"datastore"}}}}
	for _, h := range hosts {
		spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: h})
	}
	out, err := again(ctx, c, func(ctx context.Context) ([]Ref, error) {
		vim, err := c.conn(ctx)
		if err != nil {
			return nil, err
		}
		objects, err := mo.RetrievePropertiesEx(ctx, vim, types.RetrievePropertiesEx{
			This: vim.ServiceContent.PropertyCollector, SpecSet: []types.PropertyFilterSpec{spec},
		})
		var out []Ref
		for _, o := range objects {
			if _, err := missing(o); err != nil {
				return nil, err
			}
			for _, p := range o.PropSet {
				if refs, ok := p.Val.(types.ArrayOfManagedObjectReference); ok {
					out = append(out, refs.ManagedObjectReference...)
				}
			}
		}
		return out, err
	})
	slices.SortFunc(out, func(a, b Ref) int { return strings.Compare(a.Value, b.Value) })
	return slices.Compact(out), WrapLook("list the datastores of hosts", err)
}
