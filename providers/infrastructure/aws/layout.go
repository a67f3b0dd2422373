package aws

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"net/netip"
	"slices"

	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// A wantedSubnet is one of a VPC that is made.
type wantedSubnet struct {
	cidr, zone string
	six        string // its range of IPv6; empty: it has none
	public     bool
	tags       cloud.Tags
}

// part is the name of the subnet as a part of the cluster.
func (s wantedSubnet) part() string {
	if s.public {
		return "public-" + s.cidr
	}
	return "private-" + s.cidr
}

// layout returns the subnets of a VPC that is made: those that Git names, or one public and one private
// in each zone.
func (v *view) layout() []wantedSubnet {
	var out []wantedSubnet
	six := v.sixRange()
	used := make(map[string]bool)
	for _, s := range v.spec.Network.Subnets {
		out = append(out, wantedSubnet{cidr: s.CIDRBlock, six: s.IPv6CIDRBlock, zone: s.AvailabilityZone, public: s.IsPublic, tags: s.Tags})
		used[s.IPv6CIDRBlock] = true
	}
	next := 0
	for i, s := range v.spec.Network.Subnets { // those without a range of their own get what is left, in their order
		for s.IsIPv6 && out[i].six == "" && six.IsValid() {
			if next++; !used[block6(six, next)] {
				out[i].six = block6(six, next)
			}
		}
	}
	if len(out) > 0 {
		return out
	}
	vpc := v.spec.Network.VPC
	cidr := vpc.CIDRBlock
	if cidr == "" && len(v.vpcs) > 0 { // as a pool gave it
		cidr = v.vpcs[0].CIDR
	}
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil {
		return nil // Git was checked, and a pool was not asked yet
	}
	zones := v.chosenZones()
	out = divide(prefix, zones, vpc.SubnetSchema == api.PreferPublic)
	if six.IsValid() {
		divide6(six, out, vpc.SubnetSchema == api.PreferPublic)
	}
	return out
}

// sixRange returns the range of IPv6 of a VPC that is made; not a valid one: it has none.
func (v *view) sixRange() netip.Prefix {
	if len(v.vpcs) == 0 {
		return netip.Prefix{}
	}
	p, err := netip.ParsePrefix(v.vpcs[0].Six.Range())
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

// divide6 gives subnets in zones ranges of IPv6, from the third on: as upstream, which counts zones and one more, and has the first
// kind begin with the second of these.
// Source: CAPA, pkg/cloud/services/network/subnets.go and pkg/internal/cidr/cidr.go.
func divide6(vpc netip.Prefix, subnets []wantedSubnet, publicFirst bool) {
	own, first := 2, 2+len(subnets)/2
	for i := range subnets {
		at := &first
		if subnets[i].public == publicFirst {
			at = &own
		}
		subnets[i].six = block6(vpc, *at)
		*at++
	}
}

// block6 returns range i of those with 64 bits that a range of IPv6 has.
func block6(p netip.Prefix, i int) string {
	a := p.Addr().As16()
	n := binary.BigEndian.Uint64(a[:8]) + uint64(i) //nolint:gosec // subnets are few
	binary.BigEndian.PutUint64(a[:8], n)
	return netip.PrefixFrom(netip.AddrFrom16(a), 64).String()
}

// chosenZones are those that the cluster has subnets in, and others of the region up to its limit: a zone that
// the region gets later moves nothing. Once there are machines, it keeps its zones: the blocks of others would
// overlap with those that it has.
func (v *view) chosenZones() []string {
	var out []string
	for _, s := range v.subnets {
		out = append(out, s.Zone)
	}
	slices.Sort(out)
	if out = slices.Compact(out); len(out) > 0 && v.started() {
		return out
	}
	rest := slices.Clone(v.zones)
	if v.spec.Network.VPC.AvailabilityZoneSelection == api.Random {
		slices.SortFunc(rest, func(a, b string) int {
			return cmp.Compare(digest(string(v.owner.Fleet), v.owner.Cluster.String(), a), digest(string(v.owner.Fleet), v.owner.Cluster.String(), b))
		})
	}
	most := int(*v.spec.Network.VPC.AvailabilityZoneUsageLimit)
	for _, z := range rest {
		if len(out) < most && !slices.Contains(out, z) {
			out = append(out, z)
		}
	}
	slices.Sort(out)
	return out
}

// divide divides a range into equal blocks, one more than there are zones. The first one is shared by the
// subnets of one kind, and each of the others is one of the other kind, which is private unless
// publicFirst.
// Source: CAPA, pkg/cloud/services/network/subnets.go.
func divide(vpc netip.Prefix, zones []string, publicFirst bool) []wantedSubnet {
	large := bits.Len(uint(len(zones)))     // bits that number zones and one more
	small := bits.Len(uint(len(zones) - 1)) // bits that number zones
	var out []wantedSubnet
	for i, z := range zones {
		first := block(netip.PrefixFrom(vpc.Addr(), vpc.Bits()+large), small, i)
		own := block(vpc, large, i+1)
		out = append(out,
			wantedSubnet{cidr: first.String(), zone: z, public: !publicFirst},
			wantedSubnet{cidr: own.String(), zone: z, public: publicFirst})
	}
	return out
}

// block returns block i of those that a range of IPv4 has with so many bits more.
func block(p netip.Prefix, more, i int) netip.Prefix {
	a := p.Addr().As4()
	n := binary.BigEndian.Uint32(a[:]) + uint32(i)<<(32-p.Bits()-more) //nolint:gosec // zones are few
	binary.BigEndian.PutUint32(a[:], n)
	return netip.PrefixFrom(netip.AddrFrom4(a), p.Bits()+more)
}
