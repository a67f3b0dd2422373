package rollout

import (
	"iter"

	"github.com/benbjohnson/immutable"

	"fairlead.dev/fleet"
)

// A clusterMap has clusters by key. It is a value: a copy shares all with the original, a change
// of one leaves the other unchanged, and costs only the cluster that changed. The zero map
// is empty.
type clusterMap struct {
	byKey *immutable.SortedMap[fleet.Key, *cluster] // nil: there is none
}

type byKey struct{}

func (byKey) Compare(a, b fleet.Key) int { return a.Compare(b) }

// newClusterMap returns the map of clusters.
func newClusterMap(clusters map[fleet.Key]cluster) clusterMap {
	b := immutable.NewSortedMapBuilder[fleet.Key, *cluster](byKey{})
	for k, c := range clusters {
		b.Set(k, &c)
	}
	return clusterMap{b.Map()}
}

// get returns cluster k, and whether it is known.
func (m clusterMap) get(k fleet.Key) (cluster, bool) {
	if m.byKey == nil {
		return cluster{}, false
	}
	c, known := m.byKey.Get(k)
	if !known {
		return cluster{}, false
	}
	return *c, true
}

// of returns cluster k; the zero cluster where it is not known.
func (m clusterMap) of(k fleet.Key) cluster {
	c, _ := m.get(k)
	return c
}

// all returns all clusters, sorted. What is put or deleted meanwhile is not seen.
func (m clusterMap) all() iter.Seq2[fleet.Key, cluster] {
	return func(yield func(fleet.Key, cluster) bool) {
		for k, c := range m.seen() {
			if !yield(k, *c) {
				return
			}
		}
	}
}

// seen is all without copies, for what only looks.
func (m clusterMap) seen() iter.Seq2[fleet.Key, *cluster] {
	return func(yield func(fleet.Key, *cluster) bool) {
		if m.byKey == nil {
			return
		}
		for i := m.byKey.Iterator(); !i.Done(); {
			if k, c, _ := i.Next(); !yield(k, c) {
				return
			}
		}
	}
}

// mapped returns m with f of each cluster in its place.
func (m clusterMap) mapped(f func(fleet.Key, cluster) cluster) clusterMap {
	b := immutable.NewSortedMapBuilder[fleet.Key, *cluster](byKey{})
	for k, c := range m.all() {
		c = f(k, c)
		b.Set(k, &c)
	}
	return clusterMap{b.Map()}
}

func (m clusterMap) len() int {
	if m.byKey == nil {
		return 0
	}
	return m.byKey.Len()
}

func (m *clusterMap) put(k fleet.Key, c cluster) {
	if m.byKey == nil {
		m.byKey = immutable.NewSortedMap[fleet.Key, *cluster](byKey{})
	}
	m.byKey = m.byKey.Set(k, &c)
}

func (m *clusterMap) delete(k fleet.Key) {
	if m.byKey != nil {
		m.byKey = m.byKey.Delete(k)
	}
}
