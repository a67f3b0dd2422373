package addresses

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"

	"go4.org/netipx"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/objects"
)

// A Ref names a pool.
type Ref struct {
	APIGroup string `json:"apiGroup,omitempty"`
	Kind     string `json:"kind"`
	Name     string `json:"name"`
}

// A Pool is a set of addresses to give.
type Pool struct {
	ID      string // "InClusterIPPool/prod/nodes", "GlobalInClusterIPPool/nodes"
	Gateway netip.Addr
	network netip.Prefix
	set     *netipx.IPSet // those to give
	// endpoints are those of clusters, which load balancers or kube-vip answer for: they are
	// given to no machine.
	endpoints map[netip.Addr]bool
}

// Find returns the pool among the companions of c that r names. If there is none, the error has the
// kind Invalid.
func Find(c *fleet.Cluster, r Ref) (*Pool, error) {
	o := objects.Companion(c, r.Kind, r.Name)
	if o == nil {
		return nil, fleet.Errorf(fleet.Invalid, "find "+r.Kind+" "+r.Name, "Git has none for cluster %s", c.Key)
	}
	spec, err := objects.Read[PoolSpec](*o, r.Kind)
	if err != nil {
		return nil, err
	}
	id := r.Kind + "/" + o.Namespace + "/" + o.Name
	if o.Namespace == "" {
		id = r.Kind + "/" + o.Name
	}
	p, err := NewPool(id, spec)
	if err != nil {
		return nil, err
	}
	p.SpareEndpoints(c)
	return p, nil
}

// SpareEndpoints excludes the address of the endpoint that Git names for c, and those of other
// clusters of its fleet, from p.
func (p *Pool) SpareEndpoints(c *fleet.Cluster) {
	p.endpoints = make(map[netip.Addr]bool)
	for _, host := range append([]string{c.NamedEndpoint().Host}, c.Neighbors.Endpoints...) {
		if a, err := netip.ParseAddr(host); err == nil { // or it is a name
			p.endpoints[a] = true
		}
	}
}

// NewPool returns the pool called id of s, which was normalised.
func NewPool(id string, s *PoolSpec) (*Pool, error) {
	if len(s.Addresses) == 0 {
		return nil, fleet.Errorf(fleet.Invalid, "read "+id, "it has no addresses")
	}
	for _, a := range slices.Concat(s.Addresses, s.ExcludedAddresses) {
		if _, err := parseRange(a); err != nil {
			return nil, fleet.Errorf(fleet.Invalid, "read "+id, "%w", err)
		}
	}
	first, _ := parseRange(s.Addresses[0])
	network := netip.PrefixFrom(first.From(), s.Prefix).Masked()
	if !network.IsValid() {
		return nil, fleet.Errorf(fleet.Invalid, "read "+id, "%s has no prefix of length %d", first.From(), s.Prefix)
	}
	p := &Pool{ID: id, network: network, set: setOf(s, network)}
	if s.Gateway != "" {
		var err error
		if p.Gateway, err = netip.ParseAddr(s.Gateway); err != nil {
			return nil, fleet.Errorf(fleet.Invalid, "read "+id, "%w", err)
		}
	}
	return p, nil
}

// setOf returns the addresses that a pool gives.
// Source: the in-cluster IPAM provider, poolutil.PoolSpecToIPSet.
func setOf(s *PoolSpec, network netip.Prefix) *netipx.IPSet {
	var b netipx.IPSetBuilder
	for _, a := range s.Addresses {
		r, _ := parseRange(a)
		b.AddRange(r)
	}
	for _, a := range s.ExcludedAddresses {
		r, _ := parseRange(a)
		b.RemoveRange(r)
	}
	if !s.AllocateReservedIPAddresses {
		all := netipx.RangeOfPrefix(network)
		b.Remove(all.From())
		if network.Addr().Is4() {
			b.Remove(all.To())
		}
	}
	if a, err := netip.ParseAddr(s.Gateway); err == nil {
		b.Remove(a)
	}
	set, _ := b.IPSet() // of ranges that are valid
	return set
}

