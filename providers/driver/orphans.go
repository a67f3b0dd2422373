package driver

import (
	"cmp"
	"slices"

	"fairlead.dev/fleet"
)

// A Lost is an orphan, and the thing of the provider that it is.
type Lost[T any] struct {
	fleet.Orphan
	// Key is equal where two places show one orphan: they may be one place by two names. Empty: its
	// place, kind and id.
	Key   string
	Thing T
}

// A Search looks for orphans in places P, which are things T.
type Search[P, T any] struct {
	Places func(c *fleet.Cluster) ([]P, error) // where c is and was
	Same   func(a, b P) (bool, error)          // whether two are one place for one account
	List   func(at P) ([]Lost[T], error)       // what it finds comes with an error, too
}

// In lists the orphans in all places of clusters, sorted. A place that cannot be listed hides none of
// another: it gives an error.
func (s *Search[P, T]) In(clusters []*fleet.Cluster) (found []Lost[T], failed []error) {
	places, failed := s.places(clusters)
	seen := make(map[string]bool)
	for _, at := range places {
		some, err := s.List(at)
		if err != nil {
			failed = append(failed, err)
		}
		for _, o := range some {
			if key := cmp.Or(o.Key, o.Place+" "+o.Kind+" "+o.ID); !seen[key] {
				seen[key] = true
				found = append(found, o)
			}
		}
	}
	slices.SortFunc(found, func(a, b Lost[T]) int {
		return cmp.Or(a.Cluster.Compare(b.Cluster), cmp.Compare(a.Place, b.Place), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return found, failed
}

// places returns those of clusters, each once.
func (s *Search[P, T]) places(clusters []*fleet.Cluster) (all []P, failed []error) {
	for _, c := range clusters {
		some, err := s.Places(c)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		for _, p := range some {
			known, err := s.isAmong(all, p)
			if err != nil {
				failed = append(failed, err)
			} else if !known {
				all = append(all, p)
			}
		}
	}
	return all, failed
}

func (s *Search[P, T]) isAmong(all []P, p P) (bool, error) {
	for _, a := range all {
		if same, err := s.Same(a, p); same || err != nil {
			return same, err
		}
	}
	return false, nil
}

// Orphans returns found as people see it.
func Orphans[T any](found []Lost[T]) []fleet.Orphan {
	var out []fleet.Orphan
	for i := range found {
		out = append(out, found[i].Orphan)
	}
	return out
}

// Find returns the one of found that is o; nil: none is, since it is gone or belongs to somebody.
func Find[T any](found []Lost[T], o fleet.Orphan) *Lost[T] {
	i := slices.IndexFunc(found, func(f Lost[T]) bool { return f.Place == o.Place && f.Kind == o.Kind && f.ID == o.ID })
	if i < 0 {
		return nil
	}
	return &found[i]
}

// IsLost reports whether tags name a cluster of fleet id that is none of known.
func IsLost(tags map[string]string, id fleet.ID, known []*fleet.Cluster) bool {
	return len(tags) > 0 && tags[fleet.TagFleet] == string(id) && !slices.ContainsFunc(known, func(c *fleet.Cluster) bool { return c.Key.String() == tags[fleet.TagCluster] })
}
