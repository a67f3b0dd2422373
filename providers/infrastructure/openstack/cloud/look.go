package cloud

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/trunks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"github.com/gophercloud/gophercloud/v2/pagination"
	"golang.org/x/sync/errgroup"

	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/snapshot"
)

// listsAtOnce is how many listings of one look run at the same time.
const listsAtOnce = 4

// look lists everything, and asks for what the listings lack of what is named in
// them. One listing that fails, or one page of it, fails the whole.
func (p *Project) look(ctx context.Context) (*Snapshot, error) {
	out := &Snapshot{Began: time.Now(), memo: &memo{answers: make(map[string]any)}}
	id, err := p.ID(ctx)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	out.Lacks = maps.Clone(p.lacks)
	p.mu.Unlock()
	tags, err := p.Extension(ctx, "standard-attr-tag")
	if err != nil {
		return nil, err
	}
	if !tags {
		out.Lacks[LacksTags] = true
	}
	if err := p.listAll(ctx, out, id); err != nil {
		return nil, err
	}
	if err := p.addNamedServers(ctx, out, id); err != nil {
		return nil, err
	}
	out.indexParts()
	return out, nil
}

// LacksTags is what a snapshot says of a Neutron whose things have no tags.
const LacksTags = "tags of Neutron"

// listAll fills out with what the services list of the project with id.
func (p *Project) listAll(ctx context.Context, out *Snapshot, id string) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(listsAtOnce)
	lists := []func() error{
		func() error { return p.lookAtServers(ctx, out, id) },
		func() error { return p.lookAtPorts(ctx, out, id) },
		func() error { return p.lookAtNetworks(ctx, out, id) },
		func() error { return p.lookAtSubnets(ctx, out, id) },
		func() error { return p.lookAtSecurityGroups(ctx, out, id) },
		func() error { return p.lookAtRouters(ctx, out, id) },
		func() error { return p.lookAtFloatingIPs(ctx, out, id) },
		func() error { return p.lookAtTrunks(ctx, out, id) },
		func() error { return p.lookAtVolumes(ctx, out) },
		func() error { return p.lookAtLoadBalancers(ctx, out, id) },
		func() error { return p.lookAtListeners(ctx, out, id) },
		func() error { return p.lookAtPools(ctx, out, id) },
		func() error { return p.lookAtMonitors(ctx, out, id) },
	}
	for _, list := range lists {
		g.Go(list)
	}
	return g.Wait()
}

// list reads all pages of what a service lists.
func list[T any](ctx context.Context, what string, client *gophercloud.ServiceClient, err error, pager func(*gophercloud.ServiceClient) pagination.Pager, extract func(pagination.Page) ([]T, error)) ([]T, error) {
	op := "list " + what
	if err != nil {
		return nil, openstackauth.WrapLook(op, err)
	}
	var out []T
	err = pager(client).EachPage(ctx, func(_ context.Context, page pagination.Page) (bool, error) {
		part, err := extract(page)
		out = append(out, part...)
		return true, err
	})
	return out, openstackauth.WrapLook(op, err)
}

// marked reads the owner of a thing out of its description.
func marked[T any](description func(*T) string) func(*T) (snapshot.Owner, bool) {
	return func(t *T) (snapshot.Owner, bool) { return ParseOwner(description(t)) }
}

// markedIn is marked for what other projects show too: those that share it, and
// all of them to an administrator. What it says about things of theirs proves
// nothing.
func markedIn[T any](project string, described func(*T) (project, description string)) func(*T) (snapshot.Owner, bool) {
	return func(t *T) (snapshot.Owner, bool) {
		in, description := described(t)
		if in != project {
			return snapshot.Owner{}, false
		}
		return ParseOwner(description)
	}
}

func (p *Project) lookAtServers(ctx context.Context, s *Snapshot, project string) error {
	c, err := p.Compute(ctx)
	all, err := list(ctx, "servers", c, err, func(c *gophercloud.ServiceClient) pagination.Pager {
		return servers.List(c, servers.ListOpts{})
	}, servers.ExtractServers)
	if i := slices.IndexFunc(all, cellIsDown); i >= 0 {
		return errCellDown("list servers", all[i].ID)
	}
	p.faults.fill(ctx, c, all)
	s.Servers = serverSet(all, project)
	return err
}

