package addresses

import (
	"maps"
	"net/netip"
	"sync"
	"time"

	"fairlead.dev/fleet"
)

// A Ledger is what one process knows of addresses in addition to the place of a machine: addresses
// that it requested lately and that may not be observed yet, and addresses that a pool gave in other
// places. The zero value is empty and ready to use. It is safe for concurrent use.
type Ledger struct {
	mu     sync.Mutex
	held   map[Claim]reservation
	places map[string]Holders // as last seen
}

type reservation struct {
	claim string    // the name of the claim
	place string    // where its machine is to be
	until time.Time // when it shows for certain, or never will
}

// Known is what an observation shows of the addresses of a place.
type Known struct {
	Place string
	Taken map[netip.Addr]bool // never given
	Seen  map[netip.Addr]bool // somebody says to have it: given where no other is left
}

// Strict returns k with what it has Seen never given.
func (k Known) Strict() Known {
	taken := maps.Clone(k.Seen)
	if taken == nil {
		taken = make(map[netip.Addr]bool)
	}
	maps.Copy(taken, k.Taken)
	return Known{Place: k.Place, Taken: taken}
}

// Saw records the holders of addresses in place, by an observation of all of it. The caller must not
// change h later.
func (l *Ledger) Saw(place string, h Holders) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.places == nil {
		l.places = make(map[string]Holders)
	}
	l.places[place] = h
}

// Forget drops the holders of addresses in place, which is no longer observed.
func (l *Ledger) Forget(place string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.places, place)
}

// Reserve allocates an address of p for the claim with that name, and keeps it until then. The
// address is not Taken in k, not given by p in any place, and not reserved for another claim of p
// or in the same place. A claim with a reservation keeps it. An address that is Seen in k is given
// if there is no other.
func (l *Ledger) Reserve(p *Pool, name string, k Known, now, until time.Time) (Claim, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.given(p.ID)
	maps.Copy(taken, k.Taken)
	not := maps.Clone(taken)
	for c, v := range l.held {
		switch {
		case now.After(v.until):
			delete(l.held, c)
		case c.Pool != p.ID && v.place != k.Place:
		case c.Pool == p.ID && v.claim == name && !taken[c.Address] && p.Contains(c.Address) && !p.endpoints[c.Address]:
			l.held[c] = reservation{name, k.Place, until}
			return c, nil
		default:
			not[c.Address] = true
		}
	}
	a, err := p.Allocate(name, Known{Taken: not, Seen: k.Seen}.Strict().Taken)
	if fleet.KindOf(err) == fleet.Exhausted {
		a, err = p.Allocate(name, not)
	}
	if err != nil {
		return Claim{}, err
	}
	if l.held == nil {
		l.held = make(map[Claim]reservation)
	}
	c := Claim{Pool: p.ID, Address: a}
	l.held[c] = reservation{name, k.Place, until}
	return c, nil
}

// given returns the addresses that the pool id gave in any place.
func (l *Ledger) given(id string) map[netip.Addr]bool {
	out := make(map[netip.Addr]bool)
	for _, h := range l.places {
		for c := range h {
			if c.Pool == id {
				out[c.Address] = true
			}
		}
	}
	return out
}

// ReserveAll returns n claims, of the references of one machine. Give reserves the one of reference i;
// what was given to those before is Taken in its k. If one fails, those before are released.
func (l *Ledger) ReserveAll(n int, k Known, give func(i int, k Known) (Claim, error)) ([]Claim, error) {
	taken := make(map[netip.Addr]bool)
	maps.Copy(taken, k.Taken)
	k.Taken = taken
	var out []Claim
	for i := range n {
		c, err := give(i, k)
		if err != nil {
			l.Release(out...)
			return nil, err
		}
		taken[c.Address] = true
		out = append(out, c)
	}
	return out, nil
}

// ReserveFor reserves an address of each of the pools that refs name for a machine of c: see Reserve.
func (l *Ledger) ReserveFor(c *fleet.Cluster, machine fleet.MachineName, refs []Ref, k Known, now, until time.Time) ([]Claim, error) {
	return l.ReserveAll(len(refs), k, func(i int, k Known) (Claim, error) {
		pool, err := Find(c, refs[i])
		if err != nil {
			return Claim{}, err
		}
		return l.Reserve(pool, ClaimName(c, machine, i), k, now, until)
	})
}

// Release drops the reservations of claims, because their request was refused, or the addresses are
// observed.
func (l *Ledger) Release(claims ...Claim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range claims {
		delete(l.held, c)
	}
}
