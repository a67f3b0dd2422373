package network

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// managedSubnets has the subnets made, and keeps what can change in them.
func (v *view) managedSubnets(d *decision, n cloud.Network) {
	there := make(map[string][]subnets.Subnet) // by prefix
	for _, s := range v.mine.subnets {
		if s.NetworkID == n.ID {
			there[normalPrefix(s.CIDR)] = append(there[normalPrefix(s.CIDR)], s)
		}
	}
	var found []subnets.Subnet
	var missing []int
	for i, want := range v.spec.ManagedSubnets {
		prefix := normalPrefix(want.CIDR)
		s, surplus, _ := pick(there[prefix], func(s subnets.Subnet) (time.Time, string) { return s.CreatedAt, s.ID }, v.subnetUsed)
		delete(there, prefix)
		for _, o := range surplus {
			d.Add(v.removeSubnet(o))
		}
		if s == nil {
			missing = append(missing, i)
			continue
		}
		found = append(found, *s)
		v.subnetDiffers(d, *s, want)
		v.tags(d, "subnets", s.ID, s.CIDR, s.Tags, func(t []string) { s.Tags = t; v.putSubnet(*s) })
	}
	d.placement.on(n, v.portSecurity(n), withLeft(found, there))
	for _, prefix := range slices.Sorted(maps.Keys(there)) {
		d.CannotFollow("managedSubnets", "the network has the subnet %s, which Git no longer has, and a subnet cannot be changed or given up "+putBack, prefix)
	}
	if len(there) > 0 {
		return
	}
	for _, i := range missing {
		want := v.spec.ManagedSubnets[i]
		d.Add(step{What: "make subnet " + want.CIDR, Essential: true, Do: v.neutron(func(ctx context.Context, c *gophercloud.ServiceClient) error {
			return v.makeSubnet(ctx, c, n, i, want)
		})})
	}
}

// withLeft returns found and the subnets of left, which Git no longer has: machines have
// addresses in them. Then all are in the order in which they were made, as
// when Git had them.
func withLeft(found []subnets.Subnet, left map[string][]subnets.Subnet) []subnets.Subnet {
	if len(left) == 0 {
		return found
	}
	all := slices.Clone(found)
	for _, same := range left {
		all = append(all, same...)
	}
	slices.SortFunc(all, func(a, b subnets.Subnet) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return all
}

func (v *view) putSubnet(s subnets.Subnet) {
	put(&v.all.subnets, &v.mine.subnets, s, func(o subnets.Subnet) bool { return o.ID == s.ID })
}

// subnetUsed reports whether ports have addresses in s.
func (v *view) subnetUsed(s subnets.Subnet) bool {
	return slices.ContainsFunc(v.all.ports, func(p cloud.Port) bool { return inSubnet(p, s.ID) })
}

func (v *view) makeSubnet(ctx context.Context, c *gophercloud.ServiceClient, n cloud.Network, i int, want api.SubnetSpec) error {
	o := subnets.CreateOpts{
		NetworkID: n.ID, Name: v.name(), Description: v.description(ForNodes), CIDR: want.CIDR, IPVersion: gophercloud.IPv4,
		DNSNameservers: want.DNSNameservers, AllocationPools: allocationPools(want),
	}
	if i > 0 {
		o.Name = v.name(fmt.Sprint(i))
	}
	if familyOf(want.CIDR) == ipv6 {
		// The one mode in which addresses are what Neutron gave out, as they have to
		// be for allocation pools, fixed IPs and the members of load balancers.
		o.IPVersion, o.IPv6AddressMode, o.IPv6RAMode = gophercloud.IPv6, "dhcpv6-stateful", "dhcpv6-stateful"
	}
	s, err := subnets.Create(ctx, c, o).Extract()
	return entered(v.putSubnet, s, err)
}

func allocationPools(s api.SubnetSpec) []subnets.AllocationPool {
	var out []subnets.AllocationPool
	for _, p := range s.AllocationPools {
		out = append(out, subnets.AllocationPool{Start: p.Start, End: p.End})
	}
	return out
}

// subnetDiffers has name servers and allocation pools brought in line.
func (v *view) subnetDiffers(d *decision, s subnets.Subnet, want api.SubnetSpec) {
	var o subnets.UpdateOpts
	var words string
	if !slices.EqualFunc(s.DNSNameservers, want.DNSNameservers, sameAddress) {
		servers := append([]string{}, want.DNSNameservers...)
		o.DNSNameservers, words = &servers, fmt.Sprintf("name servers %v", servers)
	}
	if pools := allocationPools(want); len(pools) > 0 && !samePools(pools, s.AllocationPools) {
		o.AllocationPools = pools
		if words != "" {
			words += " and "
		}
		words += "allocation pools"
	}
	if words == "" {
		return
	}
	d.Add(step{What: fmt.Sprintf("give subnet %s the %s", want.CIDR, words), Do: v.neutron(func(ctx context.Context, c *gophercloud.ServiceClient) error {
		got, err := subnets.Update(ctx, c, s.ID, o).Extract()
		return entered(v.putSubnet, got, err)
	})})
}

func samePools(a, b []subnets.AllocationPool) bool {
	same := func(x, y subnets.AllocationPool) bool {
		return sameAddress(x.Start, y.Start) && sameAddress(x.End, y.End)
	}
	return len(a) == len(b) && !slices.ContainsFunc(a, func(x subnets.AllocationPool) bool {
		return !slices.ContainsFunc(b, func(y subnets.AllocationPool) bool { return same(x, y) })
	})
}
