package reconcile_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"fairlead.dev/fleet"
)

// proxies are for the cluster of the tests. VERSION is for changes.
const proxies = `
---
apiVersion: addons.cluster.x-k8s.io/v1alpha1
kind: HelmChartProxy
metadata: {name: cilium, namespace: prod}
spec:
  clusterSelector: {matchLabels: {net: lab}}
  repoURL: https://helm.example.com
  chartName: cilium
  version: VERSION
  namespace: kube-system
  valuesTemplate: "cluster: {name: {{ .Cluster.metadata.name }}}"
---
apiVersion: addons.cluster.x-k8s.io/v1alpha1
kind: HelmChartProxy
metadata: {name: once, namespace: prod}
spec:
  clusterSelector: {matchLabels: {net: lab}}
  repoURL: oci://registry.example.com/charts
  chartName: once
  version: 1.0.0
  reconcileStrategy: InstallOnce
`

// proxied returns an edit that has the cluster selected by proxies.
func proxied(version string) *strings.Replacer {
	return strings.NewReplacer(
		`annotations: {fairlead.dev/delete:`, "labels: {net: lab}\n  annotations: {fairlead.dev/delete:",
		`          etcd: {provisioning: {startupDuration: "2s"}}`+"\n",
		`          etcd: {provisioning: {startupDuration: "2s"}}`+strings.ReplaceAll(proxies, "VERSION", version),
	)
}

// TestCharts: releases are in the cluster with it, follow Git, and go when Git says
// so; what was to be installed once stays. An agent that knows nothing does nothing
// about them, and neither does one that deletes the cluster.
func TestCharts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ours = "/api/v1/secrets?labelSelector=owner%3Dhelm,fairlead.dev/helm-chart-proxy"
		wanted := clusterSpec{1, 1, "v1.33.5", false}
		w := newWorld(t)
		defer w.cloud.Close()
		ready := ""
		var done []string
		w.reported = func(r fleet.Report) {
			for _, a := range r.Actions {
				if strings.Contains(a, "Release") {
					done = append(done, a)
				}
			}
			ready = ""
			for _, c := range r.Conditions {
				if c.Type == "HelmReleaseReady" {
					ready = strings.TrimSpace(string(c.Status) + " " + c.Message)
				}
			}
		}
		expect := func(when, condition string, releases, actions []string) {
			t.Helper()
			if got := w.names(ours); !slices.Equal(got, releases) || ready != condition || !slices.Equal(done, actions) {
				t.Errorf("%s there are %q, told as %q, by %q", when, got, ready, done)
			}
			done = nil
		}
		both := []string{"sh.helm.release.v1.once.v1", "sh.helm.release.v1.cilium.v1"}
		w.edit = proxied("1.18.2")
		w.reach(wanted, fleet.PhaseProvisioned)
		expect("in the beginning", "True", both, []string{
			"InstallRelease default/once: the cluster does not have it", "InstallRelease kube-system/cilium: the cluster does not have it",
		})
		w.reach(wanted, fleet.PhaseProvisioned)
		expect("with another agent", "True", both, nil)
		w.edit = proxied("1.18.3")
		w.reach(wanted, fleet.PhaseProvisioned)
		expect("after another version", "True", both, []string{"InstallRelease kube-system/cilium: its chart, values or options changed"})
		w.edit = strings.NewReplacer()
		w.reach(wanted, fleet.PhaseProvisioned)
		expect("after both left Git", "True default/once is not in Git any more for this cluster, and stays", both[:1],
			[]string{"UninstallRelease kube-system/cilium: Git does not have it any more for this cluster"})
		wanted.gone = true
		w.reach(wanted, fleet.PhaseDeleted)
		if len(done) > 0 {
			t.Errorf("while the cluster went, %q", done)
		}
		w.nothingLeft()
	})
}
