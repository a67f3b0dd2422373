package openstack

import (
	"context"
	"fmt"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	lbpools "github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/pagination"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	"fairlead.dev/providers/infrastructure/openstack/network"
)

// balancer returns the load balancer of the API server, or nil where none is
// managed.
func (f *finder) balancer() (*loadbalancers.LoadBalancer, error) {
	a := f.observed.spec.APIServer
	if a == nil || !a.ManagedLoadBalancer.IsEnabled() {
		return nil, nil //nolint:nilnil // none is managed
	}
	return one(f, f.observed.homeSnapshot().LoadBalancers.All, "load balancer", f.network()+"-kubeapi",
		func(l loadbalancers.LoadBalancer) (string, string) { return l.Name, l.ProjectID })
}

// endpoint finds the load balancer, its listeners and pools, and the floating IP
// of the API server.
func (f *finder) endpoint(context.Context) error {
	p, s := f.observed.home, f.observed.homeSnapshot()
	lb, err := f.balancer()
	if err != nil {
		return err
	}
	for _, ip := range s.FloatingIPs.All {
		if ip.FloatingIP == f.cluster.Endpoint.Host || lb != nil && lb.VipPortID != "" && ip.PortID == lb.VipPortID {
			f.floating(p, ip, f.owner, network.ForEndpoint)
		}
	}
	if lb == nil {
		return nil
	}
	f.describe(p, "load balancer "+lb.Name, lb.Description, f.owner, network.ForEndpoint, f.theirs(), lb.ID, by(p.LoadBalancer, func(ctx context.Context, c *gophercloud.ServiceClient, text string) error {
		return loadbalancers.Update(ctx, c, lb.ID, loadbalancers.UpdateOpts{Description: &text}).Err
	}))
	for _, l := range s.Listeners.All {
		if !slices.ContainsFunc(l.Loadbalancers, func(o listeners.LoadBalancerID) bool { return o.ID == lb.ID }) {
			continue
		}
		text := "additional port"
		if l.ProtocolPort == int(f.port()) {
			text = network.ForEndpoint
		}
		f.describe(p, "listener "+l.Name, l.Description, f.owner, text, "", lb.ID, by(p.LoadBalancer, func(ctx context.Context, c *gophercloud.ServiceClient, text string) error {
			return listeners.Update(ctx, c, l.ID, listeners.UpdateOpts{Description: &text}).Err
		}))
		if t := s.Pools.Get(l.DefaultPoolID); t != nil {
			f.describe(p, "pool "+t.Name, t.Description, f.owner, fmt.Sprintf("port %d", l.ProtocolPort), "", lb.ID, by(p.LoadBalancer, func(ctx context.Context, c *gophercloud.ServiceClient, text string) error {
				return lbpools.Update(ctx, c, t.ID, lbpools.UpdateOpts{Description: &text}).Err
			}))
		}
	}
	return nil
}

// port is that of the API server.
func (f *finder) port() int32 {
	const usual = 6443
	if a := f.observed.spec.APIServer; a != nil && a.Port != nil {
		return int32(*a.Port)
	}
	if f.cluster.Endpoint.Port != 0 {
		return f.cluster.Endpoint.Port
	}
	return usual
}

// members claims the members of the load balancer's pools that are machines of
// the cluster, by server. Their mark is a tag.
func (f *finder) members(ctx context.Context, machines map[string]fleet.MachineName) error {
	lb, err := f.balancer()
	if err != nil || lb == nil {
		return err
	}
	p, s := f.observed.home, f.observed.homeSnapshot()
	byAddress := make(map[string]fleet.MachineName)
	for _, at := range f.observed.projects {
		for _, t := range at.snapshot.Ports.All {
			for _, ip := range t.FixedIPs {
				if name := machines[t.DeviceID]; name != "" {
					byAddress[ip.IPAddress] = name
				}
			}
		}
	}
	client, err := p.LoadBalancer(ctx)
	if err != nil {
		return err
	}
	for _, t := range s.Pools.All {
		if !slices.ContainsFunc(t.Loadbalancers, func(l lbpools.LoadBalancerID) bool { return l.ID == lb.ID }) {
			continue
		}
		all, err := cloud.List(ctx, "members of pool "+t.Name, p.LoadBalancer, func(c *gophercloud.ServiceClient) pagination.Pager {
			return lbpools.ListMembers(c, t.ID, lbpools.ListMembersOpts{})
		}, lbpools.ExtractMembers)
		if err != nil {
			return err
		}
		for _, m := range all {
			if name := byAddress[m.Address]; name != "" {
				f.member(p, client, lb.ID, t.ID, m, f.owner.Part(name))
			}
		}
	}
	return nil
}

func (f *finder) member(p *cloud.Project, client *gophercloud.ServiceClient, lb, pool string, m lbpools.Member, o snapshot.Owner) {
	mark := cloud.FormatOwner("", o)
	var has snapshot.Owner
	var plain []string
	for _, t := range m.Tags {
		if owner, ok := cloud.ParseOwner(t); ok {
			has = owner
			continue
		}
		plain = append(plain, t)
	}
	set := func(ctx context.Context, tags []string) error {
		return lbpools.UpdateMember(ctx, client, pool, m.ID, memberTags(tags)).Err
	}
	f.claims = append(f.claims, adoption{
		what: "member " + m.Name, owner: o, has: has, done: slices.Contains(m.Tags, mark), balancer: lb, project: p,
		mark:    func(ctx context.Context) error { return set(ctx, append(slices.Clone(plain), mark)) },
		release: func(ctx context.Context) error { return set(ctx, append([]string{}, plain...)) },
	})
}

// memberTags replaces the tags of a member, also by none.
type memberTags []string

// ToMemberUpdateMap implements pools.UpdateMemberOptsBuilder.
func (t memberTags) ToMemberUpdateMap() (map[string]any, error) {
	return map[string]any{"member": map[string]any{"tags": []string(t)}}, nil
}
