package fleet

import (
	"net/netip"
	"slices"
	"strings"
)

// Neighbours are the other clusters of a fleet, as far as a cluster that draws addresses from
// pools has to know them: whoever has a provider act on it adds them.
type Neighbours struct {
	Endpoints []string `json:",omitempty"` // hosts of their API servers, sorted: no pool gives them
	// Machines are addresses of their machines, as last reported, where they have a pool in
	// common with it. Sorted.
	Machines []string `json:",omitempty"`
}

// Addresses returns those of Machines.
func (n Neighbours) Addresses() map[netip.Addr]bool {
	out := make(map[netip.Addr]bool, len(n.Machines))
	for _, text := range n.Machines {
		if a, err := netip.ParseAddr(text); err == nil {
			out[a] = true
		}
	}
	return out
}

// WithNeighbours returns c with n.
func (c *Cluster) WithNeighbours(n Neighbours) *Cluster {
	out := *c
	out.Neighbours = n
	return &out
}

// DrawsAddresses reports whether c has pools of addresses.
func (c *Cluster) DrawsAddresses() bool { return slices.ContainsFunc(c.allCompanions(), isPool) }

// SharesPool reports whether c and o have a pool in common.
func (c *Cluster) SharesPool(o *Cluster) bool {
	theirs := o.allCompanions()
	return slices.ContainsFunc(c.allCompanions(), func(x Object) bool {
		return isPool(x) && slices.ContainsFunc(theirs, func(y Object) bool {
			return x.GVK.GroupKind() == y.GVK.GroupKind() && x.Namespace == y.Namespace && x.Name == y.Name
		})
	})
}

// allCompanions returns those of all sites of c.
func (c *Cluster) allCompanions() []Object {
	out := slices.Clone(c.Companions)
	for _, g := range c.Guests {
		out = append(out, g.Companions...)
	}
	return out
}

// isPool reports whether o is a pool of addresses, of Cluster API's IPAM contract or of Metal3's.
func isPool(o Object) bool { return strings.HasPrefix(o.GVK.Group, "ipam.") }
