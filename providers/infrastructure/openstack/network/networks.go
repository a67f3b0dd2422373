package network

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/mtu"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/portsecurity"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"k8s.io/utils/ptr"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// managed reports whether the network is to be made.
func (v *view) managed() bool { return len(v.spec.ManagedSubnets) > 0 }

// external finds the external network: the one that Git names, else the only one there
// is. A cluster works without one, as where Git switches it off. Where networks came or
// went, so that it is not clear any more which one, the cluster stays on the one that it
// uses.
func (v *view) external(d *decision) {
	if !ptr.Deref(v.spec.EnableExternalNetwork, true) {
		return
	}
	asked := v.spec.ExternalNetwork
	if asked == nil {
		if n := len(filter(v.all.networks, isExternal)); n != 1 && v.usedExternal() != "" || n == 0 {
			d.placement.ExternalNetwork = v.usedExternal()
			return
		}
		asked = new(api.NetworkParam)
	}
	n, err := findNetwork("externalNetwork", v.all.networks, asked, isExternal)
	if err != nil {
		v.notFound(d, err)
		d.placement.ExternalNetwork = v.usedExternal()
		return
	}
	d.placement.ExternalNetwork = n.ID
	if used, ok := find(v.all.networks, func(n cloud.Network) bool { return n.ID == v.usedExternal() }); ok && v.started() && used.ID != n.ID {
		d.CannotFollow("externalNetwork", "the cluster has its router and its floating IPs on network %s "+putBack, used.Name)
		d.placement.ExternalNetwork = used.ID
	}
}

// usedExternal returns the network that the cluster's router leads to, else that
// of its floating IP, which may be one that the user made.
func (v *view) usedExternal() string {
	for _, r := range v.mine.routers {
		if r.GatewayInfo.NetworkID != "" {
			return r.GatewayInfo.NetworkID
		}
	}
	for _, f := range v.mine.floatingIPs {
		return f.FloatingNetworkID
	}
	if f, ok := find(v.all.floatingIPs, func(f floatingips.FloatingIP) bool { return sameAddress(f.FloatingIP, v.known().Host) }); ok {
		return f.FloatingNetworkID
	}
	return ""
}

func isExternal(n cloud.Network) bool { return n.External }

// existingNetwork places machines on the network and the subnets that Git names,
// or where they are already. Where what Git names is not found any more they stay.
func (v *view) existingNetwork(d *decision) {
	if v.keptNetwork(d) {
		return
	}
	n, found, err := v.namedNetwork()
	if at, ok := v.networkOfMachines(n.ID); ok {
		if err == nil {
			err = cannotChange(v.networkField(), "the machines are on network %s "+putBack, at.Name)
		}
		d.Faults = append(d.Faults, err)
		v.placeWhereMachinesAre(d, at)
		return
	}
	if err != nil {
		at, ok := v.usedNetwork()
		if !ok {
			d.Fault(err)
			return
		}
		d.Faults = append(d.Faults, err)
		v.placeWhereMachinesAre(d, at)
		v.connected(d)
		return
	}
	d.placement.on(n, v.portSecurity(n), found)
	v.addresses(d, found)
	v.existingRouter(d)
}

// namedNetwork finds the network and the subnets that Git names, the primary one
// first. Without a network the first subnet says which it is; without subnets they
// are all.
func (v *view) namedNetwork() (cloud.Network, []subnets.Subnet, error) {
	network := ""
	if v.spec.Network != nil {
		n, err := findNetwork("network", v.all.networks, v.spec.Network, nil)
		if err != nil {
			return cloud.Network{}, nil, err
		}
		network = n.ID
	}
	var found []subnets.Subnet
	for i := range v.spec.Subnets {
		s, err := findSubnet(fmt.Sprintf("subnets[%d]", i), v.all.subnets, network, &v.spec.Subnets[i])
		if err != nil {
			return cloud.Network{}, nil, err
		}
		found, network = append(found, s), s.NetworkID
	}
	if len(v.spec.Subnets) == 0 {
		found = filter(v.all.subnets, func(s subnets.Subnet) bool { return s.NetworkID == network })
	}
	n, ok := find(v.all.networks, func(n cloud.Network) bool { return n.ID == network })
	if !ok || len(found) == 0 {
		return cloud.Network{}, nil, fleet.Errorf(fleet.Invalid, "find the subnets of the cluster", "network %q has none that the project sees (make one, or name another network)", network)
	}
	if v.spec.PrimarySubnet != nil {
		s, err := findSubnet("primarySubnet", found, network, v.spec.PrimarySubnet)
		if err != nil {
			return cloud.Network{}, nil, err
		}
		found = append([]subnets.Subnet{s}, without(found, func(o subnets.Subnet) bool { return o.ID == s.ID })...)
	}
	return n, found, nil
}

