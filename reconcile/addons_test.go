package reconcile_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"fairlead.dev/fleet"
)

// addons are for the cluster of the tests. TEXT and PRUNE are for changes.
const addons = `
---
apiVersion: addons.cluster.x-k8s.io/v1beta2
kind: ClusterResourceSet
metadata: {name: net, namespace: prod, annotations: {fairlead.dev/prune: "PRUNE"}}
spec:
  clusterSelector: {matchLabels: {net: lab}}
  strategy: Reconcile
  resources: [{kind: ConfigMap, name: net}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: net, namespace: prod}
data:
  net.yaml: |
    {apiVersion: net.example.com/v1, kind: Range, metadata: {name: pods}, spec: {cidr: 10.0.0.0/8}}
    --- # its kind
    apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    metadata: {name: ranges.net.example.com}
    spec: {group: net.example.com, scope: Cluster, names: {kind: Range, plural: ranges}, versions: [{name: v1, served: true, storage: true}]}
    --- # in a namespace of its own
    {apiVersion: v1, kind: Namespace, metadata: {name: net}}
    --- # and what is in it
    {apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: net}, data: {text: TEXT}}
    --- # and more
    {apiVersion: v1, kind: ConfigMap, metadata: {name: two, namespace: net}}
`

const manyRanges = "/apis/net.example.com/v1/ranges"

// edited returns an edit that has the cluster selected, and addons changed by
// pairs of old and new text, after its manifests.
func edited(pairs ...string) *strings.Replacer {
	text := strings.NewReplacer(append(pairs, "TEXT", "first", "PRUNE", "true")...).Replace(addons)
	return strings.NewReplacer(
		`annotations: {fairlead.dev/delete:`, "labels: {net: lab}\n  annotations: {fairlead.dev/delete:",
		`          etcd: {provisioning: {startupDuration: "2s"}}`+"\n", `          etcd: {provisioning: {startupDuration: "2s"}}`+text,
	)
}

// names returns the names of the objects that a path of the cluster lists.
func (w *world) names(path string) []string {
	w.t.Helper()
	var list struct {
		Items []struct{ Metadata struct{ Name string } }
	}
	w.inside(path, &list)
	var out []string
	for _, i := range list.Items {
		out = append(out, i.Metadata.Name)
	}
	return out
}

// TestAddons: a set of manifests is in the cluster with it, follows Git, and goes
// when Git says so. An agent that knows nothing does nothing about it.
func TestAddons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const configMaps = "/api/v1/namespaces/net/configmaps"
		wanted := clusterSpec{1, 1, "v1.33.5", false}
		w := newWorld(t)
		defer w.cloud.Close()
		w.edit = edited()
		applied := ""
		var told []fleet.AddonReport
		w.reported = func(r fleet.Report) {
			told = r.Addons
			for _, c := range r.Conditions {
				if c.Type == "ResourcesApplied" {
					applied = string(c.Status) + " " + c.Message
				}
			}
		}
		w.reach(wanted, fleet.PhaseProvisioned)
		if got := w.names(configMaps); !slices.Equal(got, []string{"one", "two"}) || len(w.names(manyRanges)) != 1 || applied != "True " {
			t.Fatalf("the cluster has %v of the set, and it is applied: %q", got, applied)
		}
		if len(told) != 1 || told[0].Kind != "ClusterResourceSet" || told[0].Name != "net" || told[0].State != fleet.AddonReady {
			t.Errorf("of its addons %+v is told", told)
		}

		var started []string // by an agent that has just begun
		w.reported = func(r fleet.Report) { started = append(started, r.Actions...) }
		w.reach(wanted, fleet.PhaseProvisioned)
		if slices.ContainsFunc(started, func(a string) bool { return strings.Contains(a, "Resources") }) {
			t.Errorf("another agent began with %q", started)
		}

		w.edit = edited("TEXT", "second", "{apiVersion: v1, kind: ConfigMap, metadata: {name: two, namespace: net}}\n", "\n")
		w.reach(wanted, fleet.PhaseProvisioned)
		var one struct{ Data map[string]string }
		w.inside(configMaps+"/one", &one)
		if got := w.names(configMaps); one.Data["text"] != "second" || !slices.Equal(got, []string{"one"}) {
			t.Errorf("after a change one says %v, and there are %v", one.Data, got)
		}

		w.edit = strings.NewReplacer()
		w.reach(wanted, fleet.PhaseProvisioned)
		inventories := w.names("/api/v1/namespaces/kube-system/configmaps?labelSelector=fairlead.dev/inventory")
		if got := w.names(configMaps); len(got)+len(inventories)+len(w.names(manyRanges)) != 0 {
			t.Errorf("after the set left Git there are %v and %v", got, inventories)
		}
		if namespaces := w.names("/api/v1/namespaces"); !slices.Contains(namespaces, "net") {
			t.Errorf("the namespace of the set went: %v", namespaces)
		}
		wanted.gone = true
		w.reach(wanted, fleet.PhaseDeleted)
		w.nothingLeft()
	})
}

// TestAddonsStay: what vanishes from Git without a word stays in the cluster.
func TestAddonsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.cloud.Close()
		w.edit = edited("PRUNE", "false")
		w.reach(clusterSpec{1, 0, "v1.33.5", false}, fleet.PhaseProvisioned)
		w.edit = strings.NewReplacer()
		reported := ""
		w.reported = func(r fleet.Report) {
			for _, c := range r.Conditions {
				if c.Type == "ResourcesApplied" {
					reported = c.Message
				}
			}
		}
		w.reach(clusterSpec{1, 0, "v1.33.5", false}, fleet.PhaseProvisioned)
		if got := w.names("/api/v1/namespaces/net/configmaps"); len(got) != 2 || !strings.Contains(reported, "net is not in Git any more for this cluster, which keeps its 5 objects") {
			t.Errorf("there are %v of a set that vanished, and it is told %q", got, reported)
		}
	})
}
