package driver

import (
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
)

// Clusters returns the clusters of fleet id that places have something of, and those that ready has
// noted, sorted. A place that cannot be listed hides none of another: it gives an error.
func Clusters[P any](id fleet.ID, places []P, list func(at P) ([]snapshot.Owner, error), ready *Memory[snapshot.Owner, bool]) (out []fleet.Key, failed []error) {
	add := func(o snapshot.Owner) {
		if o.Fleet == id {
			out = append(out, o.Cluster)
		}
	}
	for _, at := range places {
		owners, err := list(at)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		for _, o := range owners {
			add(o)
		}
	}
	if ready != nil {
		for o := range ready.All() {
			add(o)
		}
	}
	slices.SortFunc(out, fleet.Key.Compare)
	return slices.Compact(out), failed
}

// OwnerOf returns the cluster that tags of a machine name; false: they name none.
func OwnerOf(tags map[string]string) (snapshot.Owner, bool) {
	k, err := fleet.ParseKey(tags[fleet.TagCluster])
	return snapshot.Owner{Fleet: fleet.ID(tags[fleet.TagFleet]), Cluster: k}, err == nil
}
