package azure

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// An agentPool is one of a cluster of AKS.
type agentPool struct {
	is  *arm.Resource[arm.AgentPool]
	raw map[string]any // as Azure lists it
}

// poolsID is the id of the agent pools of the cluster.
func (m *managed) poolsID() string { return m.is.ID + "/agentPools" }

// allPools returns the agent pools of the cluster, sorted.
func (m *managed) allPools(ctx context.Context) ([]agentPool, error) {
	if m.is == nil || m.is.Properties.Provisioning == creating {
		return nil, nil
	}
	list, err := arm.List[map[string]any](ctx, m.place.Client, m.poolsID())
	if err != nil {
		if arm.IsMissing(err) {
			err = nil // the cluster went meanwhile
		}
		return nil, err
	}
	var out []agentPool
	for _, raw := range list {
		is, err := typed[arm.AgentPool](raw)
		if err != nil {
			return nil, err
		}
		out = append(out, agentPool{is, raw})
	}
	slices.SortFunc(out, func(a, b agentPool) int { return cmp.Compare(a.is.Name, b.is.Name) })
	return out, nil
}

// agentPools returns those that carry the tags of the cluster, or the name of one in Git.
func (m *managed) agentPools(ctx context.Context) ([]agentPool, error) {
	all, err := m.allPools(ctx)
	return slices.DeleteFunc(all, func(p agentPool) bool { return !m.owns(&p) && m.poolCalled(p.is.Name) == "" }), err
}

func (m *managed) owns(p *agentPool) bool { return m.c.Owns(tagsFrom(p.is.Properties.Tags)) }

// poolCalled returns the pool in Git whose agent pool is called name; empty: none is.
func (m *managed) poolCalled(name string) fleet.PoolName {
	for _, p := range m.c.KeptPools {
		if spec, err := api.ReadPool(p.Infrastructure); err == nil && spec.Name == name {
			return p.Name
		}
	}
	return ""
}

// lastSystem returns the only System pool of the cluster, which AKS does not delete; nil: there are others.
func (m *managed) lastSystem(all []agentPool) *agentPool {
	var out *agentPool
	for i := range all {
		if p := &all[i]; p.is.Properties.Mode == api.SystemPool && p.is.Properties.Provisioning != deleting {
			if out != nil {
				return nil
			}
			out = p
		}
	}
	return out
}

// poolOf returns the agent pool of a pool: that with its tags; nil: there is none.
func (m *managed) poolOf(all []agentPool, name fleet.PoolName) *agentPool {
	for i := range all {
		if p := &all[i]; m.owns(p) && tagsFrom(p.is.Properties.Tags)[fleet.TagPool] == string(name) {
			return p
		}
	}
	return nil
}

