package forecast

import (
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fleet"
)

func compare(a, b string) int { return strings.Compare(a, b) }

// apply has a ClusterResourceSet applied.
func (m *model) apply(desired *fleet.Cluster, a fleet.Action) {
	set, _ := desired.ResourceSet(a.Addon)
	w := &m.observed.Workload
	i := slices.IndexFunc(w.ResourceSets, func(s fleet.ResourceSetState) bool { return s.Name == a.Addon })
	if i < 0 {
		w.ResourceSets = append(w.ResourceSets, fleet.ResourceSetState{Name: a.Addon})
		i = len(w.ResourceSets) - 1
	}
	have := &w.ResourceSets[i]
	have.Strategy, have.Prune, have.Failures, have.Applied = set.Strategy, set.Prune, nil, m.now
	have.Resources = maps.Clone(have.Resources)
	if have.Resources == nil {
		have.Resources = map[string]fleet.ResourceState{}
	}
	for _, r := range set.Resources {
		if !slices.Contains(a.Resources, r.Name) {
			continue
		}
		have.Resources[r.Name] = fleet.ResourceState{Digest: r.Digest, Applied: true}
		for _, o := range r.Objects {
			if !slices.ContainsFunc(have.Objects, o.SameObject) {
				have.Objects = append(slices.Clone(have.Objects), o.ObjectRef)
			}
		}
	}
	slices.SortFunc(w.ResourceSets, func(a, b fleet.ResourceSetState) int { return compare(a.Name, b.Name) })
}

// prune has the objects that a ClusterResourceSet does not have any more deleted and
// forgotten.
func (m *model) prune(desired *fleet.Cluster, a fleet.Action) {
	w := &m.observed.Workload
	set, known := desired.ResourceSet(a.Addon)
	if !known {
		w.ResourceSets = slices.DeleteFunc(w.ResourceSets, func(s fleet.ResourceSetState) bool { return s.Name == a.Addon })
		return
	}
	for i := range w.ResourceSets {
		if s := &w.ResourceSets[i]; s.Name == a.Addon {
			s.Objects = set.Refs()
		}
	}
}

// release has a release of Helm installed, upgraded or removed.
func (m *model) release(desired *fleet.Cluster, a fleet.Action) {
	w := &m.observed.Workload
	w.Releases = slices.DeleteFunc(w.Releases, func(s fleet.ReleaseState) bool { return s.ReleaseRef == a.Release })
	if r, ok := desired.Release(a.Release); ok && a.Kind == fleet.InstallRelease {
		w.Releases = append(w.Releases, fleet.ReleaseState{
			ReleaseRef: r.ReleaseRef, Proxy: r.Proxy, Status: fleet.ReleaseDeployed, Digest: r.Digest, Ours: true, Strategy: r.Strategy, Prune: r.Prune, Deployed: true,
		})
	}
}
