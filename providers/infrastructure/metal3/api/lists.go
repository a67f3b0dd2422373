package api

import (
	"cmp"
	"net/netip"

	"fairlead.dev/providers/driver/addresses"
)

// The families of addresses.
const (
	familyIPv4 = "IPv4"
	familyIPv6 = "IPv6"
)

// named is a list with the name of its field and the family of its addresses.
type named[T any] struct {
	name, family string
	list         []T
}

// fromPools returns the lists of m whose values come from pools.
func (m *MetaData) fromPools() []named[FromPool] {
	return []named[FromPool]{
		{name: "ipAddressesFromPool", list: m.IPAddressesFromPool},
		{name: "prefixesFromPool", list: m.PrefixesFromPool},
		{name: "gatewaysFromPool", list: m.GatewaysFromPool},
		{name: "dnsServersFromPool", list: m.DNSServersFromPool},
	}
}

// static returns the lists of networks in which addresses come from pools.
func (n *NetworkDataNetwork) static() []named[NetworkDataIPv4] {
	return []named[NetworkDataIPv4]{{"ipv4", familyIPv4, n.IPv4}, {"ipv6", familyIPv6, n.IPv6}}
}

// dynamic returns the lists of networks that give addresses themselves.
func (n *NetworkDataNetwork) dynamic() []named[NetworkDataIPv4DHCP] {
	return []named[NetworkDataIPv4DHCP]{{"ipv4DHCP", familyIPv4, n.IPv4DHCP}, {"ipv6DHCP", familyIPv6, n.IPv6DHCP}, {"ipv6SLAAC", familyIPv6, n.IPv6SLAAC}}
}

// metal3Pool returns the reference to an IPPool.
func metal3Pool(name string) IPPoolReference {
	return IPPoolReference{Name: name, Kind: PoolKind, APIGroup: PoolGroup}
}

// compareRefs orders references by kind and name.
func compareRefs(a, b IPPoolReference) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

// groupOf returns the API group of a kind of pools; empty if there is none.
func groupOf(kind string) string {
	switch kind {
	case PoolKind:
		return PoolGroup
	case addresses.PoolKind, addresses.GlobalPoolKind:
		return addresses.Group
	}
	return ""
}

// family returns that of the addresses of a pool that was normalised.
func (s *IPPoolSpec) family() string {
	for _, p := range s.Pools {
		if r, err := p.Range(); err == nil {
			return familyOf(r.From())
		}
	}
	return ""
}

func familyOf(a netip.Addr) string {
	if a.Is4() {
		return familyIPv4
	}
	return familyIPv6
}
