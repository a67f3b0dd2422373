package network

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
)

// pool is one of Octavia's.
type pool = pools.Pool

// poolsOf returns the cluster's pools of lb.
func (v *view) poolsOf(lb loadbalancers.LoadBalancer) []pool {
	return filter(v.mine.pools, func(p pool) bool {
		return slices.ContainsFunc(p.Loadbalancers, func(l pools.LoadBalancerID) bool { return l.ID == lb.ID })
	})
}

// lbStep is a step that changes lb or what is part of it. Octavia takes one such
// change at a time: after it lb counts as pending.
func (v *view) lbStep(lb loadbalancers.LoadBalancer, what string, essential bool, do func(context.Context, *gophercloud.ServiceClient) error) step {
	return step{What: what, Essential: essential, Blocked: lb.ProvisioningStatus != lbActive, Do: v.octavia(func(ctx context.Context, c *gophercloud.ServiceClient) error {
		if err := do(ctx, c); err != nil {
			return err
		}
		lb.ProvisioningStatus = lbPendingUpdate
		if now, err := loadbalancers.Get(ctx, c, lb.ID).Extract(); err == nil {
			lb = *now // a quick cloud takes the next change at once
		}
		v.putLoadBalancer(lb)
		return nil
	})}
}

// listeners has a listener for each port.
func (v *view) listeners(d *decision, lb loadbalancers.LoadBalancer) {
	there := v.listenersOf(lb)
	wanted := append([]int32{v.port()}, v.additionalPorts()...)
	moved := false
	for _, l := range there {
		if slices.Contains(wanted, int32(l.ProtocolPort)) {
			continue
		}
		if isFor(l.Description, ForEndpoint) && v.started() {
			moved = true
			d.CannotFollow("the port of the API server", "the machines know it at %d, Git says %d (put it back, or make a new cluster)", l.ProtocolPort, v.port())
			continue
		}
		d.Add(v.lbStep(lb, fmt.Sprintf("remove listener %d of load balancer %s", l.ProtocolPort, lb.Name), false, func(ctx context.Context, c *gophercloud.ServiceClient) error {
			if err := ignoreNotFound(listeners.Delete(ctx, c, l.ID).ExtractErr()); err != nil {
				return err
			}
			drop(&v.all.listeners, &v.mine.listeners, func(o listeners.Listener) bool { return o.ID == l.ID })
			return nil
		}))
	}
	for i, port := range wanted {
		l, ok := find(there, func(l listeners.Listener) bool { return l.ProtocolPort == int(port) })
		switch {
		case ok:
			v.allowed(d, lb, l)
			v.pool(d, lb, l, i == 0)
		case i == 0 && moved:
		default:
			what := ForEndpoint
			if i > 0 {
				what = "additional port"
			}
			d.Add(v.missingListener(d, lb, port, what))
		}
	}
	v.strayPools(d, lb, there)
}

func (v *view) missingListener(d *decision, lb loadbalancers.LoadBalancer, port int32, what string) step {
	o := listeners.CreateOpts{
		Name: v.name("kubeapi", fmt.Sprint(port)), Description: v.description(what), LoadbalancerID: lb.ID,
		Protocol: listeners.ProtocolTCP, ProtocolPort: int(port), AllowedCIDRs: v.allowedCIDRs(d, lb, nil), Tags: v.spec.Tags,
	}
	return v.lbStep(lb, fmt.Sprintf("make listener %d of load balancer %s", port, lb.Name), what == ForEndpoint, func(ctx context.Context, c *gophercloud.ServiceClient) error {
		l, err := listeners.Create(ctx, c, o).Extract()
		return entered(v.putListener, l, err)
	})
}

func (v *view) putListener(l listeners.Listener) {
	put(&v.all.listeners, &v.mine.listeners, l, func(o listeners.Listener) bool { return o.ID == l.ID })
}

// allowed keeps who may use a listener.
func (v *view) allowed(d *decision, lb loadbalancers.LoadBalancer, l listeners.Listener) {
	have := make([]string, 0, len(l.AllowedCIDRs))
	for _, c := range l.AllowedCIDRs {
		have = append(have, fullPrefix(c))
	}
	slices.Sort(have)
	want := v.allowedCIDRs(d, lb, have)
	if slices.Equal(slices.Compact(have), want) {
		return
	}
	what := fmt.Sprintf("let %s use listener %d of load balancer %s", words(want, func(s string) string { return s }), l.ProtocolPort, lb.Name)
	if len(want) == 0 {
		what = fmt.Sprintf("let everyone use listener %d of load balancer %s", l.ProtocolPort, lb.Name)
	}
	d.Add(v.lbStep(lb, what, false, func(ctx context.Context, c *gophercloud.ServiceClient) error {
		cidrs := append([]string{}, want...)
		got, err := listeners.Update(ctx, c, l.ID, listeners.UpdateOpts{AllowedCIDRs: &cidrs}).Extract()
		return entered(v.putListener, got, err)
	}))
}