// pools returns what agent pools are of the cluster.
func (m *managed) pools(ctx context.Context, all []agentPool) ([]fleet.KeptPoolSeen, error) {
	var out []fleet.KeptPoolSeen
	nodes, err := m.instances(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		g, p := &all[i], &all[i].is.Properties
		set := nodes[strings.ToLower(g.is.Name)]
		s := fleet.KeptPoolSeen{
			Name: fleet.PoolName(tagsFrom(p.Tags)[fleet.TagPool]), Count: p.Count, Version: "v" + cmp.Or(p.Version, p.Orchestrator), Machines: set.ids, Created: set.created,
		}
		if s.State, s.Message = stateOfPool(p); m.is.Properties.Provisioning == deleting {
			s.State = fleet.KeptDeleting
		}
		if !m.owns(g) || s.Name == "" {
			s.Name = cmp.Or(m.poolCalled(g.is.Name), fleet.PoolName(g.is.Name))
			s.Damaged = "the tags of agent pool " + g.is.Name + " do not say that it is a pool of " + m.c.Key.String()
		}
		if p.AutoScaling {
			s.Range = &fleet.PoolRange{Min: p.MinCount, Max: p.MaxCount}
		}
		if want, ok := m.c.KeptPool(s.Name); ok {
			if s.Range != nil && want.Range != nil && s.Range.Max == max(want.Range.Max, 1) { // AKS takes no maximum of 0
				s.Range.Max = want.Range.Max
			}
			if wanted, err := m.wantedPool(want); err == nil { // EnsurePool tells what is wrong with it
				d := wanted.compare(g)
				s.Drift, s.Fixed = d.drift, d.fixed
				s.Message = strings.TrimPrefix(strings.TrimSuffix(s.Message+"; "+overruledText(d.overruled), "; "), "; ")
			}
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b fleet.KeptPoolSeen) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// stateOfPool says how far AKS is with an agent pool.
func stateOfPool(p *arm.AgentPool) (fleet.KeptState, string) {
	switch s := p.Provisioning; s {
	case creating:
		return fleet.KeptCreating, ""
	case deleting:
		return fleet.KeptDeleting, ""
	case succeeded, "":
		if p.Power.Code == stopped {
			return fleet.KeptActive, "it is stopped (start it: az aks nodepool start)"
		}
		return fleet.KeptActive, ""
	case failed, canceled:
		return fleet.KeptFailed, s + ": the activity log of the cluster in Azure says why"
	default:
		return fleet.KeptUpdating, s
	}
}

// A scaleSet has the machines of an agent pool.
type scaleSet struct {
	ids     []fleet.ProviderID // sorted
	created time.Time
}

// poolNameTag is the tag by which AKS marks the scale set of an agent pool.
const poolNameTag = "aks-managed-poolName"

// instances returns the machines of agent pools, by the names of these in lower case.
func (m *managed) instances(ctx context.Context) (map[string]scaleSet, error) {
	out := make(map[string]scaleSet)
	group := arm.GroupID(m.place.Subscription(), m.is.Properties.NodeGroup)
	sets, err := arm.List[arm.Resource[arm.ScaleSet]](ctx, m.place.Client, group+"/providers/"+arm.ScaleSets)
	if arm.IsMissing(err) { // AKS makes the group, or is deleting it
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	for _, set := range sets {
		name := strings.ToLower(set.Tags[poolNameTag])
		if name == "" {
			continue
		}
		list, err := arm.List[arm.Resource[arm.State]](ctx, m.place.Client, group+"/providers/"+arm.ScaleSets+"/"+set.Name+"/virtualMachines")
		if err != nil && !arm.IsMissing(err) {
			return nil, err
		}
		s := out[name]
		s.created = set.Properties.Created
		for _, i := range list {
			s.ids = append(s.ids, instanceID(i.ID))
		}
		slices.Sort(s.ids)
		out[name] = s
	}
	return out, nil
}

// instanceID returns the provider id of a machine of a scale set, with its resource group in lower case.
// Source: Kubernetes cloud provider Azure, pkg/provider/azure_vmss.go.
func instanceID(id string) fleet.ProviderID {
	seg := strings.Split(id, "/")
	if len(seg) < 11 {
		return fleet.ProviderID(idPrefix + id)
	}
	return fleet.ProviderID(idPrefix + "/subscriptions/" + strings.ToLower(seg[2]) + "/resourceGroups/" + strings.ToLower(seg[4]) + "/providers/" + arm.ScaleSets + "/" + seg[8] + "/virtualMachines/" + seg[10])
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
		return arm.WrapLook(what, err)
	}
	if !m.serves() {
		return fleet.Errorf(fleet.Conflict, what, "the control plane is not there: %s", m.message())
	}
	all, err := m.allPools(ctx)
	if err != nil {
		return arm.WrapLook(what, err)
	}
	want, err := m.wantedPool(pool)
	if err != nil {
		return arm.Wrap(what, err)
	}
	is := m.poolOf(all, pool.Name)
	if is != nil && want.compare(is).none() {
		return nil
	}
	if busy := m.busy(); busy != "" {
		return fleet.Errorf(fleet.Conflict, what, "AKS takes no change now: %s", busy)
	}
	if is == nil {
		return arm.Wrap(what, m.createPool(ctx, op, all, want))
	}
	return arm.Wrap(what, m.changePool(ctx, is, want))
}

// createPool asks for an agent pool.
func (m *managed) createPool(ctx context.Context, op fleet.OperationID, all []agentPool, want *wantedPool) error {
	name := want.spec.Name
	taken := fleet.Errorf(fleet.Conflict, "find the name of the agent pool", "cluster %s of AKS has an agent pool %s without the tags of the pool (set another name)", m.is.Name, name)
	if slices.ContainsFunc(all, func(p agentPool) bool { return strings.EqualFold(p.is.Name, name) }) {
		return taken
	}
	m.p.o.Log.InfoContext(ctx, "requesting an agent pool", "cluster", m.c.Key.String(), "pool", string(want.pool.Name), "name", name, "machines", want.pool.Count)
	id := m.poolsID() + "/" + name
	err := m.place.Put(ctx, id, map[string]any{"properties": want.create(op)}, arm.Absent())
	if !arm.IsTaken(err) {
		return arm.Named(err)
	}
	var now arm.Resource[arm.AgentPool]
	if err := m.place.Get(ctx, id, &now); err != nil {
		return err
	}
	if is := (&agentPool{is: &now}); m.owns(is) && tagsFrom(now.Properties.Tags)[fleet.TagPool] == string(want.pool.Name) {
		return nil // another request made it
	}
	return taken
}

// changePool makes the next change of an agent pool. What AKS refuses permanently holds up nothing else.
func (m *managed) changePool(ctx context.Context, is *agentPool, want *wantedPool) error {
	d := want.compare(is)
	type edit struct {
		config          []string
		number, upgrade bool
	}
	var tries []edit
	if len(d.config) > 0 || d.number || d.failed && !d.upgrade {
		tries = append(tries, edit{config: d.config, number: d.number})
	}
	if len(d.config) > 0 && d.number {
		tries = append(tries, edit{number: true})
	}
	if len(d.config) > 1 || len(d.config) > 0 && d.number {
		for _, what := range d.config {
			tries = append(tries, edit{config: []string{what}})
		}
	}
	if d.upgrade {
		tries = append(tries, edit{upgrade: true})
	}
	var refused []error
	for _, e := range tries {
		m.p.o.Log.InfoContext(ctx, "changing an agent pool", "cluster", m.c.Key.String(), "name", is.is.Name, "config", e.config, "number", e.number, "upgrade", e.upgrade)
		body := plain(is.raw)
		p := propertiesIn(body)
		etag, _ := p["eTag"].(string)
		keepOwn(p)
		for _, what := range e.config {
			d.values[what].write(p)
		}
		if e.number {
			want.scale(p, is.is.Properties.Count, false)
		}
		if e.upgrade {
			p["orchestratorVersion"] = want.version()
		}
		readOnly(body, "id", "name", "type")
		err := m.place.Put(ctx, m.poolsID()+"/"+is.is.Name, body, arm.Unchanged(etag))
		if err == nil {
			for _, what := range e.config {
				m.p.asked(askOf(want.poolID(is), what, d.values[what].want))
			}
			return fleet.JoinErrors(refused...)
		}
		if refused = append(refused, err); !arm.IsPermanent(err) {
			break
		}
	}
	return fleet.JoinErrors(refused...)
}

// DeletePool implements providers.PoolKeeper. The last System pool of a cluster that is to go takes the cluster with it:
// AKS deletes neither without the other. So does each pool of one that is stopped, of which AKS deletes no pool.
func (p *Provider) DeletePool(ctx context.Context, _ fleet.OperationID, c *fleet.Cluster, name fleet.PoolName) error {
	what := fmt.Sprintf("delete pool %s/%s", c.Key.Namespace, name)
	m, err := p.lookManaged(ctx, c)
	if err != nil {
		return arm.WrapLook(what, err)
	}
	all, err := m.allPools(ctx)
	if err != nil {
		return arm.WrapLook(what, err)
	}
	is := m.poolOf(all, name)
	if is == nil || is.is.Properties.Provisioning == deleting || m.is.Properties.Provisioning == deleting {
		return nil
	}
	last := m.lastSystem(all)
	isLast := last != nil && last.is.Name == is.is.Name
	if c.Delete && (isLast || m.is.Properties.Power.Code == stopped) {
		return arm.Wrap(what, m.remove(ctx, what))
	}
	if isLast {
		return fleet.Errorf(fleet.Conflict, what, "agent pool %s is the last System pool, and goes with the cluster alone (add another one with mode: System first)", is.is.Name)
	}
	if busy := m.busy(); busy != "" {
		return fleet.Errorf(fleet.Unavailable, what, "AKS takes no change now: %s", busy)
	}
	p.o.Log.InfoContext(ctx, "deleting an agent pool", "cluster", c.Key.String(), "pool", string(name), "name", is.is.Name)
	return arm.Wrap(what, m.place.Delete(ctx, m.poolsID()+"/"+is.is.Name))
}
