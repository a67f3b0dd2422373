package aws

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// A managed is what was seen of a cluster of EKS.
type managed struct {
	*view
	want *api.AWSManagedControlPlaneSpec
	is   *cloud.ManagedCluster // nil: it is not there
	// foreign says that a cluster of that name is there, and is not of the cluster.
	foreign bool
	// lost says that the foreign one was the cluster, or is in its network: it lost its tags.
	lost bool
	// lockedOut says that no access entry lets in the agent, once changes looked at them.
	lockedOut bool
	// addons are those that are there, once changes looked at them.
	addons []*cloud.Addon
	// fargate are the profiles that are there, once changes looked at them.
	fargate []*cloud.FargateProfile
	// overruled is what EKS took and does not have, once changes looked at it.
	overruled []string
}

// lookManaged looks at c, whose control plane EKS keeps.
func (p *Provider) lookManaged(ctx context.Context, c *fleet.Cluster) (*managed, error) {
	return p.lookManagedFor(ctx, c, snapshot.OwnerOf(c))
}

// lookManagedFor is lookManaged with all changes of o.
func (p *Provider) lookManagedFor(ctx context.Context, c *fleet.Cluster, o snapshot.Owner) (*managed, error) {
	spec, err := api.ReadControlPlane(c)
	if err != nil {
		return nil, err
	}
	v, err := p.look(ctx, c, o)
	if err != nil {
		return nil, err
	}
	v.service = spec.EKSClusterName
	m := &managed{view: v, want: spec}
	is, err := v.place.ManagedCluster(ctx, spec.EKSClusterName)
	switch {
	case err == nil && c.Owns(is.Tags):
		m.is, v.cluster, v.kept = is, is, true
		p.names.Note(v.owner, is.Name)
		return m, nil
	case err == nil:
		was := c.Residence.Endpoint.Host
		m.foreign, m.lost = true, v.ours(is.VPC.VPC) || was != "" && is.Endpoint == "https://"+was
	case !cloud.IsNotFound(err):
		return nil, err
	}
	m.is, err = m.renamed(ctx)
	v.cluster, v.kept = m.is, m.is != nil || m.lost
	return m, err
}

// renamed returns the cluster that carries the tags of c under another name than Git has; nil: there is none. A name
// that changed in Git makes no second cluster.
func (m *managed) renamed(ctx context.Context) (*cloud.ManagedCluster, error) {
	names, err := m.place.ManagedClusters(ctx)
	if err != nil {
		return nil, err
	}
	if was, ok := m.p.names.Of(m.owner); ok && !slices.Contains(names, was) { // which may not be listed yet
		names = append(names, was)
	}
	for _, name := range names {
		if name == m.want.EKSClusterName {
			continue
		}
		is, err := m.place.ManagedCluster(ctx, name)
		switch {
		case cloud.IsNotFound(err): // it went meanwhile
		case err != nil:
			return nil, err
		case m.c.Owns(is.Tags):
			m.service = is.Name
			m.p.names.Note(m.owner, is.Name)
			return is, nil
		}
	}
	return nil, nil //nolint:nilnil // there is none, and nothing is wrong
}

// serves reports whether machines may join.
func (m *managed) serves() bool {
	return m.is != nil && (m.is.Status == cloud.Active || m.is.Status == cloud.Updating) && m.is.Endpoint != "" && m.is.CA.Data != ""
}

// message says why it does not serve, or what EKS finds wrong with it; empty: nothing.
func (m *managed) message() string {
	switch {
	case m.serves():
		return m.is.Health.String()
	case m.is == nil && m.foreign:
		return m.notOurs()
	case m.is == nil:
		return "EKS has no cluster " + m.want.EKSClusterName
	case m.is.Status == cloud.Creating:
		return "EKS is creating cluster " + m.is.Name
	case m.is.Status == cloud.Deleting:
		return "EKS is deleting cluster " + m.is.Name
	case m.is.Status == cloud.Failed:
		return fmt.Sprintf("EKS could not create cluster %s: %s (fix that, and delete the cluster in AWS: then it is created again)", m.is.Name, cmp.Or(m.is.Health.String(), "it gives no reason"))
	}
	return "cluster " + m.is.Name + " of EKS is " + m.is.Status
}