// cellIsDown reports whether s is all that Nova tells of a server that it cannot
// look up: whose it is, is not known.
func cellIsDown(s servers.Server) bool { return s.Status == "UNKNOWN" && s.Name == "" }

func (p *Project) lookAtPorts(ctx context.Context, s *Snapshot, project string) error {
	c, err := p.Network(ctx)
	all, err := list(ctx, "ports", c, err, func(c *gophercloud.ServiceClient) pagination.Pager {
		return ports.List(c, ports.ListOpts{ProjectID: project})
	}, func(page pagination.Page) (out []Port, err error) { return out, ports.ExtractPortsInto(page, &out) })
	s.Ports = snapshot.NewSet(all, func(t *Port) string { return t.ID }, marked(func(t *Port) string { return t.Description }))
	return err
}

func (p *Project) lookAtNetworks(ctx context.Context, s *Snapshot, project string) error {
	c, err := p.Network(ctx)
	all, err := list(ctx, "networks", c, err, func(c *gophercloud.ServiceClient) pagination.Pager {
		return networks.List(c, networks.ListOpts{})
	}, func(page pagination.Page) (out []Network, err error) {
		return out, networks.ExtractNetworksInto(page, &out)
	})
	s.Networks = snapshot.NewSet(all, func(t *Network) string { return t.ID }, markedIn(project, func(t *Network) (string, string) { return t.ProjectID, t.Description }))
	return err
}

func (p *Project) lookAtSubnets(ctx context.Context, s *Snapshot, project string) error {
	c, err := p.Network(ctx)
	all, err := list(ctx, "subnets", c, err, func(c *gophercloud.ServiceClient) pagination.Pager {
		return subnets.List(c, subnets.ListOpts{})
	}, subnets.ExtractSubnets)
	s.Subnets = snapshot.NewSet(all, func(t *subnets.Subnet) string { return t.ID }, markedIn(project, func(t *subnets.Subnet) (string, string) { return t.ProjectID, t.Description }))
	return err
}

func (p *Project) lookAtSecurityGroups(ctx context.Context, s *Snapshot, project string) error {
	c, err := p.Network(ctx)
	all, err := list(ctx, "security groups", c, err, func(c *gophercloud.ServiceClient) pagination.Pager {
		return groups.List(c, groups.ListOpts{})
	}, groups.ExtractGroups)
	s.SecurityGroups = snapshot.NewSet(all, func(t *groups.SecGroup) string { return t.ID }, markedIn(project, func(t *groups.SecGroup) (string, string) { return t.ProjectID, t.Description }))
	return err
}

func (p *Project) lookAtRouters(ctx context.Context, s *Snapshot, project string) error {
	c, err := p.Network(ctx)
	all, err := list(ctx, "routers", c, err, func(c *gophercloud.ServiceClient) pagination.Pager {
		return routers.List(c, routers.ListOpts{})
	}, routers.ExtractRouters)
	s.Routers = snapshot.NewSet(all, func(t *routers.Router) string { return t.ID }, markedIn(project, func(t *routers.Router) (string, string) { return t.ProjectID, t.Description }))
	return err
}

func (p *Project) lookAtFloatingIPs(ctx context.Context, s *Snapshot, project string) error {
	c, err := p.Network(ctx)
	all, err := list(ctx, "floating IPs", c, err, func(c *gophercloud.ServiceClient) pagination.Pager {
		return floatingips.List(c, floatingips.ListOpts{ProjectID: project})
	}, floatingips.ExtractFloatingIPs)
	s.FloatingIPs = snapshot.NewSet(all, func(t *floatingips.FloatingIP) string { return t.ID }, marked(func(t *floatingips.FloatingIP) string { return t.Description }))
	return err
}

