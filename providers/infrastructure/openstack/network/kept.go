package network

import (
	"slices"
	"strconv"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"k8s.io/utils/ptr"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// putBack is what to do about a change that what exists cannot follow.
const putBack = "(put it back, or make a new cluster)"

// standing finds the ports of machines whose place is the cluster's choice: those
// that the template of their pool gives neither a network nor addresses.
func (v *view) standing() {
	left := make(map[fleet.PoolName][]string) // by pool: how the names of such ports end
	for _, p := range v.cluster.Pools() {
		if spec, err := api.ReadMachine(p.Infrastructure); err == nil {
			left[p.Name] = clusterPorts(spec)
		}
	}
	byID := make(map[string]machine, len(v.machines))
	for _, m := range v.machines {
		byID[m.id] = m
	}
	for _, p := range v.all.ports {
		m, ok := byID[p.DeviceID]
		if !ok {
			continue
		}
		v.onNetworks = append(v.onNetworks, p.NetworkID)
		for _, ip := range p.FixedIPs {
			v.onSubnets = append(v.onSubnets, ip.SubnetID)
		}
		if slices.ContainsFunc(left[m.pool], func(end string) bool { return p.Name == string(m.name)+"-"+end }) {
			v.ports = append(v.ports, p)
		}
	}
	slices.Sort(v.onNetworks)
	v.onNetworks = slices.Compact(v.onNetworks)
	slices.Sort(v.onSubnets)
	v.onSubnets = slices.Compact(v.onSubnets)
}

// inUse returns the subnets that machines are placed in, and those of the same network
// that machines have addresses in, whatever Git names since: rules and allowed addresses
// are for both.
func (v *view) inUse(d *decision) []subnets.Subnet {
	out := slices.Clone(d.placement.subnets)
	for _, s := range v.all.subnets {
		if s.NetworkID == d.placement.Network && slices.Contains(v.onSubnets, s.ID) && !slices.Contains(d.placement.Subnets, s.ID) {
			out = append(out, s)
		}
	}
	return out
}

// clusterPorts returns how the names of those ports of spec end that are on the
// network of the cluster because Git does not say where else.
func clusterPorts(spec *api.OpenStackMachineSpec) []string {
	if len(spec.Ports) == 0 {
		return []string{"0"}
	}
	var out []string
	for i, p := range spec.Ports {
		if p.Network == nil && len(p.FixedIPs) == 0 {
			out = append(out, ptr.Deref(p.NameSuffix, strconv.Itoa(i)))
		}
	}
	return out
}

// networkOfMachines returns the network of the machines if it is another network
// than named, the one that Git names now. If one of them is on named, or a load
// balancer for which Git names no network of its own, nothing changed.
func (v *view) networkOfMachines(named string) (cloud.Network, bool) {
	if slices.Contains(v.onNetworks, named) {
		return cloud.Network{}, false
	}
	own := v.balancer() != nil && (v.balancer().Network != nil || len(v.balancer().Subnets) > 0)
	if !own && slices.ContainsFunc(v.mine.loadBalancers, func(lb loadbalancers.LoadBalancer) bool { return lb.VipNetworkID == named }) {
		return cloud.Network{}, false
	}
	if len(v.ports) == 0 {
		return cloud.Network{}, false
	}
	return find(v.all.networks, func(n cloud.Network) bool { return n.ID == v.ports[0].NetworkID })
}

// usedNetwork returns the network of a cluster that runs, whose machines are all on networks that
// their templates name: that of its load balancer, else the only one that machines are on.
func (v *view) usedNetwork() (cloud.Network, bool) {
	return find(v.all.networks, func(n cloud.Network) bool {
		return slices.Contains(v.onNetworks, n.ID) &&
			(len(v.onNetworks) == 1 || slices.ContainsFunc(v.mine.loadBalancers, func(lb loadbalancers.LoadBalancer) bool { return lb.VipNetworkID == n.ID }))
	})
}

// placeWhereMachinesAre places the next machines where the others are: on those subnets of n that
// these have addresses in where Git names subnets, else on all.
func (v *view) placeWhereMachinesAre(d *decision, n cloud.Network) {
	d.refused = true
	on := filter(v.all.subnets, func(s subnets.Subnet) bool { return s.NetworkID == n.ID })
	if len(v.spec.Subnets) == 0 && v.spec.PrimarySubnet == nil {
		d.placement.on(n, v.portSecurity(n), on)
		return
	}
	on = filter(on, func(s subnets.Subnet) bool {
		return len(v.ports) == 0 && slices.Contains(v.onSubnets, s.ID) ||
			slices.ContainsFunc(v.ports, func(p cloud.Port) bool { return inSubnet(p, s.ID) })
	})
	d.placement.on(n, v.portSecurity(n), on)
	d.placement.Addresses = nil
	if len(v.ports) == 0 {
		return // the templates say where the next machines get theirs
	}
	for _, s := range on {
		if inSubnet(v.ports[0], s.ID) { // others may have what Neutron chose for them
			d.placement.Addresses = append(d.placement.Addresses, s.ID)
		}
	}
}

// keptNetwork keeps machines on the network that was made for the cluster, where
// Git names another one since.
func (v *view) keptNetwork(d *decision) bool {
	i := slices.IndexFunc(v.mine.networks, func(n cloud.Network) bool { return slices.Contains(v.onNetworks, n.ID) })
	if i < 0 {
		return false
	}
	n := v.mine.networks[i]
	d.CannotFollow(v.networkField(), "the machines are on network %s, which was made for the cluster "+putBack, n.Name)
	d.placement.on(n, v.portSecurity(n), filter(v.mine.subnets, func(s subnets.Subnet) bool { return s.NetworkID == n.ID }))
	v.connected(d)
	return true
}

// connected has the placement lead to the router that the subnets of the machines are
// connected to.
func (v *view) connected(d *decision) {
	if r := v.connectedRouter(d); r != nil {
		d.placement.router = r
	}
}

// connectedRouter returns that router, or nil.
func (v *view) connectedRouter(d *decision) *routers.Router {
	for _, p := range v.all.ports {
		if ofRouter(p) && len(d.placement.Subnets) > 0 && slices.ContainsFunc(d.placement.Subnets, func(s string) bool { return inSubnet(p, s) }) {
			if r, ok := find(v.all.routers, func(r routers.Router) bool { return r.ID == p.DeviceID }); ok {
				return &r
			}
		}
	}
	return nil
}

// keptFixedIP returns the address that the machines know the API server by, where it
// is neither a floating IP nor that of a load balancer.
func (v *view) keptFixedIP(d *decision) (string, bool) {
	host := v.known().Host
	at := func(f floatingips.FloatingIP) bool { return sameAddress(f.FloatingIP, host) }
	if v.balancer().IsEnabled() || v.floating(d) || !isAddress(host) || slices.ContainsFunc(v.all.floatingIPs, at) {
		return "", false
	}
	return host, true
}

func (v *view) networkField() string {
	if v.spec.Network == nil {
		return "subnets"
	}
	return "network"
}

// addresses decides in which subnets of the network that Git names the machines
// get addresses. Where the others have none in any of these it is reported, and the
// next machines get theirs where the others have them.
func (v *view) addresses(d *decision, found []subnets.Subnet) {
	var want []string
	field := "subnets"
	switch {
	case v.spec.PrimarySubnet != nil:
		want, field = []string{found[0].ID}, "primarySubnet"
	case len(v.spec.Subnets) > 0:
		for _, s := range found {
			want = append(want, s.ID)
		}
	default:
		return // Neutron chooses
	}
	d.placement.Addresses = want
	here := filter(v.ports, func(p cloud.Port) bool { return p.NetworkID == d.placement.Network && len(p.FixedIPs) > 0 })
	fits := func(p cloud.Port) bool {
		return slices.ContainsFunc(want, func(s string) bool { return inSubnet(p, s) })
	}
	if len(here) == 0 || slices.ContainsFunc(here, fits) {
		return
	}
	var names []string
	for _, s := range v.all.subnets {
		if inSubnet(here[0], s.ID) {
			names = append(names, s.CIDR)
		}
	}
	slices.Sort(names)
	d.CannotFollow(field, "the machines have addresses in %s "+putBack, words(names, func(s string) string { return s }))
	v.ports = here
	if n, ok := find(v.all.networks, func(n cloud.Network) bool { return n.ID == d.placement.Network }); ok {
		v.placeWhereMachinesAre(d, n)
	}
}

// networkOfOthers keeps the machines of a cluster without a managed network where
// they are, if Git requires a managed network now.
func (v *view) networkOfOthers(d *decision) {
	n, ok := find(v.all.networks, func(n cloud.Network) bool { return len(v.ports) > 0 && n.ID == v.ports[0].NetworkID })
	if !ok {
		d.Fault(cannotChange("managedSubnets", "the cluster has machines, and no network that was made for it %s", putBack))
		return
	}
	d.CannotFollow("managedSubnets", "the machines are on network %s, which was not made for the cluster "+putBack, n.Name)
	v.placeWhereMachinesAre(d, n)
}
