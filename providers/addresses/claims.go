package addresses

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

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

// Parse reads a value of Tag. One that Format never wrote gives the kind Conflict: somebody
// changed it, and nobody knows what the machine has.
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

// Holders are the machines that have an address of a pool, by what the infrastructure shows:
// of all fleets and clusters, in whatever state. The id of a machine is unique in its place,
// and does not change.
type Holders map[Claim][]string

// Add adds the machine called id with the value of its Tag.
func (h Holders) Add(id, value string) error {
	claims, err := Parse(value)
	for _, c := range claims {
		h[c] = append(h[c], id)
	}
	return err
}

// Taken returns the addresses of p that machines have.
func (h Holders) Taken(p *Pool) map[netip.Addr]bool {
	out := make(map[netip.Addr]bool)
	for c := range h {
		if c.Pool == p.ID {
			out[c.Address] = true
		}
	}
	return out
}

// Keeper returns the machine that keeps the address of c: of several the one with the lowest
// id, which is the same to everybody who looks. Empty where nobody has it.
func (h Holders) Keeper(c Claim) string {
	if len(h[c]) == 0 {
		return ""
	}
	return slices.Min(h[c])
}

// Losers returns the machines, sorted, that have an address which another one keeps.
func (h Holders) Losers() []string {
	var out []string
	for c, ids := range h {
		for _, id := range ids {
			if id != h.Keeper(c) {
				out = append(out, id)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Reservations are the addresses that this process asked for lately and that need not show
// yet. The zero value is empty and ready to use. It is safe for concurrent use.
type Reservations struct {
	mu   sync.Mutex
	held map[Claim]reservation
}

type reservation struct {
	claim string    // the name of the claim
	until time.Time // when it shows for certain, or never will
}

// Reserve allocates an address of p for the claim called name, other than taken ones and
// those that are reserved for other claims, and keeps it until then. The claim that has one
// keeps it.
func (r *Reservations) Reserve(p *Pool, name string, taken map[netip.Addr]bool, now, until time.Time) (Claim, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	not := make(map[netip.Addr]bool, len(taken)+len(r.held))
	for a := range taken {
		not[a] = true
	}
	for c, v := range r.held {
		switch {
		case now.After(v.until):
			delete(r.held, c)
		case c.Pool != p.ID:
		case v.claim == name && !taken[c.Address] && p.Contains(c.Address):
			r.held[c] = reservation{name, until}
			return c, nil
		default:
			not[c.Address] = true
		}
	}
	a, err := p.Allocate(name, not)
	if err != nil {
		return Claim{}, err
	}
	if r.held == nil {
		r.held = make(map[Claim]reservation)
	}
	c := Claim{Pool: p.ID, Address: a}
	r.held[c] = reservation{name, until}
	return c, nil
}

// Release forgets the reservation of c: the request for it was refused, or it shows.
func (r *Reservations) Release(c Claim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.held, c)
}
