package azure

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// A managed is what was seen of a cluster of AKS.
type managed struct {
	*view
	name string // of the cluster of AKS in Git
	want *api.AzureManagedControlPlaneSpec
	is   *arm.Resource[arm.ManagedCluster] // nil: it is not there
	raw  map[string]any                    // the same, as a GET gave it
	// foreign says that a cluster of that name is there, and is not of the cluster.
	foreign bool
	// lost says that the foreign one was the cluster, or is in its network: it lost its tags.
	lost bool
}

// The states in which AKS has nothing to do.
const (
	succeeded = "Succeeded"
	failed    = "Failed"
	canceled  = "Canceled"
	creating  = "Creating"
	deleting  = "Deleting"
	stopped   = "Stopped"
)

// lookManaged looks at c, whose control plane AKS keeps.
func (p *Provider) lookManaged(ctx context.Context, c *fleet.Cluster) (*managed, error) {
	spec, name, err := api.ReadControlPlane(c)
	if err != nil {
		return nil, err
	}
	v, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return nil, err
	}
	m := &managed{view: v, name: name, want: spec}
	if was, ok := p.names.Of(v.owner); ok && was != name { // one that was just made may not be listed yet
		if err := m.find(ctx, was); err != nil || m.is != nil {
			return m, err
		}
	}
	if err := m.find(ctx, name); err != nil || m.is != nil || v.group == nil {
		return m, err
	}
	all, err := arm.List[arm.Resource[arm.State]](ctx, v.place.Client, v.place.kind(arm.ManagedClusters))
	if err != nil && !arm.IsMissing(err) {
		return nil, err
	}
	for _, r := range all { // a name that changed in Git makes no second cluster
		if c.Owns(tagsFrom(r.Tags)) {
			return m, m.find(ctx, r.Name)
		}
	}
	return m, nil
}

// find looks at the cluster of AKS called name, and enters it if it carries the tags of the cluster.
func (m *managed) find(ctx context.Context, name string) error {
	var raw map[string]any
	switch err := m.place.Get(ctx, m.place.resource(arm.ManagedClusters, name), &raw); {
	case arm.IsMissing(err):
		return nil
	case err != nil:
		return err
	}
	is, err := typed[arm.ManagedCluster](raw)
	if err != nil {
		return err
	}
	if !m.c.Owns(tagsFrom(is.Tags)) {
		if name == m.name {
			was := m.c.Residence.Endpoint.Host
			ours := slices.ContainsFunc(is.Properties.Pools, func(p arm.AgentProfile) bool {
				return slices.ContainsFunc(m.vnets, func(n arm.Resource[arm.VNet]) bool { return arm.Same(vnetOf(p.Subnet), n.ID) })
			})
			m.foreign, m.lost = true, ours || was != "" && (was == is.Properties.FQDN || was == is.Properties.PrivateFQDN)
			m.kept = m.lost
		}
		return nil
	}
	m.is, m.raw, m.foreign, m.lost, m.kept = is, raw, false, false, true
	for _, p := range is.Properties.Pools {
		m.poolSubnets = append(m.poolSubnets, p.Subnet)
	}
	m.p.names.Note(m.owner, is.Name)
	return nil
}

// typed returns what of a resource is read.
func typed[P any](raw map[string]any) (*arm.Resource[P], error) {
	data, err := json.Marshal(raw)
	if err != nil {
		return nil, err
	}
	out := new(arm.Resource[P])
	return out, json.Unmarshal(data, out)
}

// vnetOf returns the id of the VNet of a subnet.
func vnetOf(subnet string) string {
	return subnet[:max(0, strings.LastIndex(strings.ToLower(subnet), "/subnets/"))]
}

// serves reports whether machines may join.
func (m *managed) serves() bool {
	if m.is == nil || m.is.Properties.Version == "" || m.is.Properties.Power.Code == stopped {
		return false
	}
	s := m.is.Properties.Provisioning
	return s != creating && s != deleting
}

// idle reports whether AKS takes a change of the cluster or of one of its pools: it takes one at a time.
func (m *managed) idle() bool { return m.busy() == "" }

// busy says what AKS has to do first; empty: nothing.
func (m *managed) busy() string {
	if s := m.is.Properties.Provisioning; !isSettled(s) {
		return "cluster " + m.is.Name + " is " + s
	}
	for _, p := range m.is.Properties.Pools {
		if !isSettled(p.Provisioning) {
			return "agent pool " + p.Name + " is " + p.Provisioning
		}
	}
	return ""
}

func isSettled(state string) bool {
	return state == succeeded || state == failed || state == canceled || state == ""
}

// message says why it does not serve, or what is wrong with it; empty: nothing.
func (m *managed) message() string {
	switch {
	case m.is == nil && m.foreign:
		return m.notOurs()
	case m.is == nil:
		return "AKS has no cluster " + m.name
	case m.is.Properties.Power.Code == stopped:
		return "cluster " + m.is.Name + " of AKS is stopped (start it: az aks start)"
	}
	switch s := m.is.Properties.Provisioning; s {
	case creating:
		return "AKS is creating cluster " + m.is.Name
	case deleting:
		return "AKS is deleting cluster " + m.is.Name
	case failed, canceled:
		return fmt.Sprintf("cluster %s of AKS is %s, and is asked for again (az aks show, and the activity log of the cluster, say why)", m.is.Name, s)
	default:
		if m.serves() {
			return ""
		}
		return "cluster " + m.is.Name + " of AKS is " + s
	}
}

