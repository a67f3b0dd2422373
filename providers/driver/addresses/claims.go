package addresses

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"fairlead.dev/fleet"
)

// Tag is the tag of a machine that says which addresses of pools it has.
const Tag = "fairlead.dev/addresses"

// A Claim is one address of a pool.
type Claim struct {
	Pool    string // Pool.ID
	Address netip.Addr
}

// ClaimName is the name of the claim of reference n, counted from zero, of a machine of c.
func ClaimName(c *fleet.Cluster, machine fleet.MachineName, n int) string {
	return fmt.Sprintf("%s %s %s %d", c.Fleet, c.Key, machine, n)
}

// Format returns the value of Tag for claims, in the order of the machine's references.
func Format(claims []Claim) string {
	parts := make([]string, len(claims))
	for i, c := range claims {
		parts[i] = c.Pool + "=" + c.Address.String()
	}
	return strings.Join(parts, ",")
}

// Parse reads a value of Tag. If Format did not write it, the error has the kind Conflict: it was
// changed, and the addresses of the machine are unknown.
func Parse(value string) ([]Claim, error) {
	if value == "" {
		return nil, nil
	}
	var out []Claim
	for part := range strings.SplitSeq(value, ",") {
		pool, text, _ := strings.Cut(part, "=")
		a, err := netip.ParseAddr(text)
		if err != nil || pool == "" {
			return nil, fleet.Errorf(fleet.Conflict, "read the tag "+Tag, "%.60q is no address of a pool", part)
		}
		out = append(out, Claim{Pool: pool, Address: a})
	}
	return out, nil
}

// Holders are the observed machines with an address of a pool, of all fleets and clusters, in any
// state. The id of a machine is unique in its place, and does not change.
type Holders map[Claim][]string

// Add adds the machine called id with the value of its Tag.
func (h Holders) Add(id, value string) error {
	claims, err := Parse(value)
	for _, c := range claims {
		h[c] = append(h[c], id)
	}
	return err
}

// Taken returns the addresses of all holders, of any pool.
func (h Holders) Taken() map[netip.Addr]bool {
	out := make(map[netip.Addr]bool, len(h))
	for c := range h {
		out[c.Address] = true
	}
	return out
}

// Of returns the holders of a, of any pool, sorted.
func (h Holders) Of(a netip.Addr) []string {
	var out []string
	for c, ids := range h {
		if c.Address == a {
			out = append(out, ids...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Loses reports whether the machine id, which does not run, has to give back a, because another
// one runs with it or keeps it. Of several machines that do not run, the one with the lowest id
// keeps it, so that all agents decide equally.
func (h Holders) Loses(id string, a netip.Addr, runs func(id string) bool) bool {
	all := h.Of(a)
	return slices.ContainsFunc(all, func(other string) bool { return other != id && (runs(other) || all[0] != id) })
}
