package lab

import (
	"context"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
)

// mapAge is how old the picture of a project's network may be.
const mapAge = 2 * time.Second

// Routes know where packets to an address of a project would go.
type Routes struct {
	project *Project

	mu        sync.Mutex
	drawn     time.Time
	floating  []floatingips.FloatingIP
	ports     []ports.Port
	balancers []loadbalancers.LoadBalancer
	listeners []listeners.Listener
	pools     []pools.Pool
	members   map[string][]pools.Member // by pool
}

// NewRoutes returns those of a project.
func NewRoutes(p *Project) *Routes { return &Routes{project: p} }

// Servers returns the ids of the servers that answer at address, "198.18.0.7:6443".
func (r *Routes) Servers(ctx context.Context, address string) ([]string, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.drawn) > mapAge {
		if err := r.draw(ctx); err != nil {
			return nil, err
		}
		r.drawn = time.Now()
	}
	at := r.portOf("", host)
	if i := slices.IndexFunc(r.floating, func(f floatingips.FloatingIP) bool { return f.FloatingIP == host }); i >= 0 {
		id := r.floating[i].PortID
		at = slices.IndexFunc(r.ports, func(p ports.Port) bool { return p.ID == id })
	}
	if at < 0 {
		return nil, nil
	}
	p := r.ports[at]
	i := slices.IndexFunc(r.balancers, func(lb loadbalancers.LoadBalancer) bool { return lb.VipPortID == p.ID })
	if i < 0 {
		return []string{p.DeviceID}, nil
	}
	return r.behind(r.balancers[i].ID, p.NetworkID, port), nil
}

// behind returns the servers to which a load balancer in a network hands
// connections to port.
func (r *Routes) behind(balancer, network string, port int) []string {
	var out []string
	for _, l := range r.listeners {
		if l.ProtocolPort != port || !slices.ContainsFunc(l.Loadbalancers, func(lb listeners.LoadBalancerID) bool { return lb.ID == balancer }) {
			continue
		}
		for _, m := range r.members[l.DefaultPoolID] {
			if i := r.portOf(network, m.Address); i >= 0 && m.ProtocolPort == 6443 {
				out = append(out, r.ports[i].DeviceID)
			}
		}
	}
	return out
}

// portOf returns the index of the port with a fixed address in a network, or -1.
// Without a network any will do: those of a project may all have the same range.
func (r *Routes) portOf(network, address string) int {
	return slices.IndexFunc(r.ports, func(p ports.Port) bool {
		return (network == "" || p.NetworkID == network) && slices.ContainsFunc(p.FixedIPs, func(ip ports.IP) bool { return ip.IPAddress == address })
	})
}

// draw reads it all again.
func (r *Routes) draw(ctx context.Context) error {
	a, id := r.project.Admin, r.project.ID
	pages, err := floatingips.List(a.Network, floatingips.ListOpts{ProjectID: id}).AllPages(ctx)
	if err != nil {
		return err
	}
	if r.floating, err = floatingips.ExtractFloatingIPs(pages); err != nil {
		return err
	}
	if pages, err = ports.List(a.Network, ports.ListOpts{}).AllPages(ctx); err != nil { // those of load balancers are Octavia's
		return err
	}
	if r.ports, err = ports.ExtractPorts(pages); err != nil {
		return err
	}
	r.ports = slices.DeleteFunc(r.ports, func(p ports.Port) bool { return p.ProjectID != id })
	if pages, err = loadbalancers.List(a.LoadBalancer, loadbalancers.ListOpts{ProjectID: id}).AllPages(ctx); err != nil {
		return err
	}
	if r.balancers, err = loadbalancers.ExtractLoadBalancers(pages); err != nil {
		return err
	}
	if pages, err = listeners.List(a.LoadBalancer, listeners.ListOpts{ProjectID: id}).AllPages(ctx); err != nil {
		return err
	}
	if r.listeners, err = listeners.ExtractListeners(pages); err != nil {
		return err
	}
	if pages, err = pools.List(a.LoadBalancer, pools.ListOpts{ProjectID: id}).AllPages(ctx); err != nil {
		return err
	}
	if r.pools, err = pools.ExtractPools(pages); err != nil {
		return err
	}
	r.members = make(map[string][]pools.Member)
	for _, p := range r.pools {
		if len(p.Members) == 0 {
			continue
		}
		if pages, err = pools.ListMembers(a.LoadBalancer, p.ID, pools.ListMembersOpts{}).AllPages(ctx); err != nil {
			return err
		}
		if r.members[p.ID], err = pools.ExtractMembers(pages); err != nil {
			return err
		}
	}
	return nil
}
