package rollout

import (
	"iter"
	"maps"
	"slices"

	"github.com/benbjohnson/immutable"

	"fairlead.dev/fleet"
)

// A clusterMap has clusters by key. It is a value: a copy shares all with the original, a change
// of one leaves the other unchanged, and costs only the cluster that changed. The zero map
// is empty.
//
// Most decisions concern few clusters of many that are at rest. What they look at is found without those.
type clusterMap struct {
	byKey     sortedClusters
	notable   sortedClusters // those of byKey that are
	providers map[string]int // how many clusters use each; it is replaced and never changed
}

type sortedClusters = *immutable.SortedMap[fleet.Key, *cluster] // nil: there is none

// notable reports whether the cluster is something else than at rest at what Git has.
func (c *cluster) notable() bool {
	return c.behind || c.orphan || c.damaged != "" || c.next != nil || c.definition == nil
}

// providers returns the names of the infrastructure providers that the cluster uses, each once.
func (c *cluster) providers() []string {
	var names []string
	if c.definition != nil {
		names = c.definition.Providers()
	}
	if c.recorded != nil { // workers may be where Git no longer leads to
		for _, g := range c.recorded.Residence.Guests {
			names = append(names, g.Provider)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

type byKey struct{}

func (byKey) Compare(a, b fleet.Key) int { return a.Compare(b) }

// newClusterMap returns the map of clusters.
func newClusterMap(clusters map[fleet.Key]cluster) clusterMap {
	return clusterMapOf(maps.All(clusters))
}

func clusterMapOf(clusters iter.Seq2[fleet.Key, cluster]) clusterMap {
	all, notable := immutable.NewSortedMapBuilder[fleet.Key, *cluster](byKey{}), immutable.NewSortedMapBuilder[fleet.Key, *cluster](byKey{})
	providers := make(map[string]int)
	for k, c := range clusters {
		all.Set(k, &c)
		if c.notable() {
			notable.Set(k, &c)
		}
		for _, name := range c.providers() {
			providers[name]++
		}
	}
	return clusterMap{all.Map(), notable.Map(), providers}
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
func (m clusterMap) seen() iter.Seq2[fleet.Key, *cluster] { return seen(m.byKey) }

// seenNotable is seen of those that are notable.
func (m clusterMap) seenNotable() iter.Seq2[fleet.Key, *cluster] { return seen(m.notable) }

func seen(m sortedClusters) iter.Seq2[fleet.Key, *cluster] {
	return func(yield func(fleet.Key, *cluster) bool) {
		if m == nil {
			return
		}
		for i := m.Iterator(); !i.Done(); {
			if k, c, _ := i.Next(); !yield(k, c) {
				return
			}
		}
	}
}

// mapped returns m with f of each cluster in its place.
func (m clusterMap) mapped(f func(fleet.Key, cluster) cluster) clusterMap {
	return clusterMapOf(func(yield func(fleet.Key, cluster) bool) {
		for k, c := range m.all() {
			if !yield(k, f(k, c)) {
				return
			}
		}
	})
}

func (m clusterMap) len() int {
	if m.byKey == nil {
		return 0
	}
	return m.byKey.Len()
}

func (m *clusterMap) put(k fleet.Key, c cluster) {
	if m.byKey == nil {
		*m = newClusterMap(nil)
	}
	old, _ := m.byKey.Get(k)
	m.use(old, &c)
	m.byKey = m.byKey.Set(k, &c)
	switch {
	case c.notable():
		m.notable = m.notable.Set(k, &c)
	case old != nil && old.notable():
		m.notable = m.notable.Delete(k)
	}
}

func (m *clusterMap) delete(k fleet.Key) {
	if old, known := m.get(k); known {
		m.use(&old, nil)
		m.byKey, m.notable = m.byKey.Delete(k), m.notable.Delete(k)
	}
}

// use counts the providers of now instead of those of old; nil: there is none.
func (m *clusterMap) use(old, now *cluster) {
	if old != nil && now != nil && old.definition == now.definition && old.recorded == now.recorded {
		return
	}
	counted := maps.Clone(m.providers)
	if old != nil {
		for _, name := range old.providers() {
			if counted[name]--; counted[name] == 0 {
				delete(counted, name)
			}
		}
	}
	if now != nil {
		for _, name := range now.providers() {
			counted[name]++
		}
	}
	m.providers = counted
}