// parseRange reads an address, a range or a prefix.
func parseRange(s string) (netipx.IPRange, error) {
	var r netipx.IPRange
	var err error
	switch {
	case strings.Contains(s, "-"):
		r, err = netipx.ParseIPRange(s)
	case strings.Contains(s, "/"):
		var p netip.Prefix
		p, err = netip.ParsePrefix(s)
		r = netipx.RangeOfPrefix(p)
	default:
		var a netip.Addr
		a, err = netip.ParseAddr(s)
		r = netipx.IPRangeFrom(a, a)
	}
	if err == nil && (!r.IsValid() || r.From().Is4In6() || strings.Contains(s, "%")) {
		err = fmt.Errorf("%q is no range of addresses", s)
	}
	return r, err
}

// Prefix returns a with the length of the network's prefix, for the configuration of a machine.
func (p *Pool) Prefix(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, p.network.Bits()) }

// Contains reports whether p gives a.
func (p *Pool) Contains(a netip.Addr) bool { return p.set.Contains(a) }

// Size returns the number of addresses of p, at most math.MaxInt.
func (p *Pool) Size() int {
	var n uint64
	for _, r := range p.set.Ranges() {
		n = min(n+count(r), math.MaxInt)
	}
	return int(n) //nolint:gosec // it is bounded
}

// Allocate returns an address of p for the claim with that name that is neither taken nor an
// endpoint. The result is the same for equal arguments. If all are taken, the error has the kind
// Exhausted.
func (p *Pool) Allocate(name string, taken map[netip.Addr]bool) (netip.Addr, error) {
	size, used := p.Size(), 0
	for a := range taken {
		if p.Contains(a) && !p.endpoints[a] {
			used++
		}
	}
	for a := range p.endpoints {
		if p.Contains(a) {
			used++
		}
	}
	if used >= size {
		return netip.Addr{}, fleet.Errorf(fleet.Exhausted, "give an address of "+p.ID,
			"all of its %d addresses are taken (add some to spec.addresses, or have fewer machines)", size)
	}
	sum := sha256.Sum256([]byte(p.ID + "\x00" + name))
	at := binary.BigEndian.Uint64(sum[:8]) % uint64(size) //nolint:gosec // it is not negative
	for {                                                 // at most as many as are used are not free
		if a := p.at(at); !taken[a] && !p.endpoints[a] {
			return a, nil
		}
		at = (at + 1) % uint64(size) //nolint:gosec // it is not negative
	}
}

// at returns address n of p, counted from the lowest.
func (p *Pool) at(n uint64) netip.Addr {
	for _, r := range p.set.Ranges() {
		if have := count(r); n >= have {
			n -= have
			continue
		}
		return plus(r.From(), n)
	}
	return netip.Addr{} // there is no address n
}

// count returns how many addresses r has, math.MaxInt where there are more.
func count(r netipx.IPRange) uint64 {
	a, b := r.From().As16(), r.To().As16()
	high := binary.BigEndian.Uint64(b[:8]) - binary.BigEndian.Uint64(a[:8])
	low, from := binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(a[8:])
	if low < from {
		high--
	}
	if n := low - from; high == 0 && n < math.MaxInt {
		return n + 1
	}
	return math.MaxInt
}

// plus returns the address n after a.
func plus(a netip.Addr, n uint64) netip.Addr {
	b := a.As16()
	low := binary.BigEndian.Uint64(b[8:])
	if low+n < low {
		binary.BigEndian.PutUint64(b[:8], binary.BigEndian.Uint64(b[:8])+1)
	}
	binary.BigEndian.PutUint64(b[8:], low+n)
	if a.Is4() {
		return netip.AddrFrom16(b).Unmap()
	}
	return netip.AddrFrom16(b)
}