func (m *managed) notOurs() string {
	if m.lost {
		return fmt.Sprintf("AKS has a cluster %s that was this cluster, or is in its network, without the tags of this cluster (bring the tags back, or abandon the cluster)", m.name)
	}
	return fmt.Sprintf("AKS has a cluster %s in resource group %s without the tags of this cluster (give the %s another name, or another resourceGroupName)", m.name, m.place.group, api.ManagedControlPlane)
}

// networkOnly decides about the network alone: AKS keeps machines and the endpoint.
func (m *managed) networkOnly() *steps.Decision {
	d := new(steps.Decision)
	m.network(d)
	return d
}

// subnetID returns the id of the subnet called name of the VNet of the cluster, or of the one for its machines. It has to be there.
func (m *managed) subnetID(name string) (string, error) {
	d := new(steps.Decision)
	n := m.network(d)
	if name == "" || len(m.spec.NetworkSpec.Subnets) > 0 && strings.EqualFold(name, m.spec.NetworkSpec.Subnets[0].Name) {
		if s := n.subnet(fleet.RoleWorker, ""); s != nil {
			return s.id, nil
		}
		return "", fleet.JoinErrors(append(d.Faults, fleet.Errorf(fleet.Conflict, "find the subnet of machines", "the network of the cluster is not complete"))...)
	}
	list := m.vnets
	if m.given != nil {
		list = []arm.Resource[arm.VNet]{*m.given}
	}
	for _, n := range list {
		for _, s := range n.Properties.Subnets {
			if strings.EqualFold(s.Name, name) {
				return s.ID, nil
			}
		}
	}
	return "", fleet.Errorf(fleet.Invalid, "find subnet "+name, "VNet %s has no such subnet (name one that exists in subnetName, or leave it out)", m.vnetName())
}

// observeManaged observes the agent pools of c: they are all that it has beside its control plane, but for machines of a
// time when Git had machines in the place of that.
func (p *Provider) observeManaged(ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
	m, err := p.lookManaged(ctx, c)
	if err != nil {
		return fleet.Infrastructure{}, err
	}
	pools, err := m.agentPools(ctx)
	if err != nil {
		return fleet.Infrastructure{}, err
	}
	out := fleet.Infrastructure{
		Exists: len(pools)+len(m.vms) > 0, Ready: m.serves(), Message: m.message(), Endpoint: c.Endpoint, Machines: m.machines(),
		Places: []fleet.PlaceSeen{{Place: fleet.Place{ID: m.place.id()}, Used: m.is != nil || m.exists(), Named: true}},
	}
	driver.SortMachines(out.Machines)
	if len(pools) > 0 {
		out.Pools, err = m.pools(ctx, pools)
	}
	return out, err
}

// nothingKept refuses to go on while there are agent pools. There is nothing else to delete.
func (p *Provider) nothingKept(ctx context.Context, what string, c *fleet.Cluster) error {
	m, err := p.lookManaged(ctx, c)
	if err != nil {
		return err
	}
	pools, err := m.agentPools(ctx)
	if err == nil && len(pools) > 0 {
		return fleet.Errorf(fleet.Conflict, what, "there are still agent pools, %s is the first", pools[0].is.Name)
	}
	return err
}

// checkManaged looks up what a cluster of AKS needs.
func (p *Provider) checkManaged(ctx context.Context, c *fleet.Cluster, note driver.Note, lacks demands) error {
	m, err := p.lookManaged(ctx, c)
	if err != nil {
		return arm.WrapLook("look at AKS", err)
	}
	if m.foreign {
		err = fleet.Errorf(fleet.Conflict, "find the name of the cluster", "%s", m.notOurs())
	}
	note("cluster of AKS", m.name, err)
	if m.is == nil {
		_, err := m.firstPool()
		note("System pool", "", err)
	}
	all, err := m.agentPools(ctx)
	if err != nil {
		return arm.WrapLook("look at the agent pools", err)
	}
	for _, pool := range c.KeptPools {
		spec, err := api.ReadPool(pool.Infrastructure)
		if err != nil {
			note("pool "+string(pool.Name), "", err)
			continue
		}
		_, ok, err := m.place.sizeOf(ctx, m.spec.Location, spec.SKU)
		if err == nil && !ok {
			err = fleet.Errorf(fleet.Invalid, "find size "+spec.SKU, "%s has no such size (name another in sku)", m.spec.Location)
		}
		note("size", spec.SKU, err)
		count := pool.Count
		if pool.Range != nil {
			count = pool.Range.Bound(count)
		}
		if is := m.poolOf(all, pool.Name); is != nil {
			count -= is.is.Properties.Count
		}
		lacks.add(ctx, m.view, count, spec.SKU, spec.ScaleSetPriority == api.SpotPool)
	}
	return nil
}
