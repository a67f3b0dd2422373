package fleet

import (
	"cmp"
	"slices"
)

// An AddonState says how an addon of a cluster is.
type AddonState string

// The states of an addon.
const (
	AddonReady    AddonState = "Ready"    // the cluster has it as Git says
	AddonPending  AddonState = "Pending"  // it is to be applied or installed
	AddonFailed   AddonState = "Failed"   // some of it could not be applied, installed or removed
	AddonPaused   AddonState = "Paused"   // nothing is done about it
	AddonRemoving AddonState = "Removing" // Git no longer has it for this cluster, and it goes
	AddonKept     AddonState = "Kept"     // Git no longer has it for this cluster, and it stays
	AddonUnknown  AddonState = "Unknown"  // the cluster cannot be looked at
)

// The kinds of objects that addons come from.
const (
	KindResourceSet = "ClusterResourceSet"
	KindChartProxy  = "HelmChartProxy"
)

// An AddonReport is the report of one addon of a cluster.
type AddonReport struct {
	Kind    string // KindResourceSet or KindChartProxy
	Name    string // of that object
	State   AddonState
	Message string // what it waits for or why it failed, without clocks; empty: there is nothing to say

	// Chart, Release and HelmRevision are of a chart: which version Git asks for, what Helm
	// calls what it installed, and how often it changed that.
	Chart        string // "cilium 1.18.2"
	Release      string // namespace/name
	HelmRevision int    // 0: Helm has nothing of it

	// Revision is what began to be applied last. A pass tells it when that is new to the
	// cluster; it is zero in later reports, and where it is not known.
	Revision Revision
}

// Compare orders addons by their objects.
func (a AddonReport) Compare(o AddonReport) int {
	return cmp.Or(cmp.Compare(a.Kind, o.Kind), cmp.Compare(a.Name, o.Name), cmp.Compare(a.Release, o.Release))
}

// AddonsAfter returns the addons of a report that comes after one with before: each has the
// revision that was told of it last.
func AddonsAfter(list, before []AddonReport) []AddonReport {
	list = slices.Clone(list)
	for i := range list {
		if !list[i].Revision.IsZero() {
			continue
		}
		if at := slices.IndexFunc(before, func(b AddonReport) bool { return b.Compare(list[i]) == 0 }); at >= 0 {
			list[i].Revision = before[at].Revision
		}
	}
	return list
}
