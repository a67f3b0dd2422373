package fleet

import (
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Neighbors are the other clusters of a fleet, as far as a cluster that draws addresses from
// pools has to know them: the caller that has a provider act on it adds them.
type Neighbors struct {
	Endpoints []string `json:",omitempty"` // hosts of their API servers, sorted: no pool gives them
	// Machines are addresses of their machines, as last reported, where they have a pool in
	// common with it. Sorted.
	Machines []string `json:",omitempty"`
}

// Addresses returns those of Machines.
func (n Neighbors) Addresses() map[netip.Addr]bool {
	out := make(map[netip.Addr]bool, len(n.Machines))
	for _, text := range n.Machines {
		if a, err := netip.ParseAddr(text); err == nil {
			out[a] = true
		}
	}
	return out
}

// WithNeighbors returns c with n.
func (c *Cluster) WithNeighbors(n Neighbors) *Cluster {
	out := *c
	out.Neighbors = n
	return &out
}

// AddressPools returns the pools of addresses that c has, of Cluster API's IPAM contract and of
// Metal3's.
func (c *Cluster) AddressPools() (out []Object) {
	list := c.Companions
	for _, g := range c.Guests {
		list = slices.Concat(list, g.Companions)
	}
	for _, o := range list {
		if strings.HasPrefix(o.GVK.Group, "ipam.") {
			out = append(out, o)
		}
	}
	return out
}

// SharesPool reports whether c and o have a pool in common.
func (c *Cluster) SharesPool(o *Cluster) bool {
	theirs := o.AddressPools()
	return slices.ContainsFunc(c.AddressPools(), func(x Object) bool {
		return slices.ContainsFunc(theirs, func(y Object) bool { return x.AddressPool() == y.AddressPool() })
	})
}

// An AddressPool tells pools of addresses apart.
type AddressPool struct {
	Kind            schema.GroupKind
	Namespace, Name string
}

// AddressPool returns which pool o is, which AddressPools returned.
func (o *Object) AddressPool() AddressPool {
	return AddressPool{o.GVK.GroupKind(), o.Namespace, o.Name}
}