// existingRouter finds the router that Git names for a network that exists:
// nothing is done to it, its addresses may reach the API server.
func (v *view) existingRouter(d *decision) {
	if v.spec.Router == nil {
		return
	}
	if r, ok := v.namedRouter(d); ok {
		d.placement.router = &r
	}
}

// managedNetwork has the network made, its subnets and its router.
func (v *view) managedNetwork(d *decision) {
	n, surplus, extra := pick(v.mine.networks, func(n cloud.Network) (time.Time, string) { return n.CreatedAt, n.ID }, v.networkUsed)
	for _, s := range surplus {
		d.Add(v.removeNetwork(s))
	}
	for _, e := range extra {
		d.CannotFollow("network "+e.ID, "the cluster has two networks that are in use, %s too (remove its ports)", n.ID)
	}
	if n == nil && v.started() {
		v.networkOfOthers(d)
		return
	}
	if n == nil {
		d.Add(step{What: "make network " + v.name(), Essential: true, Do: v.neutron(v.makeNetwork)})
		return
	}
	d.placement.on(*n, v.portSecurity(*n), nil)
	v.networkDiffers(d, *n)
	v.tags(d, "networks", n.ID, n.Name, n.Tags, func(t []string) { n.Tags = t; v.putNetwork(*n) })
	v.managedSubnets(d, *n)
	v.managedRouter(d)
}

func (v *view) putNetwork(n cloud.Network) {
	put(&v.all.networks, &v.mine.networks, n, func(o cloud.Network) bool { return o.ID == n.ID })
}

// networkUsed reports whether n has ports that keep it from being removed.
func (v *view) networkUsed(n cloud.Network) bool {
	return slices.ContainsFunc(v.all.ports, func(p cloud.Port) bool { return p.NetworkID == n.ID && (ofRouter(p) || !ofNeutron(p)) })
}

func (v *view) makeNetwork(ctx context.Context, c *gophercloud.ServiceClient) error {
	var o networks.CreateOptsBuilder = networks.CreateOpts{
		Name: v.name(), Description: v.description(ForNodes), AdminStateUp: gophercloud.Enabled,
	}
	if m := v.spec.ManagedNetwork; m != nil {
		if m.EnablePortSecurity != nil {
			o = portsecurity.NetworkCreateOptsExt{CreateOptsBuilder: o, PortSecurityEnabled: m.EnablePortSecurity}
		}
		if m.MTU != nil {
			o = mtu.CreateOptsExt{CreateOptsBuilder: o, MTU: int(*m.MTU)}
		}
	}
	var n cloud.Network
	if err := networks.Create(ctx, c, o).ExtractInto(&n); err != nil {
		return err
	}
	v.putNetwork(n)
	return nil
}

// portSecurity reports whether ports of n can have security groups. A Neutron
// without the extension, where all of them can, says it of no network.
func (v *view) portSecurity(n cloud.Network) bool {
	return n.PortSecurityEnabled || !slices.ContainsFunc(v.all.networks, func(n cloud.Network) bool { return n.PortSecurityEnabled })
}

// networkDiffers tells what Git asks for and a network cannot be given later.
func (v *view) networkDiffers(d *decision, n cloud.Network) {
	m := v.spec.ManagedNetwork
	if m == nil {
		return
	}
	if m.MTU != nil && n.MTU != 0 && int(*m.MTU) != n.MTU {
		d.CannotFollow("managedNetwork.mtu", "network %s was made with %d, and its machines use that "+putBack, n.Name, n.MTU)
	}
	if m.EnablePortSecurity != nil && *m.EnablePortSecurity != v.portSecurity(n) {
		d.CannotFollow("managedNetwork.enablePortSecurity", "network %s was made with %t "+putBack, n.Name, v.portSecurity(n))
	}
}
