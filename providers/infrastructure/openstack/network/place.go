package network

import (
	"net/netip"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// A Placement is where the machines of a cluster are put. Ids that are not known
// yet, or that the cluster does not have, are empty.
type Placement struct {
	Network         string
	Subnets         []string // of Network, the primary one first
	Addresses       []string // subnets that a machine gets an address in each of; none: Neutron chooses
	PortSecurity    bool     // of Network: without it its ports can have no security groups
	ExternalNetwork string   // where floating IPs are

	ControlPlaneGroup, WorkerGroup, BastionGroup string // managed security groups
	Ungrouped                                    bool   // machines have none, whatever Git says since

	subnets []subnets.Subnet
	router  *routers.Router
}

// on places machines on the subnets of n.
func (p *Placement) on(n cloud.Network, security bool, all []subnets.Subnet) {
	p.Network, p.PortSecurity, p.subnets, p.Subnets = n.ID, security, all, nil
	for _, s := range all {
		p.Subnets = append(p.Subnets, s.ID)
	}
}

// primary returns the subnet that the endpoint is on.
func (p *Placement) primary() string {
	if len(p.Subnets) == 0 {
		return ""
	}
	return p.Subnets[0]
}

// contains reports whether address is in cidr.
func contains(cidr, address string) bool {
	p, err := netip.ParsePrefix(cidr)
	a, err2 := netip.ParseAddr(address)
	return err == nil && err2 == nil && p.Contains(a)
}
