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
	for _, s := range v.spec.Network.Subnets {
		out = append(out, wantedSubnet{cidr: s.CIDRBlock, zone: s.AvailabilityZone, public: s.IsPublic, tags: s.Tags})
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
	return divide(prefix, zones, vpc.SubnetSchema == api.PreferPublic)
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