// pool has a listener's pool made, with its monitor and its members. No machine works
// without that of the API server.
func (v *view) pool(d *decision, lb loadbalancers.LoadBalancer, l listeners.Listener, forAPIServer bool) {
	p, ok := find(v.mine.pools, func(p pool) bool { return p.ID == l.DefaultPoolID })
	if !ok {
		if l.DefaultPoolID != "" {
			d.CannotFollow("listener "+l.ID, "its pool %s is not of the cluster (take it off the listener)", l.DefaultPoolID)
			return
		}
		o := pools.CreateOpts{
			Name: l.Name, Description: v.description(fmt.Sprintf("port %d", l.ProtocolPort)), ListenerID: l.ID,
			Protocol: pools.ProtocolTCP, LBMethod: pools.LBMethodRoundRobin, Tags: v.spec.Tags,
		}
		if strings.EqualFold(lb.Provider, "ovn") {
			o.LBMethod = pools.LBMethodSourceIpPort // the only one it has
		}
		d.Add(v.lbStep(lb, fmt.Sprintf("make the pool of listener %d of load balancer %s", l.ProtocolPort, lb.Name), forAPIServer, func(ctx context.Context, c *gophercloud.ServiceClient) error {
			p, err := pools.Create(ctx, c, o).Extract()
			if err != nil {
				return err
			}
			l.DefaultPoolID = p.ID
			v.putListener(l)
			v.putPool(*p)
			return nil
		}))
		return
	}
	v.monitor(d, lb, p, forAPIServer)
	v.poolMembers(d, lb, p, l.ProtocolPort)
}

func (v *view) putPool(p pool) {
	put(&v.all.pools, &v.mine.pools, p, func(o pool) bool { return o.ID == p.ID })
}

// strayPools has pools removed that no listener leads to.
func (v *view) strayPools(d *decision, lb loadbalancers.LoadBalancer, there []listeners.Listener) {
	for _, p := range v.poolsOf(lb) {
		if slices.ContainsFunc(there, func(l listeners.Listener) bool { return l.DefaultPoolID == p.ID }) {
			continue
		}
		d.Add(v.lbStep(lb, fmt.Sprintf("remove pool %s (%s) of load balancer %s", p.Name, p.ID, lb.Name), false, func(ctx context.Context, c *gophercloud.ServiceClient) error {
			if err := ignoreNotFound(pools.Delete(ctx, c, p.ID).ExtractErr()); err != nil {
				return err
			}
			drop(&v.all.pools, &v.mine.pools, func(o pool) bool { return o.ID == p.ID })
			return nil
		}))
	}
}

// allowedCIDRs returns which addresses may use the API server, sorted: those that Git names, and
// where it names any, the cluster itself: the subnets in use, its router and its
// bastion, if they are of the family of the load balancer. Nil means
// everyone. have are those that may by now.
func (v *view) allowedCIDRs(d *decision, lb loadbalancers.LoadBalancer, have []string) []string {
	var out []string
	for _, c := range v.balancer().AllowedCIDRs {
		out = append(out, fullPrefix(c))
	}
	if len(out) == 0 {
		return nil
	}
	family := familyOf(lb.VipAddress)
	also := func(a string) {
		if a != "" && familyOf(a) == family {
			out = append(out, fullPrefix(a))
		}
	}
	for _, s := range v.inUse(d) {
		also(s.CIDR)
	}
	if r := d.placement.router; r != nil {
		for _, ip := range r.GatewayInfo.ExternalFixedIPs {
			also(ip.IPAddress)
		}
	}
	if d.refused {
		for _, a := range v.mayHave(d) {
			if slices.Contains(have, fullPrefix(a)) {
				also(a)
			}
		}
	}
	for _, b := range v.bastion {
		for _, a := range v.addressesOf(b, d.placement.Network) {
			also(a.ip)
			for _, f := range v.all.floatingIPs {
				if f.PortID == a.port {
					also(f.FloatingIP)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// mayHave returns what of the place that the machines are in may have been allowed.
func (v *view) mayHave(d *decision) (out []string) {
	for _, s := range v.all.subnets {
		if s.NetworkID == d.placement.Network {
			out = append(out, s.CIDR)
		}
	}
	if r := v.connectedRouter(d); r != nil {
		for _, ip := range r.GatewayInfo.ExternalFixedIPs {
			out = append(out, ip.IPAddress)
		}
	}
	return out
}
