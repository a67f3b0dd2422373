package providers

import (
	"context"

	"fairlead.dev/fleet"
)

// Charts installs charts of Helm into workload clusters. It is safe for concurrent
// use.
//
// Helm waits for hooks, and for pods where it is told to, longer than a pass may
// take: Install and Uninstall begin, and return. What they do shows in the labels
// of the release, and as long as it is not done well in Tries. It ends with the
// right to act on the cluster, and with Forget.
//
// An Infrastructure whose clusters run nothing may be one.
type Charts interface {
	// Install begins to install r, or to upgrade what is there to it. One that is as
	// r says is left as it is. One that somebody else installed is taken over where
	// r says so, and gives the kind Conflict otherwise.
	Install(ctx context.Context, a Access, r fleet.Release) error

	// Uninstall begins to remove a release, of whichever HelmChartProxy. Nothing
	// there is success. One that somebody else installed gives the kind Conflict.
	Uninstall(ctx context.Context, a Access, ref fleet.ReleaseRef) error

	// Tries returns the changes of a cluster that run or that failed last, sorted.
	Tries(k fleet.Key) []fleet.ReleaseTry

	// Forget ends what runs for a cluster, and what is known of it.
	Forget(k fleet.Key)
}

// NoCharts refuses to install any.
type NoCharts struct{}

var _ Charts = NoCharts{}

// Install implements Charts.
func (NoCharts) Install(_ context.Context, _ Access, r fleet.Release) error {
	return fleet.Errorf(fleet.Invalid, "install release "+r.String(), "nothing here installs charts")
}

// Uninstall implements Charts.
func (NoCharts) Uninstall(_ context.Context, _ Access, ref fleet.ReleaseRef) error {
	return fleet.Errorf(fleet.Invalid, "remove release "+ref.String(), "nothing here installs charts")
}

// Tries implements Charts.
func (NoCharts) Tries(fleet.Key) []fleet.ReleaseTry { return nil }

// Forget implements Charts.
func (NoCharts) Forget(fleet.Key) {}

// ChartsOf returns what installs charts into the clusters of p: p itself where it
// does, or else charts.
func ChartsOf(p Infrastructure, charts Charts) Charts {
	if own := AbilitiesOf(p).Charts; own != nil {
		return own
	}
	return charts
}
