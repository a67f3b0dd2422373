package decode_test

import (
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fleet"
)

const drainRule = `
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDrainRule
metadata: {name: b, namespace: prod}
spec:
  drain: {behavior: Drain, order: -5}
  machines:
  - clusterSelector: {matchLabels: {stage: prod}}
  pods:
  - selector: {matchExpressions: [{key: app, operator: Exists}]}
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: db}}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDrainRule
metadata: {name: a, namespace: prod}
spec:
  drain: {behavior: WaitCompleted}
`

func TestMachineDrainRules(t *testing.T) {
	labelled := replaced(t, newest, "metadata: {name: eu, namespace: prod}\nspec:\n  clusterNetwork", "metadata: {name: eu, namespace: prod, labels: {stage: prod}}\nspec:\n  clusterNetwork")
	labelled = replaced(t, labelled, "deletion: {nodeDrainTimeoutSeconds: 10}", "deletion: {nodeDrainTimeoutSeconds: 10, nodeVolumeDetachTimeoutSeconds: 20}")
	c := mustDecode(t, labelled+drainRule)
	if len(c.DrainRules) != 2 || c.DrainRules[0].Name != "a" || c.DrainRules[1].Name != "b" {
		t.Fatalf("rules %+v; want a, then b", c.DrainRules)
	}
	if order := c.DrainRules[1].Spec.Drain.Order; order == nil || *order != -5 {
		t.Errorf("order %v, want -5", order)
	}
	if n := len(c.DrainRulesOf("eu-md-0")); n != 2 {
		t.Errorf("%d rules are for the machines of a cluster with the label, want 2", n)
	}
	other := mustDecode(t, newest+drainRule)
	if n := len(other.DrainRulesOf("eu-md-0")); n != 1 {
		t.Errorf("%d rules are for the machines of a cluster without the label, want 1", n)
	}
	if n := c.ControlPlane.NodeVolumeDetachTimeoutSeconds; n != 20 {
		t.Errorf("volumes may take %d seconds, want 20", n)
	}
}

func TestMachineDrainRuleProblems(t *testing.T) {
	for name, c := range map[string]struct{ old, new, field, message string }{
		"order of one that is skipped": {"behavior: Drain,", "behavior: Skip,", "spec.drain.order", "is only for the behavior Drain"},
		"behavior":                     {"behavior: WaitCompleted", "behavior: Evict", "spec.drain.behavior", "Evict"},
		"no behavior":                  {"drain: {behavior: WaitCompleted}", "drain: {}", "spec.drain.behavior", "Required"},
		"selector":                     {"operator: Exists", "operator: Has", "spec.pods[0].selector", "Has"},
		"nothing selected by":          {"- clusterSelector: {matchLabels: {stage: prod}}", "- {}", "spec.machines[0]", "selector or clusterSelector"},
		"no cluster there":             {"{name: a, namespace: prod}", "{name: a, namespace: test}", "metadata.namespace", "of which the overlay holds none"},
	} {
		t.Run(name, func(t *testing.T) {
			clusters, problems := decodeAll(newest + replaced(t, drainRule, c.old, c.new))
			found := slices.ContainsFunc(problems, func(p fleet.Problem) bool {
				return p.Field == c.field && strings.Contains(p.Message, c.message) && strings.HasPrefix(p.Object, "MachineDrainRule")
			})
			if !found || len(clusters) > 0 {
				t.Errorf("%d clusters with %v; want a problem of %s that says %q", len(clusters), problems, c.field, c.message)
			}
		})
	}
}
