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
	out := &Snapshot{Began: time.Now(), Lacks: make(map[string]bool), memo: &memo{answers: make(map[string]any)}}
	id, err := p.ID(ctx)
	if err != nil {
		return nil, err
	}
	maps.Copy(out.Lacks, p.lacks.All())
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
	lists, err := p.lists(ctx, out, id)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(listsAtOnce)
	for _, list := range lists {
		g.Go(func() error { return list(ctx) })
	}
	return g.Wait()
}

// lists returns what fills out: one for each kind of things that the cloud has.
func (p *Project) lists(ctx context.Context, out *Snapshot, id string) ([]func(context.Context) error, error) {
	type client = gophercloud.ServiceClient
	all := []func(context.Context) error{
		func(ctx context.Context) error { return p.lookAtServers(ctx, out, id) },
		fill(&out.Ports, "ports", p.Network, func(c *client) pagination.Pager {
			return ports.List(c, ports.ListOpts{ProjectID: id})
		}, func(page pagination.Page) (out []Port, err error) {
			return out, ports.ExtractPortsInto(page, &out)
		}, func(t *Port) string { return t.ID }, marked(func(t *Port) string { return t.Description })),
		fill(&out.Networks, "networks", p.Network, func(c *client) pagination.Pager {
			return networks.List(c, networks.ListOpts{})
		}, func(page pagination.Page) (out []Network, err error) {
			return out, networks.ExtractNetworksInto(page, &out)
		}, func(t *Network) string { return t.ID }, markedIn(id, func(t *Network) (string, string) { return t.ProjectID, t.Description })),
		fill(&out.Subnets, "subnets", p.Network, func(c *client) pagination.Pager {
			return subnets.List(c, subnets.ListOpts{})
		}, subnets.ExtractSubnets, func(t *subnets.Subnet) string { return t.ID }, markedIn(id, func(t *subnets.Subnet) (string, string) { return t.ProjectID, t.Description })),
		fill(&out.SecurityGroups, "security groups", p.Network, func(c *client) pagination.Pager {
			return groups.List(c, groups.ListOpts{})
		}, groups.ExtractGroups, func(t *groups.SecGroup) string { return t.ID }, markedIn(id, func(t *groups.SecGroup) (string, string) { return t.ProjectID, t.Description })),
		fill(&out.Routers, "routers", p.Network, func(c *client) pagination.Pager {
			return routers.List(c, routers.ListOpts{})
		}, routers.ExtractRouters, func(t *routers.Router) string { return t.ID }, markedIn(id, func(t *routers.Router) (string, string) { return t.ProjectID, t.Description })),
		fill(&out.FloatingIPs, "floating IPs", p.Network, func(c *client) pagination.Pager {
			return floatingips.List(c, floatingips.ListOpts{ProjectID: id})
		}, floatingips.ExtractFloatingIPs, func(t *floatingips.FloatingIP) string { return t.ID }, marked(func(t *floatingips.FloatingIP) string { return t.Description })),
	}
	has, err := p.Extension(ctx, "trunk")
	if err != nil {
		return nil, err
	}
	if has {
		all = append(all, fill(&out.Trunks, "trunks", p.Network, func(c *client) pagination.Pager {
			return trunks.List(c, trunks.ListOpts{ProjectID: id})
		}, trunks.ExtractTrunks, func(t *trunks.Trunk) string { return t.ID }, marked(func(t *trunks.Trunk) string { return t.Description })))
	}
	if has, err = p.Has(ctx, blockStorage()); err != nil {
		return nil, err
	}
	if has {
		all = append(all, fill(&out.Volumes, "volumes", p.BlockStorage, func(c *client) pagination.Pager {
			return volumes.List(c, volumes.ListOpts{})
		}, volumes.ExtractVolumes, func(t *volumes.Volume) string { return t.ID }, func(t *volumes.Volume) (snapshot.Owner, bool) { return MetadataOwner(t.Metadata) }))
	}
	if has, err = p.Has(ctx, loadBalancer()); err != nil || !has {
		return all, err
	}
	return append(all,
		func(ctx context.Context) error { return p.lookAtLoadBalancers(ctx, out, id) },
		func(ctx context.Context) error { return p.lookAtPools(ctx, out, id) },
		fill(&out.Listeners, "listeners", p.LoadBalancer, func(c *client) pagination.Pager {
			return listeners.List(c, listeners.ListOpts{ProjectID: id})
		}, listeners.ExtractListeners, func(t *listeners.Listener) string { return t.ID }, marked(func(t *listeners.Listener) string { return t.Description })),
		fill(&out.Monitors, "health monitors", p.LoadBalancer, func(c *client) pagination.Pager {
			return monitors.List(c, monitors.ListOpts{ProjectID: id})
		}, monitors.ExtractMonitors, func(t *monitors.Monitor) string { return t.ID }, func(*monitors.Monitor) (snapshot.Owner, bool) { return snapshot.Owner{}, false }),
	), nil
}

