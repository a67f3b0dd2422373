package addresses

import (
	"net/netip"
	"testing"
	"time"

	"fairlead.dev/fleet"
)

// set has these addresses.
func set(list ...string) map[netip.Addr]bool {
	out := make(map[netip.Addr]bool)
	for _, a := range list {
		out[netip.MustParseAddr(a)] = true
	}
	return out
}

// What was asked for and does not show is given to nobody else, and to its own claim again.
func TestReservations(t *testing.T) {
	p := pool(t, PoolSpec{Addresses: []string{"10.0.0.10-10.0.0.11"}, Prefix: 24})
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	var l Ledger
	reserve := func(name string, taken map[netip.Addr]bool, at time.Time) (Claim, error) {
		return l.Reserve(p, name, Known{Taken: taken}, at, at.Add(time.Minute))
	}
	a, err := reserve("a", nil, now)
	if err != nil {
		t.Fatal(err)
	}
	b, err := reserve("b", nil, now)
	if err != nil || b == a {
		t.Fatalf("b has %v, %v, and a %v", b, err, a)
	}
	if again, err := reserve("a", nil, now.Add(time.Second)); err != nil || again != a {
		t.Errorf("a has %v, %v, want %v again", again, err, a)
	}
	if _, err := reserve("c", nil, now); fleet.KindOf(err) != fleet.Exhausted {
		t.Errorf("%v, want kind Exhausted", err)
	}
	if c, err := reserve("c", nil, now.Add(2*time.Minute)); err != nil {
		t.Errorf("%v, %v, want one of those whose time is over", c, err)
	}
	l.Release(a)
	l.Release(b)
	if got, err := reserve("b", map[netip.Addr]bool{b.Address: true}, now); err != nil || got != a {
		t.Errorf("b has %v, %v, want %v: a machine has the other", got, err, a)
	}
	p.SpareEndpoints(&fleet.Cluster{Endpoint: fleet.Endpoint{Host: a.Address.String()}})
	if got, err := reserve("b", nil, now); err != nil || got != b {
		t.Errorf("b has %v, %v, want %v: what it had is an endpoint by now", got, err, b)
	}
}

// An address is given once in a place, whichever pools have it, and once by a pool, wherever its
// machines are. What only is said to be taken is given where there is no other.
func TestLedger(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	const none = "" // Exhausted
	for reason, tc := range map[string]struct {
		before func(l *Ledger, reserve func(pool, name, place string))
		pool   string
		place  string
		known  Known
		want   string
	}{
		"reserved in the place by an overlapping pool": {func(_ *Ledger, reserve func(pool, name, place string)) { reserve("q", "a", "here") }, "p", "here", Known{}, none},
		"reserved elsewhere by another pool":           {func(_ *Ledger, reserve func(pool, name, place string)) { reserve("q", "a", "there") }, "p", "here", Known{}, "10.0.0.10"},
		"reserved elsewhere by the pool":               {func(_ *Ledger, reserve func(pool, name, place string)) { reserve("p", "a", "there") }, "p", "here", Known{}, none},
		"given elsewhere by the pool": {func(l *Ledger, _ func(pool, name, place string)) {
			l.Saw("there", Holders{{"p", netip.MustParseAddr("10.0.0.10")}: {"m"}})
		}, "p", "here", Known{}, none},
		"given back elsewhere": {func(l *Ledger, _ func(pool, name, place string)) {
			l.Saw("there", Holders{{"p", netip.MustParseAddr("10.0.0.10")}: {"m"}})
			l.Saw("there", Holders{})
		}, "p", "here", Known{}, "10.0.0.10"},
		"given elsewhere by another pool": {func(l *Ledger, _ func(pool, name, place string)) {
			l.Saw("there", Holders{{"q", netip.MustParseAddr("10.0.0.10")}: {"m"}})
		}, "p", "here", Known{}, "10.0.0.10"},
		"said to be taken, and the last one": {nil, "p", "here", Known{Seen: set("10.0.0.10")}, "10.0.0.10"},
		"said to be taken, of two":           {nil, "two", "here", Known{Seen: set("10.0.0.10")}, "10.0.0.11"},
		"taken, and the other said to be":    {nil, "two", "here", Known{Seen: set("10.0.0.10", "10.0.0.11"), Taken: set("10.0.0.11")}, "10.0.0.10"},
	} {
		t.Run(reason, func(t *testing.T) {
			pools := make(map[string]*Pool)
			for id, list := range map[string]string{"p": "10.0.0.10", "q": "10.0.0.10", "two": "10.0.0.10-10.0.0.11"} {
				pools[id] = pool(t, PoolSpec{Addresses: []string{list}, Prefix: 24})
				pools[id].ID = id
			}
			var l Ledger
			if tc.before != nil {
				tc.before(&l, func(pool, name, place string) {
					if _, err := l.Reserve(pools[pool], name, Known{Place: place}, now, now.Add(time.Minute)); err != nil {
						t.Fatal(err)
					}
				})
			}
			tc.known.Place = tc.place
			got, err := l.Reserve(pools[tc.pool], "b", tc.known, now, now.Add(time.Minute))
			switch {
			case tc.want == none && fleet.KindOf(err) != fleet.Exhausted:
				t.Errorf("%v, %v, want kind Exhausted", got, err)
			case tc.want != none && (err != nil || got.Address.String() != tc.want):
				t.Errorf("%v, %v, want %s", got, err, tc.want)
			}
		})
	}
}

// A machine gets a different address for each of its references, or none: what was reserved before one
// of them failed is free again.
func TestReserveAll(t *testing.T) {
	p := pool(t, PoolSpec{Addresses: []string{"10.0.0.10-10.0.0.11"}, Prefix: 24})
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	var l Ledger
	reserve := func(n int, name string) ([]Claim, error) {
		return l.ReserveAll(n, Known{}, func(i int, k Known) (Claim, error) {
			return l.Reserve(p, name+string(rune('0'+i)), k, now, now.Add(time.Minute))
		})
	}
	if got, err := reserve(3, "a"); fleet.KindOf(err) != fleet.Exhausted || got != nil {
		t.Errorf("three of two addresses are %v, %v, want kind Exhausted", got, err)
	}
	got, err := reserve(2, "b")
	if err != nil || len(got) != 2 || got[0] == got[1] {
		t.Errorf("two of two addresses are %v, %v", got, err)
	}
	taken := make(map[netip.Addr]bool)
	_, _ = l.ReserveAll(2, Known{Taken: taken}, func(i int, k Known) (Claim, error) {
		if len(k.Taken) != i {
			t.Errorf("reference %d is told of %v", i, k.Taken)
		}
		return Claim{Pool: p.ID, Address: netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})}, nil
	})
	if len(taken) > 0 {
		t.Errorf("what was given to it is changed: %v", taken)
	}
}
