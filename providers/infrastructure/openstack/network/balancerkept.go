package network

import (
	"cmp"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"k8s.io/utils/ptr"

	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// lbDiffers tells what Git asks for and a load balancer cannot be given later.
func (v *view) lbDiffers(d *decision, lb loadbalancers.LoadBalancer) {
	const field = "apiServer.managedLoadBalancer"
	alias := func(p string) string {
		if p == "octavia" { // its old name
			return "amphora"
		}
		return p
	}
	if want := ptr.Deref(v.balancer().Provider, ""); want != "" && lb.Provider != "" && alias(want) != alias(lb.Provider) {
		d.CannotFollow(field+".provider", "load balancer %s is of provider %s "+putBack, lb.Name, lb.Provider)
	}
	if want := ptr.Deref(v.balancer().AvailabilityZone, ""); want != "" && lb.AvailabilityZone != "" && want != lb.AvailabilityZone {
		d.CannotFollow(field+".availabilityZone", "load balancer %s is in zone %s "+putBack, lb.Name, lb.AvailabilityZone)
	}
	if want := ptr.Deref(v.apiServer().FixedIP, ""); want != "" && lb.VipAddress != "" && !sameAddress(want, lb.VipAddress) {
		d.CannotFollow("apiServer.fixedIP", "load balancer %s has the address %s "+putBack, lb.Name, lb.VipAddress)
	}
	if want := ptr.Deref(v.balancer().Flavor, ""); want != "" {
		if has, ok := v.flavorOf(lb); ok && has != want {
			d.CannotFollow(field+".flavor", "load balancer %s is of flavor %s "+putBack, lb.Name, cmp.Or(has, "none"))
		}
	}
	v.lbPlaceDiffers(d, lb)
}

// flavorOf returns the name of the flavor of lb, empty where it has none, if that
// is known.
func (v *view) flavorOf(lb loadbalancers.LoadBalancer) (string, bool) {
	if lb.FlavorID == "" {
		return "", true
	}
	name, ok := v.lbFlavors[lb.FlavorID]
	return name, ok
}

// lbPlaceDiffers tells where a load balancer is on another network or subnet than
// Git names for it. What it is on is held against what Git asks for, so that
// another network which matches later, too, changes nothing.
func (v *view) lbPlaceDiffers(d *decision, lb loadbalancers.LoadBalancer) {
	const field = "apiServer.managedLoadBalancer"
	on, ok := find(v.all.networks, func(n cloud.Network) bool { return n.ID == lb.VipNetworkID })
	subnet, known := find(v.all.subnets, func(s subnets.Subnet) bool { return s.ID == lb.VipSubnetID })
	p, more := v.balancer().Network, v.balancer().Subnets
	if p != nil && ok {
		if _, err := findNetwork(field+".network", []cloud.Network{on}, p, nil); err != nil {
			d.CannotFollow(field+".network", "load balancer %s is on network %s "+putBack, lb.Name, on.Name)
			return
		}
	}
	if len(more) > 0 && known {
		if _, err := findSubnet(field+".subnets[0]", []subnets.Subnet{subnet}, "", &more[0]); err != nil {
			d.CannotFollow(field+".subnets", "load balancer %s is in subnet %s "+putBack, lb.Name, subnet.CIDR)
		}
		return
	}
	if p == nil && len(more) == 0 && ok && d.placement.Network != "" && on.ID != d.placement.Network {
		d.CannotFollow(field+".network", "load balancer %s is on network %s, and Git names none for it "+putBack, lb.Name, on.Name)
	}
}

// endedLoadBalancer follows on a load balancer that Git no longer asks for. Before the
// first machine it goes; later the machines know the API server by it: it stays
// unchanged, and leads to the control plane as it comes and goes.
func (v *view) endedLoadBalancer(d *decision) bool {
	if v.balancer().IsEnabled() {
		return false
	}
	there := without(v.mine.loadBalancers, func(lb loadbalancers.LoadBalancer) bool { return lbGoing(lb) || !isFor(lb.Description, ForEndpoint) })
	if !v.started() {
		for _, lb := range there {
			if !slices.ContainsFunc(v.poolsOf(lb), func(p pool) bool { return len(p.Members) > 0 }) {
				d.Add(v.removeLoadBalancer(lb))
			}
		}
		return false
	}
	lb, ok := v.endedBalancer()
	if !ok {
		return false
	}
	d.CannotFollow("apiServer.managedLoadBalancer", "the machines know the API server behind load balancer %s "+putBack, lb.Name)
	v.serveThrough(d, lb)
	for _, l := range v.listenersOf(lb) {
		if p, ok := find(v.mine.pools, func(p pool) bool { return p.ID == l.DefaultPoolID }); ok {
			v.poolMembers(d, lb, p, l.ProtocolPort)
		}
	}
	return true
}

// endedBalancer returns the load balancer that machines use and Git asks for no
// more.
func (v *view) endedBalancer() (loadbalancers.LoadBalancer, bool) {
	if v.balancer().IsEnabled() || !v.started() {
		return loadbalancers.LoadBalancer{}, false
	}
	return find(v.mine.loadBalancers, func(lb loadbalancers.LoadBalancer) bool {
		return !lbGoing(lb) && isFor(lb.Description, ForEndpoint) && v.lbUsed(lb)
	})
}

func (v *view) listenersOf(lb loadbalancers.LoadBalancer) []listeners.Listener {
	return filter(v.mine.listeners, func(l listeners.Listener) bool {
		return slices.ContainsFunc(l.Loadbalancers, func(o listeners.LoadBalancerID) bool { return o.ID == lb.ID })
	})
}

// additionalPorts returns the ports that lead to the control plane besides that of
// the API server: those of Git, and those that its distribution has, which there is no
// need to write down.
func (v *view) additionalPorts() []int32 {
	out := slices.Clone(v.cluster.ControlPlane.Ports)
	if lb := v.balancer(); lb.IsEnabled() {
		for _, p := range lb.AdditionalPorts {
			if !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
		return out
	}
	if lb, ok := v.endedBalancer(); ok {
		for _, l := range v.listenersOf(lb) {
			if !isFor(l.Description, ForEndpoint) {
				out = append(out, int32(l.ProtocolPort))
			}
		}
	}
	return out
}

// keptFloatingIP returns the one that machines know the API server by: the cluster's own
// while it is on a load balancer or on a machine, else one that people made, where it is on one
// of these. Where Git names a host, that says where the API server answers.
func (v *view) keptFloatingIP() (floatingips.FloatingIP, bool) {
	if !v.started() {
		return floatingips.FloatingIP{}, false
	}
	if f, ok := find(v.mine.floatingIPs, func(f floatingips.FloatingIP) bool { return f.PortID != "" }); ok {
		return f, true
	}
	return find(v.all.floatingIPs, func(f floatingips.FloatingIP) bool {
		return v.host() == "" && f.PortID != "" && sameAddress(f.FloatingIP, v.known().Host) && v.serves(f.PortID)
	})
}

// serves reports whether port is that of a load balancer of the API server, or of a machine.
func (v *view) serves(port string) bool {
	return slices.ContainsFunc(v.mine.loadBalancers, func(lb loadbalancers.LoadBalancer) bool { return lb.VipPortID == port }) ||
		slices.ContainsFunc(v.machines, func(m machine) bool {
			return slices.ContainsFunc(v.addressesOf(m.id, ""), func(a address) bool { return a.port == port })
		})
}