// fill returns what lists the things T of a service into set: all pages of what it lists. id tells
// things apart, and owner says whose one is.
func fill[T any](set *snapshot.Set[T], what string, service Service,
	pager func(*gophercloud.ServiceClient) pagination.Pager, extract func(pagination.Page) ([]T, error), id func(*T) string, owner func(*T) (snapshot.Owner, bool),
) func(context.Context) error {
	return func(ctx context.Context) error {
		all, err := List(ctx, what, service, pager, extract)
		*set = snapshot.NewSet(all, id, owner)
		return err
	}
}

// A Service returns the client of a service.
type Service = func(context.Context) (*gophercloud.ServiceClient, error)

// List reads all pages of what a service lists.
func List[T any](ctx context.Context, what string, service Service, pager func(*gophercloud.ServiceClient) pagination.Pager, extract func(pagination.Page) ([]T, error)) ([]T, error) {
	op := "list " + what
	client, err := service(ctx)
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
	all, err := List(ctx, "servers", p.Compute, func(c *gophercloud.ServiceClient) pagination.Pager {
		return servers.List(c, servers.ListOpts{})
	}, servers.ExtractServers)
	if i := slices.IndexFunc(all, cellIsDown); i >= 0 {
		return errCellDown("list servers", all[i].ID)
	}
	if err != nil {
		return err
	}
	c, err := p.Compute(ctx)
	if err != nil {
		return err
	}
	p.addFaults(ctx, c, all)
	s.Servers = serverSet(all, project)
	return nil
}

// cellIsDown reports whether s is all that Nova tells of a server that it cannot
// look up: whose it is, is not known.
func cellIsDown(s servers.Server) bool { return s.Status == "UNKNOWN" && s.Name == "" }

func (p *Project) lookAtLoadBalancers(ctx context.Context, s *Snapshot, project string) error {
	err := fill(&s.LoadBalancers, "load balancers", p.LoadBalancer, func(c *gophercloud.ServiceClient) pagination.Pager {
		return loadbalancers.List(c, loadbalancers.ListOpts{ProjectID: project})
	}, loadbalancers.ExtractLoadBalancers, func(t *loadbalancers.LoadBalancer) string { return t.ID }, marked(func(t *loadbalancers.LoadBalancer) string { return t.Description }))(ctx)
	if err == nil {
		p.nameFlavors(ctx, s)
	}
	return err
}

func (p *Project) lookAtPools(ctx context.Context, s *Snapshot, project string) error {
	err := fill(&s.Pools, "pools", p.LoadBalancer, func(c *gophercloud.ServiceClient) pagination.Pager {
		return pools.List(c, pools.ListOpts{ProjectID: project})
	}, pools.ExtractPools, func(t *pools.Pool) string { return t.ID }, marked(func(t *pools.Pool) string { return t.Description }))(ctx)
	if err != nil {
		return err
	}
	return p.addMembers(ctx, &s.Pools)
}
