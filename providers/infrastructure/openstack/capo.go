package openstack

import (
	"context"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	"fairlead.dev/providers/infrastructure/openstack/machine"
	"fairlead.dev/providers/infrastructure/openstack/network"
)

// A finder looks for what Cluster API's provider for OpenStack made of a cluster,
// by the names and descriptions that it gives.
// Source: cluster-api-provider-openstack, pkg/utils/names and pkg/cloud/services.
type finder struct {
	cluster  *fleet.Cluster
	observed *observation
	owner    snapshot.Owner
	name     string // of the cluster there: "namespace-name"
	project  string // id of the project of what machines share
	claims   []adoption
}

// The names of what machines share.
func (f *finder) network() string { return "k8s-clusterapi-cluster-" + f.name }

func (f *finder) group(which api.ManagedSecurityGroupName) string {
	return "k8s-cluster-" + f.name + "-secgroup-" + string(which)
}

// The descriptions that tell its own things from those of people.
func (f *finder) theirs() string {
	return "Created by cluster-api-provider-openstack cluster " + f.name
}

const (
	theirGroup = "Cluster API managed group"
	theirPool  = "Created by cluster-api-provider-openstack OpenStackFloatingIPPool "
)

// describe adds the adoption of a thing whose mark is in its description. before is
// what it says without one.
func (f *finder) describe(p *cloud.Project, what, description string, o snapshot.Owner, text, before, balancer string, set func(context.Context, string) error) {
	has, _ := cloud.ParseOwner(description)
	want := cloud.FormatOwner(text, o)
	f.claims = append(f.claims, adoption{
		what: what, owner: o, has: has, done: description == want, balancer: balancer, project: p,
		mark:    func(ctx context.Context) error { return set(ctx, want) },
		release: func(ctx context.Context) error { return set(ctx, before) },
	})
}

// by returns a setter that asks a service.
func by(service cloud.Service, do func(context.Context, *gophercloud.ServiceClient, string) error) func(context.Context, string) error {
	return func(ctx context.Context, text string) error {
		client, err := service(ctx)
		if err != nil {
			return err
		}
		return do(ctx, client, text)
	}
}

// one returns the thing of that name in the project, which there must be.
func one[T any](f *finder, all []T, kind, name string, is func(T) (name, project string)) (*T, error) {
	var found *T
	for i := range all {
		n, in := is(all[i])
		if n != name || in != f.project {
			continue
		}
		if found != nil {
			return nil, fleet.Errorf(fleet.Conflict, "find "+kind+" "+name, "there are two of that name (remove the one that is not used)")
		}
		found = &all[i]
	}
	if found == nil {
		return nil, fleet.Errorf(fleet.NotFound, "find "+kind+" "+name, "the project has none, and the manifests say that Cluster API made it")
	}
	return found, nil
}

// shared finds what the machines share: what is managed. What the manifests only
// refer to is not the cluster's.
func (f *finder) shared(ctx context.Context) error {
	var err error
	if f.project, err = f.observed.home.ID(ctx); err != nil {
		return err
	}
	if len(f.observed.spec.ManagedSubnets) > 0 {
		if err := f.managedNetwork(); err != nil {
			return err
		}
	}
	if f.observed.spec.ManagedSecurityGroups != nil {
		if err := f.managedGroups(); err != nil {
			return err
		}
	}
	return f.endpoint(ctx)
}

