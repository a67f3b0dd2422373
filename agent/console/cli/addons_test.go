package cli

import (
	"strings"
	"testing"
	"time"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/console/statusview"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// TestAddonsAreTold: describe, tree and status tell of each addon how it is, why and since
// when, and a cluster of which one failed is one that somebody has to look at.
func TestAddonsAreTold(t *testing.T) {
	since := time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC)
	rev := fleet.Revision{Ref: "main", Digest: "sha1:72c6fb6d1f2d4c6b8a9e0f1d2c3b4a5968778695"}
	cilium := fleet.AddonReport{Kind: fleet.KindChartProxy, Name: "cilium", State: fleet.AddonReady, Chart: "cilium 1.18.2", Release: "kube-system/cilium", HelmRevision: 3, Revision: rev}
	csi := fleet.AddonReport{Kind: fleet.KindResourceSet, Name: "csi", State: fleet.AddonFailed, Message: "Deployment kube-system/csi: denied\nby a policy"}
	c := status.Cluster{
		Report: fleet.Report{Cluster: fleet.Key{Namespace: "prod", Name: "eu"}, Phase: fleet.PhaseProvisioned, Addons: []fleet.AddonReport{csi, cilium}},
		Addons: []status.Addon{{AddonReport: csi, Since: since}, {AddonReport: cilium, Since: since}},
	}
	s := status.Status{Clusters: []status.Cluster{c}}
	var described, tree strings.Builder
	if err := (description{w: &described, status: s, cluster: c}).whole(nil); err != nil {
		t.Fatal(err)
	}
	if err := showTree(&tree, output.FormatTable, s.Clusters, fleet.RolloutStatus{}, false); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		text string
		want []string
	}{
		"describe": {described.String(), []string{
			"HelmChartProxy cilium    Ready    2026-11-26 08:00:00Z   cilium 1.18.2, release kube-system/cilium revision 3, from 72c6fb6d1f2d",
			"ClusterResourceSet csi   Failed   2026-11-26 08:00:00Z",
			"Addons that are not as they should be:\n  csi is Failed: Deployment kube-system/csi: denied\n  by a policy",
		}},
		"tree": {tree.String(), []string{
			"├─ClusterResourceSet csi", "False    Failed", "Deployment kube-system/csi: denied; by a policy", "└─HelmChartProxy cilium", "True     Ready", "cilium 1.18.2, release kube-system/cilium revision 3, from 72c6fb6d1f2d",
		}},
		"status": {statusview.Of(s).Clusters[0].Message(), []string{"addon csi: Deployment kube-system/csi: denied"}},
	} {
		for _, want := range c.want {
			if !strings.Contains(c.text, want) {
				t.Errorf("%s does not say %q:\n%s", what, want, c.text)
			}
		}
	}
	if got := statusview.Of(s).Clusters[0].Addons; len(got) != 2 || got[0].State != "Failed" || !got[0].Since.Equal(since) || got[1].Revision != "main@sha1:72c6fb6d1f2d4c6b8a9e0f1d2c3b4a5968778695" {
		t.Errorf("the view has %+v", got)
	}
	if !statusview.Troubled(c.Report, false) {
		t.Error("nobody has to look at it")
	}
	c.Report.Addons[0].State = fleet.AddonPending
	if statusview.Troubled(c.Report, false) {
		t.Error("somebody has to look at a cluster whose addon is pending")
	}
}
