package api

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// pool checks a pool of addresses and fills in its defaults. Its rules are those of the
// webhook of ip-address-manager, that each entry gives addresses, and that it is known how
// long the prefix of their network is: there it is 0 otherwise.
func (v *validator) pool(at *field.Path, s *IPPoolSpec) {
	s.AllocationStrategy = cmp.Or(s.AllocationStrategy, "sequential")
	enum(v, at.Child("allocationStrategy"), s.AllocationStrategy, "sequential", "random")
	if len(s.Pools) == 0 {
		v.Add(field.Required(at.Child("pools"), "addresses, as start and end, or as subnet"))
		return
	}
	family := ""
	var ranges []netipx.IPRange
	for i := range s.Pools {
		p, at := &s.Pools[i], at.Child("pools").Index(i)
		r, ok := v.poolEntry(at, p)
		if !ok {
			continue
		}
		ranges = append(ranges, r)
		if family = cmp.Or(family, familyOf(r.From())); family != familyOf(r.From()) {
			v.Invalid(at, r.String(), "IPv4 and IPv6 do not mix in a pool: make a pool for each")
		}
		bits := cmp.Or(p.Prefix, s.Prefix)
		if bits == 0 && p.Subnet != nil {
			bits = netip.MustParsePrefix(*p.Subnet).Bits()
			p.Prefix = bits
		}
		if bits < 1 || bits > r.From().BitLen() {
			v.Invalid(at.Child("prefix"), bits, "the length of the network's prefix is needed, here or in spec.prefix, such as 24")
		}
		v.servers(at, p.Gateway, p.DNSServers, family)
	}
	v.servers(at, s.Gateway, s.DNSServers, "")
	if g := deref(s.Gateway); g != "" && family != "" {
		if a, err := netip.ParseAddr(g); err == nil && familyOf(a) != family {
			v.Invalid(at.Child("gateway"), g, "must be an address of "+family)
		}
	}
	v.preAllocations(at.Child("preAllocations"), s.PreAllocations, ranges)
}

// poolEntry checks an entry and returns its addresses.
func (v *validator) poolEntry(at *field.Path, p *Pool) (netipx.IPRange, bool) {
	before := len(v.Errs)
	for name, s := range map[string]*string{"start": p.Start, "end": p.End} {
		if s != nil {
			v.IP(at.Child(name), *s)
		}
	}
	if p.Subnet != nil {
		if _, err := netip.ParsePrefix(*p.Subnet); err != nil {
			v.Invalid(at.Child("subnet"), *p.Subnet, `must be a network such as "192.168.0.0/24"`)
		}
	}
	if len(v.Errs) > before {
		return netipx.IPRange{}, false
	}
	r, err := p.Range()
	if err != nil {
		v.Invalid(at, "", err.Error())
	}
	return r, err == nil
}

// Range returns the addresses of p. Those of a subnet are without its first one, and without
// its last one in IPv4, which no host may have; ip-address-manager gives the latter.
func (p *Pool) Range() (netipx.IPRange, error) {
	var from, to netip.Addr
	var subnet netip.Prefix
	var err error
	parse := func(s *string) (a netip.Addr) {
		if s != nil && err == nil {
			a, err = netip.ParseAddr(*s)
		}
		return a
	}
	from, to = parse(p.Start), parse(p.End)
	if p.Subnet != nil && err == nil {
		subnet, err = netip.ParsePrefix(*p.Subnet)
		subnet = subnet.Masked()
	}
	switch {
	case err != nil:
		return netipx.IPRange{}, err
	case p.Start == nil && p.Subnet == nil:
		return netipx.IPRange{}, fmt.Errorf("start or subnet is needed: nothing says where the addresses begin")
	case p.End == nil && p.Subnet == nil:
		return netipx.IPRange{}, fmt.Errorf("end or subnet is needed: nothing says where the addresses end")
	}
	if subnet.IsValid() {
		all := netipx.RangeOfPrefix(subnet)
		first, last := all.From(), all.To()
		if subnet.Bits() < subnet.Addr().BitLen()-1 {
			if first = first.Next(); last.Is4() {
				last = last.Prev()
			}
		}
		if p.Start == nil {
			from = first
		}
		if p.End == nil {
			to = last
		}
	}
	r := netipx.IPRangeFrom(from, to)
	if !r.IsValid() {
		return r, fmt.Errorf("end %s is before start %s, or of another family", to, from)
	}
	if subnet.IsValid() && (!subnet.Contains(from) || !subnet.Contains(to)) {
		return r, fmt.Errorf("%s is not within the subnet %s", r, subnet)
	}
	return r, nil
}

// servers checks a gateway of a family, empty for either, and DNS servers.
func (v *validator) servers(at *field.Path, gateway *string, dns []string, family string) {
	if deref(gateway) != "" {
		v.addressOf(at.Child("gateway"), *gateway, family)
	}
	for i, a := range dns {
		v.IP(at.Child("dnsServers").Index(i), a)
	}
}

// preAllocations checks that each is an address of the pool, and of one name alone.
func (v *validator) preAllocations(at *field.Path, all map[string]string, ranges []netipx.IPRange) {
	names := make(map[netip.Addr]string)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a := v.IP(at.Key(name), all[name])
		switch other, has := names[a]; {
		case !a.IsValid():
		case has:
			v.Invalid(at.Key(name), all[name], "is the address of "+other+" already")
		case !slices.ContainsFunc(ranges, func(r netipx.IPRange) bool { return r.Contains(a) }):
			v.Invalid(at.Key(name), all[name], "is none of the addresses of pools")
		}
		names[a] = name
	}
}

// networks implements fleet.Kind.
func networks(v any) []string {
	spec, ok := v.(*IPPoolSpec)
	if !ok {
		return nil
	}
	var out []string
	for i := range spec.Pools {
		if r, err := spec.Pools[i].Range(); err == nil {
			out = append(out, r.String())
		}
	}
	return out
}
