package replicas

import (
	"cmp"
	"maps"
	"slices"
)

// A Share is the shards that one replica holds.
type Share struct {
	Replica string // identity
	Shards  []int  // sorted
}

// Shares returns what each replica held when this one last looked, sorted by identity, and
// how many shards there are.
func (r *Replica) Shares() (shares []Share, of int) {
	known, _ := r.known()
	for _, session := range slices.Sorted(maps.Keys(known.sessions)) {
		s := Share{Replica: holder(known.sessions[session])}
		for i := range r.o.Shards {
			if known.holderOf(i) == session {
				s.Shards = append(s.Shards, i)
			}
		}
		shares = append(shares, s)
	}
	slices.SortFunc(shares, func(a, b Share) int { return cmp.Compare(a.Replica, b.Replica) })
	return shares, r.o.Shards
}