func (p *Project) lookAtTrunks(ctx context.Context, s *Snapshot, project string) error {
	if has, err := p.Extension(ctx, "trunk"); err != nil || !has {
		return err
	}
	c, err := p.Network(ctx)
	all, err := list(ctx, "trunks", c, err, func(c *gophercloud.ServiceClient) pagination.Pager {
		return trunks.List(c, trunks.ListOpts{ProjectID: project})
	}, trunks.ExtractTrunks)
	s.Trunks = snapshot.NewSet(all, func(t *trunks.Trunk) string { return t.ID }, marked(func(t *trunks.Trunk) string { return t.Description }))
	return err
}

func (p *Project) lookAtVolumes(ctx context.Context, s *Snapshot) error {
	if has, err := p.Has(ctx, blockStorage()); err != nil || !has {
		return err
	}
	c, err := p.BlockStorage(ctx)
	all, err := list(ctx, "volumes", c, err, func(c *gophercloud.ServiceClient) pagination.Pager {
		return volumes.List(c, volumes.ListOpts{})
	}, volumes.ExtractVolumes)
	s.Volumes = snapshot.NewSet(all, func(t *volumes.Volume) string { return t.ID },
		func(t *volumes.Volume) (snapshot.Owner, bool) { return MetadataOwner(t.Metadata) })
	return err
}

func (p *Project) lookAtLoadBalancers(ctx context.Context, s *Snapshot, project string) error {
	if has, err := p.Has(ctx, loadBalancer()); err != nil || !has {
		return err
	}
	c, err := p.LoadBalancer(ctx)
	all, err := list(ctx, "load balancers", c, err, func(c *gophercloud.ServiceClient) pagination.Pager {
		return loadbalancers.List(c, loadbalancers.ListOpts{ProjectID: project})
	}, loadbalancers.ExtractLoadBalancers)
	s.LoadBalancers = snapshot.NewSet(all, func(t *loadbalancers.LoadBalancer) string { return t.ID }, marked(func(t *loadbalancers.LoadBalancer) string { return t.Description }))
	if err == nil {
		p.nameFlavors(ctx, s)
	}
	return err
}

func (p *Project) lookAtListeners(ctx context.Context, s *Snapshot, project string) error {
	if has, err := p.Has(ctx, loadBalancer()); err != nil || !has {
		return err
	}
	c, err := p.LoadBalancer(ctx)
	all, err := list(ctx, "listeners", c, err, func(c *gophercloud.ServiceClient) pagination.Pager {
		return listeners.List(c, listeners.ListOpts{ProjectID: project})
	}, listeners.ExtractListeners)
	s.Listeners = snapshot.NewSet(all, func(t *listeners.Listener) string { return t.ID }, marked(func(t *listeners.Listener) string { return t.Description }))
	return err
}

func (p *Project) lookAtPools(ctx context.Context, s *Snapshot, project string) error {
	if has, err := p.Has(ctx, loadBalancer()); err != nil || !has {
		return err
	}
	c, err := p.LoadBalancer(ctx)
	all, err := list(ctx, "pools", c, err, func(c *gophercloud.ServiceClient) pagination.Pager {
		return pools.List(c, pools.ListOpts{ProjectID: project})
	}, pools.ExtractPools)
	if err != nil {
		return err
	}
	s.Pools = snapshot.NewSet(all, func(t *pools.Pool) string { return t.ID }, marked(func(t *pools.Pool) string { return t.Description }))
	return p.members.fill(ctx, c, &s.Pools)
}

func (p *Project) lookAtMonitors(ctx context.Context, s *Snapshot, project string) error {
	if has, err := p.Has(ctx, loadBalancer()); err != nil || !has {
		return err
	}
	c, err := p.LoadBalancer(ctx)
	all, err := list(ctx, "health monitors", c, err, func(c *gophercloud.ServiceClient) pagination.Pager {
		return monitors.List(c, monitors.ListOpts{ProjectID: project})
	}, monitors.ExtractMonitors)
	s.Monitors = snapshot.NewSet(all, func(t *monitors.Monitor) string { return t.ID }, func(*monitors.Monitor) (snapshot.Owner, bool) { return snapshot.Owner{}, false })
	return err
}
