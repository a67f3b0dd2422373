package snapshot

import "slices"

// A Set is everything of one kind in a snapshot, found by id and by owner.
type Set[T any] struct {
	All    []T
	owners []Owner // of All; zero where a thing carries no mark
	byID   map[string]int
	byOwn  map[Owner][]int // by cluster
}

// NewSet returns a Set of all. id tells things apart; what is listed twice, as where
// pages overlap while things come and go, is in it once. owner reports whose a thing
// is; false: it carries no mark.
func NewSet[T any](all []T, id func(*T) string, owner func(*T) (Owner, bool)) Set[T] {
	seen := make(map[string]bool, len(all))
	all = slices.DeleteFunc(all, func(t T) bool {
		again := seen[id(&t)]
		seen[id(&t)] = true
		return again
	})
	s := Set[T]{All: all, owners: make([]Owner, len(all)), byID: make(map[string]int, len(all)), byOwn: make(map[Owner][]int)}
	for i := range all {
		s.byID[id(&all[i])] = i
		if o, ok := owner(&all[i]); ok {
			s.owners[i] = o
			s.byOwn[o.Shared()] = append(s.byOwn[o.Shared()], i)
		}
	}
	return s
}

// Get returns the thing with id, or nil.
func (s *Set[T]) Get(id string) *T {
	if i, ok := s.byID[id]; ok {
		return &s.All[i]
	}
	return nil
}

// Owner returns whose the thing with id is; false where it carries no mark.
func (s *Set[T]) Owner(id string) (Owner, bool) {
	i, ok := s.byID[id]
	if !ok || s.owners[i] == (Owner{}) {
		return Owner{}, false
	}
	return s.owners[i], true
}

// Of returns what o owns: of a cluster everything, the parts of its machines
// too; of a machine its parts. In the order of the listing.
func (s *Set[T]) Of(o Owner) []*T {
	var out []*T
	for _, i := range s.byOwn[o.Shared()] {
		if o.Machine == "" || s.owners[i].Machine == o.Machine {
			out = append(out, &s.All[i])
		}
	}
	return out
}

// SharedBy returns what the machines of the cluster of o share: what is part of
// no machine.
func (s *Set[T]) SharedBy(o Owner) []*T {
	var out []*T
	for _, i := range s.byOwn[o.Shared()] {
		if s.owners[i].Machine == "" {
			out = append(out, &s.All[i])
		}
	}
	return out
}

// Parts returns what is part of machines of the cluster of o, by machine.
func (s *Set[T]) Parts(o Owner) map[Owner][]*T {
	out := make(map[Owner][]*T)
	for _, i := range s.byOwn[o.Shared()] {
		if s.owners[i].Machine != "" {
			out[s.owners[i]] = append(out[s.owners[i]], &s.All[i])
		}
	}
	return out
}

// Owners returns the clusters that own something in s, in no order.
func (s *Set[T]) Owners() []Owner {
	out := make([]Owner, 0, len(s.byOwn))
	for o := range s.byOwn {
		out = append(out, o)
	}
	return out
}
