package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fleet"
)

// A subject is an object of a fleet. Overlays may have the same one.
type subject struct {
	kind string
	key  fleet.Key
}

func (s subject) String() string { return s.kind + " " + s.key.String() }

// A twin is another object with an identity.
type twin struct {
	fleet.Identity
	other subject
}

// withoutTwins returns the clusters whose objects have unique identities, and the problems of the
// others: of two objects about one thing, the right one is unknown. The deletion of a cluster is never
// refused: its provider changes no host that another object describes.
func withoutTwins(clusters []fleet.Cluster) (apart []fleet.Cluster, problems []fleet.Problem) {
	twins := twinsOf(clusters)
	if len(twins) == 0 {
		return clusters, nil
	}
	for _, c := range clusters {
		if c.Delete || c.Abandon {
			apart = append(apart, c)
			continue
		}
		before := len(problems)
		for _, o := range infrastructureOf(&c) {
			s := subjectOf(o)
			for _, t := range twins[s] {
				problems = append(problems, fleet.Problem{
					Overlay: c.Overlay, Cluster: c.Key, File: o.File, Object: s.String(), Field: t.Field,
					Message: fmt.Sprintf("%s has the same value, %s", t.other, t.Value), Hint: "correct one of them, or remove it",
				})
			}
		}
		if len(problems) == before {
			apart = append(apart, c)
		}
	}
	return apart, problems
}

// twinsOf returns the twins of objects of clusters, sorted.
func twinsOf(clusters []fleet.Cluster) map[subject][]twin {
	owners := make(map[fleet.Identity][]subject)
	for i := range clusters {
		for _, o := range infrastructureOf(&clusters[i]) {
			for _, id := range o.Identities {
				if s := subjectOf(o); !slices.Contains(owners[id], s) {
					owners[id] = append(owners[id], s)
				}
			}
		}
	}
	out := make(map[subject][]twin)
	for id, list := range owners {
		others := list
		if whole, _, part := strings.Cut(id.Value, "/"); part {
			others = slices.Concat(list, owners[fleet.Identity{Field: id.Field, Value: whole}])
		}
		for _, s := range list {
			for _, other := range others {
				if s != other {
					out[s] = append(out[s], twin{id, other})
				}
			}
		}
		for _, whole := range others[len(list):] {
			for _, s := range list {
				if s != whole {
					out[whole] = append(out[whole], twin{id, s})
				}
			}
		}
	}
	for _, list := range out {
		slices.SortFunc(list, func(a, b twin) int {
			return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Value, b.Value), cmp.Compare(a.other.String(), b.other.String()))
		})
	}
	return out
}

func subjectOf(o fleet.Object) subject {
	return subject{o.GVK.Kind, fleet.Key{Namespace: o.Namespace, Name: o.Name}}
}
