package machine

import (
	"net/netip"
	"strconv"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/driver/objects"
	"fairlead.dev/providers/infrastructure/metal3/api"
)

// A Pool is an IPPool, or a pool of the in-cluster IPAM provider.
type Pool struct {
	ID    string // as addresses.Pool.ID: "IPPool/prod/nodes"
	name  string
	parts []part
	pre   map[string]*addresses.Pool // of one pre-allocated address each, by holder
}

// A part is an entry of an IPPool.
type part struct {
	pool    *addresses.Pool // without pre-allocated addresses
	all     *addresses.Pool
	gateway netip.Addr
	dns     []netip.Addr
}

// A Claim is who asks for an address of a pool.
type Claim struct {
	Name     string // addresses.ClaimName
	Host     string
	Template string // the Metal3DataTemplate of the machine
	Index    int32  // among the machines of that
}

// FindPool returns the pool among the companions of c that ref names. One that is not there
// gives the kind Invalid.
func FindPool(c *fleet.Cluster, ref api.IPPoolReference) (*Pool, error) {
	if ref.APIGroup == addresses.Group {
		p, err := addresses.Find(c, addresses.Ref{APIGroup: ref.APIGroup, Kind: ref.Kind, Name: ref.Name})
		if err != nil {
			return nil, err
		}
		return &Pool{ID: p.ID, name: ref.Name, parts: []part{{pool: p, all: p, gateway: p.Gateway}}}, nil
	}
	o := objects.Companion(c, api.PoolKind, ref.Name)
	if o == nil {
		return nil, fleet.Errorf(fleet.Invalid, "find "+api.PoolKind+" "+ref.Name, "Git has none for cluster %s", c.Key)
	}
	spec, err := api.ReadPool(*o)
	if err != nil {
		return nil, err
	}
	p, err := NewPool(o.Namespace, o.Name, spec)
	if err != nil {
		return nil, err
	}
	for _, part := range p.parts {
		part.pool.SpareEndpoints(c)
	}
	for _, one := range p.pre {
		one.SpareEndpoints(c)
	}
	return p, nil
}

// NewPool returns the IPPool called name of s, which was normalised.
func NewPool(namespace, name string, s *api.IPPoolSpec) (*Pool, error) {
	out := &Pool{ID: api.PoolKind + "/" + namespace + "/" + name, name: name, pre: make(map[string]*addresses.Pool)}
	var reserved []string
	for who, text := range s.PreAllocations {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fleet.Errorf(fleet.Invalid, "read "+out.ID, "preAllocations: %w", err)
		}
		one := &addresses.PoolSpec{Addresses: []string{a.String()}, Prefix: a.BitLen(), AllocateReservedIPAddresses: true}
		if out.pre[who], err = addresses.NewPool(out.ID, one); err != nil {
			return nil, err
		}
		reserved = append(reserved, a.String())
	}
	for i := range s.Pools {
		p, err := newPart(out.ID, s, &s.Pools[i], reserved)
		if err != nil {
			return nil, err
		}
		out.parts = append(out.parts, p)
	}
	return out, nil
}

// newPart returns an entry of the IPPool called id, whose pre-allocated addresses are reserved.
func newPart(id string, s *api.IPPoolSpec, p *api.Pool, reserved []string) (part, error) {
	r, err := p.Range()
	if err != nil {
		return part{}, fleet.Errorf(fleet.Invalid, "read "+id, "%w", err)
	}
	bits, gateway, dns := p.Prefix, p.Gateway, p.DNSServers
	if bits == 0 {
		bits = s.Prefix
	}
	if gateway == nil {
		gateway = s.Gateway
	}
	if len(dns) == 0 {
		dns = s.DNSServers
	}
	spec := &addresses.PoolSpec{
		Addresses: []string{r.String()}, Prefix: bits,
		// A network of one or two addresses reserves none (RFC 3021, RFC 6164).
		AllocateReservedIPAddresses: bits >= r.From().BitLen()-1,
	}
	if gateway != nil {
		spec.Gateway = *gateway
	}
	var out part
	if out.all, err = addresses.NewPool(id, spec); err != nil {
		return part{}, err
	}
	spec.ExcludedAddresses = reserved
	if out.pool, err = addresses.NewPool(id, spec); err != nil {
		return part{}, err
	}
	out.gateway = out.all.Gateway
	for _, text := range dns {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return part{}, fleet.Errorf(fleet.Invalid, "read "+id, "dnsServers: %w", err)
		}
		out.dns = append(out.dns, a)
	}
	return out, nil
}