func (m *managed) notOurs() string {
	if m.lost {
		return fmt.Sprintf("EKS has a cluster %s that was this cluster, or is in its network, without the tags of this cluster (bring the tags back, or abandon the cluster)", m.want.EKSClusterName)
	}
	return fmt.Sprintf("EKS has a cluster %s without the tags of this cluster (set another eksClusterName)", m.want.EKSClusterName)
}

// wantsSix reports whether Git has IPv6 for Pods and Services, as EKS makes a cluster with one family of these.
// Source: CAPA, pkg/cloud/services/eks/cluster.go.
func (m *managed) wantsSix() bool { return m.want.Network.VPC.IPv6 != nil }

// isSix reports whether the control plane is of EKS, and its Pods and Services have IPv6.
func (v *view) isSix() bool { return v.cluster != nil && v.cluster.Services.Family == cloud.OfIPv6 }

// net decides about the network. A cluster that is there stays in its VPC: no other one is made for it.
func (m *managed) net(d *steps.Decision) network {
	is, want := "", m.want.Network.VPC.ID
	if m.is != nil {
		is = m.is.VPC.VPC
	}
	switch {
	case is == "" || is == want || want == "" && m.ours(is):
		return m.network(d)
	case want == "":
		d.CannotFollow("network.vpc.id", "the cluster is in %s, which Git named before, and cannot leave it (name it again, or make another cluster)", is)
	default:
		d.CannotFollow("network.vpc.id", "the cluster is in %s and cannot move to %s (make another cluster)", is, want)
	}
	return m.sorted(is, nil)
}

// networkOnly decides about the network alone: machines are in groups of EKS, and it keeps the endpoint.
func (m *managed) networkOnly() *steps.Decision {
	d := new(steps.Decision)
	m.net(d)
	return d
}

// controlPlaneSubnets returns the ids of the subnets of the control plane, sorted.
func (m *managed) controlPlaneSubnets() []string {
	n := m.net(new(steps.Decision))
	all := n.private
	if !m.want.RestrictPrivateSubnets {
		all = slices.Concat(n.private, n.public)
	}
	return idsOf(all)
}