func (f *finder) managedNetwork() error {
	p, s, spec := f.observed.home, f.observed.homeSnapshot(), f.observed.spec
	n, err := one(f, s.Networks.All, "network", f.network(), func(n cloud.Network) (string, string) { return n.Name, n.ProjectID })
	if err != nil {
		return err
	}
	if n.Shared {
		return fleet.Errorf(fleet.Conflict, "take over network "+n.Name, "other projects use it too (name it in spec.network instead)")
	}
	f.describe(p, "network "+n.Name, n.Description, f.owner, network.ForNodes, "", "", by(p.Network, func(ctx context.Context, c *gophercloud.ServiceClient, text string) error {
		return networks.Update(ctx, c, n.ID, networks.UpdateOpts{Description: &text}).Err
	}))
	for _, want := range spec.ManagedSubnets {
		i := slices.IndexFunc(s.Subnets.All, func(s subnets.Subnet) bool { return s.NetworkID == n.ID && s.CIDR == want.CIDR })
		if i < 0 {
			return fleet.Errorf(fleet.NotFound, "find subnet "+want.CIDR, "network %s has none of that range", n.Name)
		}
		subnet := s.Subnets.All[i]
		f.describe(p, "subnet "+subnet.Name+" "+subnet.CIDR, subnet.Description, f.owner, network.ForNodes, f.theirs(), "", by(p.Network, func(ctx context.Context, c *gophercloud.ServiceClient, text string) error {
			return subnets.Update(ctx, c, subnet.ID, subnets.UpdateOpts{Description: &text}).Err
		}))
	}
	if spec.Router != nil || !slices.ContainsFunc(s.Routers.All, func(r routers.Router) bool { return r.Name == f.network() }) {
		return nil // that of others, or the network leads nowhere
	}
	r, err := one(f, s.Routers.All, "router", f.network(), func(r routers.Router) (string, string) { return r.Name, r.ProjectID })
	if err != nil {
		return err
	}
	f.describe(p, "router "+r.Name, r.Description, f.owner, network.ForNodes, f.theirs(), "", by(p.Network, func(ctx context.Context, c *gophercloud.ServiceClient, text string) error {
		return routers.Update(ctx, c, r.ID, routers.UpdateOpts{Description: &text}).Err
	}))
	return nil
}

func (f *finder) managedGroups() error {
	p, s := f.observed.home, f.observed.homeSnapshot()
	names := []api.ManagedSecurityGroupName{api.SecurityGroupControlPlane, api.SecurityGroupWorker}
	if f.observed.spec.Bastion.IsEnabled() {
		names = append(names, api.SecurityGroupBastion)
	}
	for _, name := range names {
		g, err := one(f, s.SecurityGroups.All, "security group", f.group(name), func(g groups.SecGroup) (string, string) { return g.Name, g.ProjectID })
		if err != nil {
			return err
		}
		f.describe(p, "security group "+g.Name, g.Description, f.owner, string(name), theirGroup, "", by(p.Network, func(ctx context.Context, c *gophercloud.ServiceClient, text string) error {
			return groups.Update(ctx, c, g.ID, groups.UpdateOpts{Description: &text}).Err
		}))
	}
	return nil
}

// floating claims a floating IP that the provider made. One that people made, and
// the manifests name, stays theirs.
func (f *finder) floating(p *cloud.Project, ip floatingips.FloatingIP, o snapshot.Owner, text string) {
	before, marked := f.theirs(), false
	if has, ok := cloud.ParseOwner(ip.Description); ok && has.Shared() == f.owner {
		marked = true
	}
	if pool, ok := strings.CutPrefix(ip.Description, theirPool); ok {
		text, before = machine.PoolText+pool, ip.Description
	} else if marked {
		said, _, _ := strings.Cut(ip.Description, " [fairlead.dev ")
		if pool, ok := strings.CutPrefix(said, machine.PoolText); ok {
			text, before = said, theirPool+pool
		}
	} else if ip.Description != f.theirs() {
		return
	}
	f.describe(p, "floating IP "+ip.FloatingIP, ip.Description, o, text, before, "", by(p.Network, func(ctx context.Context, c *gophercloud.ServiceClient, text string) error {
		// With its port: an older Neutron takes a change without one for a request to let go of it.
		return floatingips.Update(ctx, c, ip.ID, floatingips.UpdateOpts{Description: &text, PortID: &ip.PortID, FixedIP: ip.FixedIP}).Err
	}))
}
