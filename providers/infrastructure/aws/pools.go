package aws

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// nodegroups returns the node groups of the cluster that carry its tags, or the name of one in Git, sorted.
func (m *managed) nodegroups(ctx context.Context) ([]*cloud.Nodegroup, error) {
	if m.is == nil || m.is.Status == cloud.Creating {
		return nil, nil
	}
	names, err := m.place.Nodegroups(ctx, m.is.Name)
	if err != nil {
		if cloud.IsNotFound(err) {
			err = nil // the cluster went meanwhile, and had none
		}
		return nil, err
	}
	slices.Sort(names)
	var out []*cloud.Nodegroup
	for _, name := range names {
		g, err := m.place.Nodegroup(ctx, m.is.Name, name)
		switch {
		case cloud.IsNotFound(err): // it went meanwhile
		case err != nil:
			return nil, err
		case m.c.Owns(g.Tags) || m.poolCalled(g.Name) != "":
			out = append(out, g)
		}
	}
	return out, nil
}

// poolCalled returns the pool in Git whose node group is called name; empty: none is.
func (m *managed) poolCalled(name string) fleet.PoolName {
	for _, p := range m.c.KeptPools {
		if spec, err := api.ReadPool(p.Infrastructure); err == nil && spec.EKSNodegroupName == name {
			return p.Name
		}
	}
	return ""
}

