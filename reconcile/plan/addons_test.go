package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan"
)

// TestAddons: of each addon it is told how it is and why, and which revision is new to the
// cluster; of what was tried before, no revision is told again.
func TestAddons(t *testing.T) {
	w, err := rested(cluster(1))
	if err != nil {
		t.Fatal(err)
	}
	now, rev := w.clock(), fleet.Revision{Ref: "main", Digest: "sha1:7"}
	ref := fleet.ReleaseRef{Namespace: "net", Name: "cilium"}
	set := cni(nil, objectRef("ConfigMap", "a"))
	pausedSet := cni(func(s *fleet.ResourceSet) { s.Paused = true }, objectRef("ConfigMap", "a"))
	release := fleet.Release{ReleaseRef: ref, Proxy: "p", Strategy: fleet.Continuous, Prune: true, Chart: fleet.Chart{Name: "cilium", Version: "1.18.2"}, Digest: "new"}
	pausedRelease := release
	pausedRelease.Paused = true
	have := func(digest string, applied bool) fleet.ResourceSetState {
		return fleet.ResourceSetState{
			Name: "cni", Strategy: fleet.ReconcileStrategy, Objects: []fleet.ObjectRef{objectRef("ConfigMap", "a")}, Since: now.Add(-time.Minute), Tried: now.Add(-time.Minute), Applied: now.Add(-time.Minute),
			Resources: map[string]fleet.ResourceState{"ConfigMap/cni": {Digest: digest, Applied: applied}},
		}
	}
	refused := have("new", false)
	refused.Failures = []fleet.ResourceFailure{{Object: objectRef("ConfigMap", "a"), Kind: fleet.Invalid, Message: "no room"}}
	pruned := have("new", true)
	pruned.Prune = true
	there := func(status, digest string) fleet.ReleaseState {
		return fleet.ReleaseState{ReleaseRef: ref, Proxy: "p", Revision: 2, Status: status, Digest: digest, Ours: true, Strategy: fleet.Continuous, Prune: true, Deployed: status == "deployed", Changed: now.Add(-time.Hour)}
	}
	kept := there("deployed", "new")
	kept.Prune = false
	ofSet := func(state fleet.AddonState, message string, rev fleet.Revision) fleet.AddonReport {
		return fleet.AddonReport{Kind: "ClusterResourceSet", Name: "cni", State: state, Message: message, Revision: rev}
	}
	ofChart := func(state fleet.AddonState, message string, helm int, rev fleet.Revision) fleet.AddonReport {
		return fleet.AddonReport{Kind: "HelmChartProxy", Name: "p", State: state, Message: message, Chart: "cilium 1.18.2", Release: "net/cilium", HelmRevision: helm, Revision: rev}
	}
	left := func(state fleet.AddonState, message string) fleet.AddonReport {
		return fleet.AddonReport{Kind: "HelmChartProxy", Name: "p", State: state, Message: message, Release: "net/cilium", HelmRevision: 2}
	}
	none := fleet.Revision{}
	for name, c := range map[string]struct {
		desired fleet.Cluster
		there   fleet.Workload
		edit    func(*plan.Input)
		want    []fleet.AddonReport
	}{
		"none": {},
		"new, in the order of their kinds": {
			desired: fleet.Cluster{ResourceSets: []fleet.ResourceSet{set}, Releases: []fleet.Release{release}},
			want:    []fleet.AddonReport{ofSet(fleet.AddonPending, "the cluster does not have its 1 object", rev), ofChart(fleet.AddonPending, "the cluster does not have it", 0, rev)},
		},
		"as Git says": {
			desired: fleet.Cluster{ResourceSets: []fleet.ResourceSet{set}, Releases: []fleet.Release{release}},
			there:   fleet.Workload{ResourceSets: []fleet.ResourceSetState{have("new", true)}, Releases: []fleet.ReleaseState{there("deployed", "new")}},
			want:    []fleet.AddonReport{ofSet(fleet.AddonReady, "", none), ofChart(fleet.AddonReady, "", 2, none)},
		},
		"changed": {
			desired: fleet.Cluster{ResourceSets: []fleet.ResourceSet{set}, Releases: []fleet.Release{release}},
			there:   fleet.Workload{ResourceSets: []fleet.ResourceSetState{have("old", true)}, Releases: []fleet.ReleaseState{there("deployed", "old")}},
			want:    []fleet.AddonReport{ofSet(fleet.AddonPending, "ConfigMap/cni changed", rev), ofChart(fleet.AddonPending, "its chart, values or options changed", 2, rev)},
		},
		"under way": {
			desired: fleet.Cluster{ResourceSets: []fleet.ResourceSet{set}, Releases: []fleet.Release{release}},
			there: fleet.Workload{
				ResourceSets: []fleet.ResourceSetState{have("new", false)}, Releases: []fleet.ReleaseState{there("pending-upgrade", "old")},
				ReleaseTries: []fleet.ReleaseTry{{ReleaseRef: ref, Digest: "new", Running: true, Since: now}},
			},
			want: []fleet.AddonReport{ofSet(fleet.AddonPending, "applying it was cut off", none), ofChart(fleet.AddonPending, "Helm is at work on it", 2, none)},
		},
		"refused": {
			desired: fleet.Cluster{ResourceSets: []fleet.ResourceSet{set}, Releases: []fleet.Release{release}},
			there: fleet.Workload{
				ResourceSets: []fleet.ResourceSetState{refused},
				ReleaseTries: []fleet.ReleaseTry{{ReleaseRef: ref, Digest: "new", Since: now, Tried: now, Failure: fleet.Invalid, Message: "no such chart"}},
			},
			want: []fleet.AddonReport{ofSet(fleet.AddonFailed, "ConfigMap net/a: no room", none), ofChart(fleet.AddonFailed, "no such chart", 0, none)},
		},
		"paused": {
			desired: fleet.Cluster{ResourceSets: []fleet.ResourceSet{pausedSet}, Releases: []fleet.Release{pausedRelease}},
			there:   fleet.Workload{ResourceSets: []fleet.ResourceSetState{have("old", true)}, Releases: []fleet.ReleaseState{there("deployed", "old")}},
			want:    []fleet.AddonReport{ofSet(fleet.AddonPaused, "", none), ofChart(fleet.AddonPaused, "", 2, none)},
		},
		"left Git, and stay": {
			there: fleet.Workload{ResourceSets: []fleet.ResourceSetState{have("new", true)}, Releases: []fleet.ReleaseState{kept}},
			want: []fleet.AddonReport{
				ofSet(fleet.AddonKept, "not in Git any more for this cluster, which keeps its 1 object", none),
				left(fleet.AddonKept, "not in Git any more for this cluster, and stays"),
			},
		},
		"left Git, and go": {
			there: fleet.Workload{ResourceSets: []fleet.ResourceSetState{pruned}, Releases: []fleet.ReleaseState{there("deployed", "new")}},
			want: []fleet.AddonReport{
				ofSet(fleet.AddonRemoving, "Git does not have it any more for this cluster", none),
				left(fleet.AddonRemoving, "Git does not have it any more for this cluster"),
			},
		},
		"left Git, and cannot go": {
			there: fleet.Workload{
				Releases:     []fleet.ReleaseState{there("uninstalling", "new")},
				ReleaseTries: []fleet.ReleaseTry{{ReleaseRef: ref, Since: now, Tried: now, Failure: fleet.Invalid, Message: "no room"}},
			},
			want: []fleet.AddonReport{left(fleet.AddonFailed, "no room")},
		},
		"gone": {there: fleet.Workload{Releases: []fleet.ReleaseState{there("uninstalled", "new")}}},
		"the API server is silent": {
			desired: fleet.Cluster{ResourceSets: []fleet.ResourceSet{set}, Releases: []fleet.Release{release}},
			edit: func(in *plan.Input) {
				in.Observed.Workload = fleet.Workload{}
				in.Observed.Infrastructure.Machines = append(in.Observed.Infrastructure.Machines, in.Observed.Infrastructure.Machines...)
			},
			want: []fleet.AddonReport{ofSet(fleet.AddonUnknown, "The API server does not answer", none), ofChart(fleet.AddonUnknown, "The API server does not answer", 0, none)},
		},
		"before there is a control plane": {
			desired: fleet.Cluster{ResourceSets: []fleet.ResourceSet{set}, Releases: []fleet.Release{release}},
			edit:    func(in *plan.Input) { in.Observed.Workload.Nodes = nil },
			want:    []fleet.AddonReport{ofSet(fleet.AddonPending, "Control plane not yet initialized", none), ofChart(fleet.AddonPending, "Control plane not yet initialized", 0, none)},
		},
		"the cluster goes": {
			desired: fleet.Cluster{ResourceSets: []fleet.ResourceSet{set}}, there: fleet.Workload{Releases: []fleet.ReleaseState{there("deployed", "new")}},
			edit: func(in *plan.Input) { in.Desired.Delete = true },
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := w.input(true)
			in.Desired = change(in.Desired, func(d *fleet.Cluster) {
				d.ResourceSets, d.Releases, d.Revision = c.desired.ResourceSets, c.desired.Releases, rev
			})
			o := &in.Observed.Workload
			o.ResourceSets, o.Releases, o.ReleaseTries = c.there.ResourceSets, c.there.Releases, c.there.ReleaseTries
			if c.edit != nil {
				c.edit(&in)
			}
			if diff := cmp.Diff(c.want, plan.Compute(in).Addons); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