// Allocate returns an address of p for c that is not among taken: the same one as long as
// these are the same. Where all are taken, or the one that is pre-allocated is, the error is
// of the kind Exhausted.
func (p *Pool) Allocate(c Claim, taken map[netip.Addr]bool) (netip.Addr, error) {
	return p.each(c, func(part *addresses.Pool) (netip.Addr, error) { return part.Allocate(c.Name, taken) })
}

// Reserve is Allocate beside what l and k have, and keeps the address until then.
func (p *Pool) Reserve(l *addresses.Ledger, c Claim, k addresses.Known, now, until time.Time) (netip.Addr, error) {
	reserve := func(k addresses.Known) func(*addresses.Pool) (netip.Addr, error) {
		return func(part *addresses.Pool) (netip.Addr, error) {
			claim, err := l.Reserve(part, c.Name, k, now, until)
			return claim.Address, err
		}
	}
	a, err := p.each(c, reserve(k.Strict())) // before what another entry may have to give
	if fleet.KindOf(err) == fleet.Exhausted && len(k.Seen) > 0 {
		return p.each(c, reserve(k))
	}
	return a, err
}

// each returns the address that is pre-allocated to c, or that of the first entry that has one.
func (p *Pool) each(c Claim, give func(*addresses.Pool) (netip.Addr, error)) (netip.Addr, error) {
	if one := p.preAllocated(c); one != nil {
		a, err := give(one)
		if fleet.KindOf(err) == fleet.Exhausted {
			return a, fleet.Errorf(fleet.Exhausted, "give an address of "+p.ID, "the one that is pre-allocated to host %s or its index is the endpoint of a cluster, or another machine has it "+
				"(wait until that machine is gone, or change preAllocations)", c.Host)
		}
		return a, err
	}
	size := 0
	for _, part := range p.parts {
		a, err := give(part.pool)
		if fleet.KindOf(err) != fleet.Exhausted {
			return a, err
		}
		size += part.pool.Size()
	}
	return netip.Addr{}, fleet.Errorf(fleet.Exhausted, "give an address of "+p.ID,
		"all of its %d addresses are taken (add some to spec.pools, or have fewer machines)", size)
}

// preAllocated returns the pool of the address that only c is given; nil: there is none. The keys are the names that
// claims have with CAPM3: with its option for names of hosts, and without.
// Source: CAPM3, baremetal/metal3data_manager.go.
func (p *Pool) preAllocated(c Claim) *addresses.Pool {
	if one := p.pre[c.Host+"-"+p.name]; one != nil || c.Template == "" {
		return one
	}
	return p.pre[c.Template+"-"+strconv.Itoa(int(c.Index))+"-"+p.name]
}

// Address returns what a machine gets of a, which p gave. An address that p does not give
// any more gives the kind Conflict: what is known of its network is gone.
func (p *Pool) Address(a netip.Addr) (Address, error) {
	for _, part := range p.parts {
		if part.all.Contains(a) {
			return Address{Prefix: part.all.Prefix(a), Gateway: part.gateway, DNS: part.dns}, nil
		}
	}
	return Address{}, fleet.Errorf(fleet.Conflict, "say what network "+a.String()+" is in", "%s no longer gives it (put it back into its pools until the machine is gone)", p.ID)
}
