package providers

import (
	"context"

	"fairlead.dev/fleet"
)

// Charts installs charts of Helm into workload clusters. It is safe for concurrent
// use.
//
// Helm may wait for hooks and pods longer than a reconciliation may take. So Install and
// Uninstall begin the change and return. Labels of the release show a finished change; Tries
// shows one that runs or has failed. A change ends if the agent may no longer act on the
// cluster, and with Forget.
//
// An Infrastructure whose clusters run no pods may implement it.
type Charts interface {
	// Install begins to install r, or to upgrade an existing release to r. It does nothing if
	// the release is up to date. A release that others installed is adopted if r says so;
	// otherwise the error has the kind Conflict.
	Install(ctx context.Context, a Access, r fleet.Release) error

	// Uninstall begins to remove a release of any HelmChartProxy. It succeeds if the release
	// does not exist. For a release that others installed the error has the kind Conflict.
	Uninstall(ctx context.Context, a Access, ref fleet.ReleaseRef) error

	// Tries returns the changes of releases of a cluster that run, or whose last attempt failed,
	// sorted.
	Tries(k fleet.Key) []fleet.ReleaseTry

	// Forget ends running changes of a cluster, and drops its state.
	Forget(k fleet.Key)
}

// NoCharts refuses to install charts.
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

// ChartsOf returns the Charts of p if it declares them, and charts otherwise.
func ChartsOf(p Infrastructure, charts Charts) Charts {
	if own := AbilitiesOf(p).Charts; own != nil {
		return own
	}
	return charts
}