func idsOf(subnets []cloud.Subnet) []string {
	var out []string
	for _, s := range subnets {
		out = append(out, s.ID)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// busyNow makes an error that says that EKS takes no change now one that ends by itself.
func busyNow(err error) error {
	if !cloud.IsBusy(err) {
		return err
	}
	return &fleet.Error{Kind: fleet.Unavailable, Err: fmt.Errorf("EKS takes no change now: %w", err)}
}

// observeManaged observes the node groups of c and its machines: they are all that it has beside its control plane.
func (p *Provider) observeManaged(ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
	m, err := p.lookManaged(ctx, c)
	if err != nil {
		return fleet.Infrastructure{}, err
	}
	id, err := m.place.ID(ctx)
	if err != nil {
		return fleet.Infrastructure{}, err
	}
	groups, err := m.nodegroups(ctx)
	if err != nil {
		return fleet.Infrastructure{}, err
	}
	fargate := false
	if c.Delete && m.is != nil && m.is.Status != cloud.Deleting { // their Nodes are ready until they go
		all, err := profiles(ctx, m.place, m.is.Name, wantsFargate(c))
		if err != nil {
			return fleet.Infrastructure{}, err
		}
		fargate = len(all) > 0
	}
	templates, err := m.templates(ctx)
	if err != nil {
		return fleet.Infrastructure{}, err
	}
	left := m.leftTemplates(templates, groups)
	out := fleet.Infrastructure{
		Exists: len(groups)+len(m.instances)+len(left) > 0 || fargate, Ready: m.serves(), Message: m.message(), Endpoint: c.Endpoint, Machines: m.machines(), Failures: m.failures(), FailureDomains: m.failureDomains(),
		Places: []fleet.PlaceSeen{{Place: fleet.Place{ID: id}, Used: m.is != nil || m.exists(), Named: true}},
	}
	driver.SortMachines(out.Machines)
	if len(groups) > 0 {
		out.Pools, err = m.pools(ctx, groups, templates)
	}
	out.Pools = append(out.Pools, left...)
	return out, err
}

// deleteManaged deletes the Fargate profiles of a cluster of EKS, once there are no node groups. All else goes with its
// control plane.
func (p *Provider) deleteManaged(ctx context.Context, what string, c *fleet.Cluster) error {
	m, err := p.lookManaged(ctx, c)
	if err != nil {
		return err
	}
	groups, err := m.nodegroups(ctx)
	if err == nil && len(groups) > 0 {
		return fleet.Errorf(fleet.Conflict, what, "there are still node groups, %s is the first", groups[0].Name)
	}
	if err != nil || m.is == nil || m.is.Status == cloud.Deleting {
		return err
	}
	_, err = dropFargate(ctx, m.place, m.is.Name, wantsFargate(c), c.Owns)
	return cloud.Wrap(what, err)
}

// letsInTheAgent finds the entry in Git that lets in the agent.
func (m *managed) letsInTheAgent(ctx context.Context) error {
	for i := range m.want.AccessEntries {
		if own, err := m.place.IsOwn(ctx, m.want.AccessEntries[i].PrincipalARN); own || err != nil {
			return cloud.WrapLook("find whose the credentials are", err)
		}
	}
	return fleet.Errorf(fleet.Invalid, "find an access entry for the agent", "accessEntries have none, and bootstrapClusterCreatorAdminPermissions is false: nothing lets the agent in (add one with the policy AmazonEKSClusterAdminPolicy)")
}

// checkManaged looks up what a cluster of EKS needs.
func (p *Provider) checkManaged(ctx context.Context, c *fleet.Cluster, note driver.Note) error {
	m, err := p.lookManaged(ctx, c)
	if err != nil {
		return cloud.WrapLook("look at EKS", err)
	}
	if m.foreign {
		err = fleet.Errorf(fleet.Conflict, "find the name of the cluster", "%s", m.notOurs())
	}
	note("cluster of EKS", m.want.EKSClusterName, err)
	if m.is == nil && !*m.want.AccessConfig.BootstrapClusterCreatorAdminPermissions {
		note("access entry of the agent", "", m.letsInTheAgent(ctx))
	}
	n, zones := m.net(new(steps.Decision)), make(map[string]bool)
	for _, s := range slices.Concat(n.private, n.public) {
		zones[s.Zone] = true
	}
	if n.vpc != "" && len(zones) < 2 {
		note("zones", "", fleet.Errorf(fleet.Invalid, "find subnets for EKS", "those of %s are in %d zones, and EKS needs two (add subnets)", n.vpc, len(zones)))
	}
	for i := range m.want.Addons {
		a := &m.want.Addons[i]
		note("addon", a.Name+" "+a.Version, m.addonVersion(ctx, a, m.want.Version))
	}
	if wantsFargate(c) && n.vpc != "" && len(m.fargateSubnets()) == 0 {
		note("Fargate", "", fleet.Errorf(fleet.Invalid, "find private subnets for Fargate", "%s has none (add some)", n.vpc))
	}
	for _, pool := range c.Workers {
		p.checkPool(ctx, m.view, pool, n, note)
	}
	for _, p := range c.KeptPools {
		spec, err := api.ReadPool(p.Infrastructure)
		if err == nil && n.vpc != "" { // else its subnets are not there yet
			_, err = m.wanted(ctx, p)
		}
		if err != nil {
			note("pool "+string(p.Name), "", err)
			continue
		}
		if image := spec.Image(); image != "" {
			_, err := m.place.Image(ctx, image)
			note("image", image, cloud.WrapLook("find image "+image, cloud.Named(err)))
		}
		kind := spec.InstanceType
		if t := spec.AWSLaunchTemplate; t != nil {
			kind = cmp.Or(kind, t.InstanceType)
		}
		if kind != "" {
			found, err := m.place.ZonesOf(ctx, kind)
			if err == nil && len(found) == 0 {
				err = fleet.Errorf(fleet.Invalid, "find instance type "+kind, "%s has no such type (name another)", m.spec.Region)
			}
			note("instance type", kind, cloud.WrapLook("find instance type "+kind, err))
		}
	}
	return nil
}
