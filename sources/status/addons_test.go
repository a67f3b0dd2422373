package status_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// TestAddons: each addon says since when it is as it is, and which revision began to be
// applied last; both are kept over reports that do not say it, commits and restarts.
func TestAddons(t *testing.T) {
	one, two := fleet.Revision{Ref: "main", Digest: "sha1:1"}, fleet.Revision{Ref: "main", Digest: "sha1:2"}
	start := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	set := func(state fleet.AddonState, message string, rev fleet.Revision) fleet.AddonReport {
		return fleet.AddonReport{Kind: fleet.KindResourceSet, Name: "cni", State: state, Message: message, Revision: rev}
	}
	chart := fleet.AddonReport{Kind: fleet.KindChartProxy, Name: "cilium", State: fleet.AddonReady, Chart: "cilium 1.18.2", Release: "kube-system/cilium", HelmRevision: 3}
	none := fleet.Revision{}
	b := owned(t)
	for i, step := range []struct {
		before  []fleet.AddonReport // reported just before
		reports []fleet.AddonReport
		want    []status.Addon // on the branch
	}{
		{},
		{reports: []fleet.AddonReport{set(fleet.AddonPending, "Control plane not yet initialized", none)}, want: []status.Addon{{AddonReport: set(fleet.AddonPending, "Control plane not yet initialized", none), Since: start.Add(time.Minute)}}},
		{
			before:  []fleet.AddonReport{set(fleet.AddonPending, "the cluster does not have its 1 object", one)},
			reports: []fleet.AddonReport{set(fleet.AddonPending, "applying it was cut off", none)},
			want:    []status.Addon{{AddonReport: set(fleet.AddonPending, "applying it was cut off", one), Since: start.Add(time.Minute)}},
		},
		{reports: []fleet.AddonReport{chart, set(fleet.AddonReady, "", none)}, want: []status.Addon{{AddonReport: chart, Since: start.Add(3 * time.Minute)}, {AddonReport: set(fleet.AddonReady, "", one), Since: start.Add(3 * time.Minute)}}},
		{reports: []fleet.AddonReport{set(fleet.AddonFailed, "ConfigMap a: no room\nsecond line", two)}, want: []status.Addon{{AddonReport: set(fleet.AddonFailed, "ConfigMap a: no room\nsecond line", two), Since: start.Add(4 * time.Minute)}}},
		{reports: []fleet.AddonReport{set(fleet.AddonFailed, "ConfigMap b: no room", none)}, want: []status.Addon{{AddonReport: set(fleet.AddonFailed, "ConfigMap b: no room", two), Since: start.Add(4 * time.Minute)}}},
		{},
	} {
		w := writer(b, status.Options{Now: func() time.Time { return start.Add(time.Duration(i) * time.Minute) }})
		r := report(fleet.PhaseWorkers)
		for _, list := range [][]fleet.AddonReport{step.before, step.reports} {
			r.Addons = list
			w.Put(r)
		}
		flush(t, w)
		_, tree, _ := b.Read(t.Context())
		s, err := status.Read(tree)
		if err != nil {
			t.Fatal(err)
		}
		c, _ := s.Cluster(eu1)
		if diff := cmp.Diff(step.want, c.Addons); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
		var told []fleet.AddonReport
		for _, a := range c.Addons {
			told = append(told, a.AddonReport)
		}
		if diff := cmp.Diff(told, c.Report.Addons); diff != "" {
			t.Errorf("step %d: the report has others: %s", i, diff)
		}
		if text := b.file(t, "clusters/prod/eu-1.yaml"); strings.Contains(text, "addons:") != (len(step.want) > 0) {
			t.Errorf("step %d: the file of a cluster with %d addons is\n%s", i, len(step.want), text)
		}
	}
}