// pools returns what groups are of the cluster.
func (m *managed) pools(ctx context.Context, groups []*cloud.Nodegroup, templates []cloud.LaunchTemplate) ([]fleet.KeptPoolSeen, error) {
	nodes, err := m.place.NodesOf(ctx, m.is.Name)
	if err != nil {
		return nil, err
	}
	var out []fleet.KeptPoolSeen
	for _, g := range groups {
		s := fleet.KeptPoolSeen{
			Name: fleet.PoolName(g.Tags[fleet.TagPool]), Count: ptr.Deref(g.Scaling.Desired, 0), Version: versionOf(g), Created: g.Created(),
		}
		s.State, s.Message = stateOf(g)
		if !m.c.Owns(g.Tags) || s.Name == "" {
			s.Name = cmp.Or(m.poolCalled(g.Name), fleet.PoolName(g.Name))
			s.Damaged = "the tags of node group " + g.Name + " do not say that it is a pool of " + m.c.Key.String()
		}
		if begun, ok := m.p.begun.Of(m.owner.Part(fleet.MachineName(s.Name))); ok && s.State == fleet.KeptActive && minor(g.Version) < minor(begun) {
			s.Message = strings.TrimPrefix(fmt.Sprintf("%s; EKS began to upgrade it to %s and gave up, often since Pods could not be evicted: the updates of node group %s in AWS say why", s.Message, begun, g.Name), "; ")
		}
		for _, i := range nodes[g.Name] {
			s.Machines = append(s.Machines, providerID(i))
		}
		slices.Sort(s.Machines)
		if want, ok := m.c.KeptPool(s.Name); ok {
			if want.Range != nil {
				s.Range = &fleet.PoolRange{Min: ptr.Deref(g.Scaling.Min, 0), Max: ptr.Deref(g.Scaling.Max, 0)}
				if s.Range.Max == max(want.Range.Max, 1) { // EKS takes no maximum of 0
					s.Range.Max = want.Range.Max
				}
			}
			if sameMinor(s.Version, want.Version) { // AWS decides about patches
				s.Version = want.Version
			}
			if wanted, err := m.wanted(ctx, want); err == nil { // EnsurePool tells what is wrong with it
				if wanted.template, err = m.templateOf(ctx, templates, s.Name, g); err != nil {
					return nil, err
				}
				diff := wanted.compare(g)
				text := overruledText(diff.leaveOverruled(m.p, g))
				s.Drift, s.Fixed, s.Message = diff.drift, diff.fixed, strings.Trim(s.Message+"; "+text+"; "+m.movedText(g, s.Name, diff), "; ")
				if wanted.spec.Image() != "" && !diff.template && !wanted.tooNew { // the image says which version it has
					s.Version = want.Version
				}
			}
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b fleet.KeptPoolSeen) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// stateOf says how far EKS is with a node group.
func stateOf(g *cloud.Nodegroup) (fleet.KeptState, string) {
	message := ""
	if g.Health != nil {
		message = g.Health.String()
	}
	switch g.Status {
	case cloud.Creating:
		return fleet.KeptCreating, message
	case cloud.Updating:
		return fleet.KeptUpdating, message
	case cloud.Deleting:
		return fleet.KeptDeleting, message
	case cloud.Active:
		return fleet.KeptActive, message
	}
	return fleet.KeptFailed, strings.TrimSuffix(g.Status+": "+message, ": ")
}

// versionOf returns the version of Kubernetes that new machines get: that of the image, if it says so.
func versionOf(g *cloud.Nodegroup) string {
	if patch, _, _ := strings.Cut(g.Release, "-"); strings.HasPrefix(patch, g.Version+".") {
		return "v" + patch
	}
	return "v" + g.Version + ".0"
}

// minorOf returns the minor version of v1.34.2, as 1.34.
func minorOf(version string) string {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	return strings.Join(parts[:min(len(parts), 2)], ".")
}

func sameMinor(a, b string) bool { return minorOf(a) == minorOf(b) }

// A wantedGroup is what Git says of a node group.
type wantedGroup struct {
	cloud.Nodegroup
	pool     fleet.KeptPool
	spec     *api.AWSManagedMachinePoolSpec
	template *poolTemplate // nil: it has none yet
	tooNew   bool          // its image is one for a version that the control plane does not have yet
}

// wanted returns what Git says of the node group of p, without operation.
func (m *managed) wanted(ctx context.Context, p fleet.KeptPool) (*wantedGroup, error) {
	spec, err := api.ReadPool(p.Infrastructure)
	if err != nil {
		return nil, err
	}
	role, err := m.place.RoleARN(ctx, spec.RolePath, spec.RoleName)
	if err != nil {
		return nil, err
	}
	subnets, err := m.poolSubnets(spec, p)
	if err != nil {
		return nil, err
	}
	w := &wantedGroup{pool: p, spec: spec, Nodegroup: cloud.Nodegroup{
		Name: spec.EKSNodegroupName, Version: minorOf(p.Version), Release: spec.AMIVersion, Role: role, Subnets: subnets, Image: spec.AMIType, DiskSize: spec.DiskSize,
		Market: map[string]string{api.OnDemandNodes: "ON_DEMAND", api.SpotNodes: "SPOT"}[spec.CapacityType], Labels: maps.Clone(spec.Labels), Scaling: scalingOf(spec, p),
	}}
	w.tooNew = spec.Image() != "" && m.is != nil && minor(w.Version) > minor(m.is.Version)
	if spec.InstanceType != "" {
		w.Types = []string{spec.InstanceType}
	}
	if w.Labels == nil {
		w.Labels = make(cloud.Tags)
	}
	maps.Copy(w.Labels, p.NodeLabels)
	for _, t := range spec.Taints {
		w.Taints = append(w.Taints, cloud.NodeTaint{Key: t.Key, Value: t.Value, Effect: strings.ToUpper(strings.ReplaceAll(t.Effect, "-", "_"))})
	}
	for _, t := range p.Taints {
		effect := map[string]string{"NoSchedule": "NO_SCHEDULE", "NoExecute": "NO_EXECUTE", "PreferNoSchedule": "PREFER_NO_SCHEDULE"}[string(t.Effect)]
		w.Taints = slices.DeleteFunc(w.Taints, func(o cloud.NodeTaint) bool { return o.Key == t.Key && o.Effect == effect }) // EKS takes one of a key and an effect
		w.Taints = append(w.Taints, cloud.NodeTaint{Key: t.Key, Value: t.Value, Effect: effect})
	}
	if r := spec.RemoteAccess; r != nil {
		w.Remote = &cloud.RemoteAccess{Key: ptr.Deref(r.SSHKeyName, ""), Groups: r.SourceSecurityGroups}
	}
	if u := spec.UpdateConfig; u != nil {
		w.Update = &cloud.NodeUpdate{Unavailable: u.MaxUnavailable, Percentage: u.MaxUnavailablePercentage}
	}
	if r := spec.NodeRepairConfig; r != nil && r.Enabled != nil {
		w.Repair = &cloud.NodeRepair{Enabled: *r.Enabled}
	}
	return w, nil
}

// scalingOf returns the bounds of a node group and the number that it begins with. Without others that decide the
// number, Git does, and the bounds are those of the object, as far as that number is within them.
func scalingOf(spec *api.AWSManagedMachinePoolSpec, p fleet.KeptPool) cloud.Scaling {
	low, high := p.Count, p.Count
	switch s := spec.Scaling; {
	case p.Range != nil:
		low, high = p.Range.Min, p.Range.Max
	case s != nil:
		low, high = min(int(ptr.Deref(s.MinSize, int32(low))), p.Count), max(int(ptr.Deref(s.MaxSize, int32(high))), p.Count)
	}
	return cloud.Scaling{Min: new(low), Max: new(max(high, 1)), Desired: new(p.Count)}
}

// poolSubnets returns the subnets of a pool: those that it names, or those of its zones.
func (m *managed) poolSubnets(spec *api.AWSManagedMachinePoolSpec, p fleet.KeptPool) ([]string, error) {
	if len(spec.SubnetIDs) > 0 {
		return spec.SubnetIDs, nil
	}
	n := m.net(new(steps.Decision))
	from := n.private
	switch spec.AvailabilityZoneSubnetType {
	case api.PublicSubnets:
		from = n.public
	case api.AllSubnets:
		from = slices.Concat(n.private, n.public)
	}
	zones := spec.AvailabilityZones
	if len(zones) == 0 {
		zones = p.FailureDomains
	}
	fit := slices.DeleteFunc(slices.Clone(from), func(s cloud.Subnet) bool { return len(zones) > 0 && !slices.Contains(zones, s.Zone) })
	if len(fit) == 0 {
		return nil, fleet.Errorf(fleet.Invalid, "find the subnets of pool "+string(p.Name), "the network has no %s subnets in the zones %s (name others in availabilityZones, or name subnetIDs)",
			spec.AvailabilityZoneSubnetType, strings.Join(cmpOr(zones, "of the cluster"), ", "))
	}
	return idsOf(fit), nil
}

// cmpOr returns list, or one text for none.
func cmpOr(list []string, text string) []string {
	if len(list) == 0 {
		return []string{text}
	}
	return list
}

// groupOf returns the node group of a pool: that with its tags; nil: there is none.
func (m *managed) groupOf(groups []*cloud.Nodegroup, name fleet.PoolName) *cloud.Nodegroup {
	for _, g := range groups {
		if m.c.Owns(g.Tags) && g.Tags[fleet.TagPool] == string(name) {
			return g
		}
	}
	return nil
}

// EnsurePool implements providers.PoolKeeper.
func (p *Provider) EnsurePool(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, pool fleet.KeptPool) error {
	what := fmt.Sprintf("create or change pool %s/%s", c.Key.Namespace, pool.Name)
	end, err := p.Locks().Begin(what, snapshot.OwnerOf(c).Part(fleet.MachineName(pool.Name)))
	if err != nil {
		return err
	}
	defer end()
	m, err := p.lookManaged(ctx, c)
	if err != nil {
		return cloud.WrapLook(what, err)
	}
	if !m.serves() {
		return fleet.Errorf(fleet.Conflict, what, "the control plane is not there: %s", m.message())
	}
	groups, err := m.nodegroups(ctx)
	if err != nil {
		return cloud.WrapLook(what, err)
	}
	want, err := m.wanted(ctx, pool)
	if err != nil {
		return cloud.Wrap(what, err)
	}
	is := m.groupOf(groups, pool.Name)
	if want.spec.AWSLaunchTemplate != nil {
		all, err := m.templates(ctx)
		if err == nil {
			want.template, err = m.templateOf(ctx, all, pool.Name, is)
		}
		if err != nil {
			return cloud.WrapLook(what, err)
		}
	}
	if is == nil {
		return cloud.Wrap(what, m.createPool(ctx, op, groups, want))
	}
	return cloud.Wrap(what, m.changePool(ctx, op, is, want))
}

// createPool asks for a node group.
func (m *managed) createPool(ctx context.Context, op fleet.OperationID, groups []*cloud.Nodegroup, want *wantedGroup) error {
	if slices.ContainsFunc(groups, func(g *cloud.Nodegroup) bool { return g.Name == want.Name }) {
		return fleet.Errorf(fleet.Conflict, "find the name of the node group", "cluster %s of EKS has a node group %s without the tags of the pool (set another eksNodegroupName)", m.is.Name, want.Name)
	}
	in := want.Nodegroup
	in.Tags = maps.Clone(want.spec.AdditionalTags)
	if in.Tags == nil {
		in.Tags = make(cloud.Tags)
	}
	maps.Copy(in.Tags, m.c.PoolTags(want.pool.Name, op))
	created := false
	if want.spec.AWSLaunchTemplate != nil {
		var err error
		if in.Template, created, err = m.launch(ctx, op, want, nil); err != nil {
			return err
		}
	}
	if want.spec.Image() != "" { // EKS takes neither beside an image of people
		in.Image, in.Version = "", ""
	}
	m.p.o.Log.InfoContext(ctx, "requesting a node group", "cluster", m.c.Key.String(), "pool", string(want.pool.Name), "name", in.Name, "machines", want.pool.Count)
	err := m.place.CreateNodegroup(ctx, m.is.Name, in)
	switch {
	case cloud.IsBusy(err):
		return fleet.Errorf(fleet.Conflict, "create node group "+in.Name, "EKS takes no change of the cluster now: %w", err)
	case created && isNotYetThere(err):
		return fleet.Errorf(fleet.Unavailable, "create node group "+in.Name, "its launch template was just made: %w", err)
	}
	return cloud.Named(err)
}

// changePool makes the next change of a node group. EKS takes one at a time.
func (m *managed) changePool(ctx context.Context, op fleet.OperationID, is *cloud.Nodegroup, want *wantedGroup) error {
	d := want.compare(is)
	d.leaveOverruled(m.p, is)
	var refused []error
	if len(d.tags) > 0 {
		err := m.place.TagManaged(ctx, is.ARN, d.tags)
		if err == nil {
			m.p.took(askOf(is.ARN, d.tags))
		}
		refused = append(refused, cloud.Wrap("tag node group "+is.Name, err))
	}
	if d.update == nil && !d.upgrade && !d.template {
		return fleet.JoinErrors(refused...)
	}
	switch is.Status {
	case cloud.Active, cloud.Degraded:
	case cloud.CreateFailed: // which keeps its name: another definition is another try
		nodes, err := m.place.NodesOf(ctx, m.is.Name)
		if err != nil {
			return err
		}
		if n := len(nodes[is.Name]); n > 0 {
			return fleet.Errorf(fleet.Conflict, "create node group "+is.Name+" again", "its creation failed, and it has %d machines (delete it in AWS, or set another eksNodegroupName)", n)
		}
		return busyNow(m.place.DeleteNodegroup(ctx, m.is.Name, is.Name))
	default:
		return fleet.Errorf(fleet.Conflict, "change node group "+is.Name, "EKS takes no change of it now: it is %s", is.Status)
	}
	refused = append(refused, cloud.Wrap("delete old versions of the launch template of "+is.Name, m.prune(ctx, want, is)))
	for _, do := range m.tries(ctx, op, d, is, want) {
		err := do()
		switch {
		case err == nil:
		case cloud.IsThere(err):
			continue
		case cloud.IsBusy(err):
			err = fleet.Errorf(fleet.Conflict, "change node group "+is.Name, "EKS takes no change of it now: %w", err)
		case fleet.Refused(cloud.Wrap("", err)): // which may stay so, and holds up nothing else
			refused = append(refused, cloud.Wrap("change node group "+is.Name, err))
			continue
		}
		return fleet.JoinErrors(append(refused, err)...)
	}
	return fleet.JoinErrors(refused...)
}

// tries returns the changes of a node group of which EKS gets the first one that it does not refuse.
func (m *managed) tries(ctx context.Context, op fleet.OperationID, d groupDiff, is *cloud.Nodegroup, want *wantedGroup) (out []func() error) {
	update := func(u cloud.NodegroupUpdate) {
		out = append(out, func() error {
			err := m.place.UpdateNodegroup(ctx, m.is.Name, is.Name, u)
			if err == nil {
				m.p.took(askOf(is.ARN, &u))
			}
			return err
		})
	}
	if d.update != nil {
		update(*d.update)
		if number := (cloud.NodegroupUpdate{Scaling: d.update.Scaling}); number.Scaling != nil && !reflect.DeepEqual(number, *d.update) {
			update(number)
		}
	}
	if d.upgrade || d.template {
		out = append(out, func() error { return m.replaceNodes(ctx, op, d, is, want) })
	}
	return out
}

// replaceNodes has EKS replace the machines of a node group by those of another version, image or launch template.
func (m *managed) replaceNodes(ctx context.Context, op fleet.OperationID, d groupDiff, is *cloud.Nodegroup, want *wantedGroup) error {
	u, created, err := cloud.NodegroupUpgrade{}, false, error(nil)
	if d.upgrade {
		u.Version, u.Release = want.Version, want.Release
	}
	if want.template != nil {
		if u.Template, created, err = m.launch(ctx, op, want, is); err != nil {
			return err
		}
	}
	m.p.o.Log.InfoContext(ctx, "upgrading a node group", "cluster", m.c.Key.String(), "name", is.Name, "from", is.Version, "to", want.Version)
	err = m.place.UpgradeNodegroup(ctx, m.is.Name, is.Name, u)
	o := m.owner.Part(fleet.MachineName(want.pool.Name))
	switch {
	case created && isNotYetThere(err):
		return fleet.Errorf(fleet.Unavailable, "move node group "+is.Name, "the version of its launch template was just made: %w", err)
	case err != nil:
		return err
	case d.upgrade:
		m.p.begun.Note(o, want.Version)
	}
	if d.template {
		m.p.moved.Note(o, u.Template.Version)
	}
	return nil
}

// movedText says for people that EKS gave up to replace the machines of a node group by those of another launch template; empty: it did
// not.
func (m *managed) movedText(is *cloud.Nodegroup, pool fleet.PoolName, d groupDiff) string {
	to, ok := m.p.moved.Of(m.owner.Part(fleet.MachineName(pool)))
	if !ok || !d.template || is.Status != cloud.Active || is.Template == nil || is.Template.Version == to {
		return ""
	}
	return fmt.Sprintf("EKS began to move it to version %s of its launch template and gave up, often since Pods could not be evicted: the updates of node group %s in AWS say why", to, is.Name)
}

// DeletePool implements providers.PoolKeeper.
func (p *Provider) DeletePool(ctx context.Context, _ fleet.OperationID, c *fleet.Cluster, name fleet.PoolName) error {
	what := fmt.Sprintf("delete pool %s/%s", c.Key.Namespace, name)
	m, err := p.lookManaged(ctx, c)
	if err != nil {
		return cloud.WrapLook(what, err)
	}
	groups, err := m.nodegroups(ctx)
	if err != nil {
		return cloud.WrapLook(what, err)
	}
	is := m.groupOf(groups, name)
	switch {
	case is == nil:
		return cloud.Wrap(what, m.dropTemplates(ctx, name))
	case is.Status == cloud.Deleting:
		return nil
	}
	p.o.Log.InfoContext(ctx, "deleting a node group", "cluster", c.Key.String(), "pool", string(name), "name", is.Name)
	return cloud.Wrap(what, busyNow(m.place.DeleteNodegroup(ctx, m.is.Name, is.Name)))
}
