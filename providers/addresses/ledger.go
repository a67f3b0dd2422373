package addresses

import (
	"maps"
	"net/netip"
	"sync"
	"time"

	"fairlead.dev/fleet"
)

// A Ledger is what one process knows of addresses beyond the place where a machine is to be: what
// it asked for lately and need not show yet, and what a pool gave in other places. The zero value
// is empty and ready to use. It is safe for concurrent use.
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

// Known is what a look says of the addresses of a place.
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

// Saw notes who has addresses in place, by a look at all of it. The caller does not change h after
// that.
func (l *Ledger) Saw(place string, h Holders) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.places == nil {
		l.places = make(map[string]Holders)
	}
	l.places[place] = h
}

// Forget forgets who has addresses in place: nobody looks there any more.
func (l *Ledger) Forget(place string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.places, place)
}

// Reserve allocates an address of p for the claim called name, and keeps it until then. It is
// none that k has as Taken, that p gave in any place, or that is reserved for another claim, of p
// or in the same place. The claim that has one keeps it. What k has as Seen is given where there
// is no other.
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
		case c.Pool == p.ID && v.claim == name && !taken[c.Address] && p.Contains(c.Address):
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

// given returns the addresses that the pool called id gave, in whatever place.
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

// Release forgets the reservation of c: the request for it was refused, or it shows.
func (l *Ledger) Release(c Claim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, c)
}
