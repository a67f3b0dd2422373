package decode_test

import (
	"testing"

	"fairlead.dev/fleet"
	"github.com/google/go-cmp/cmp"
)

func TestIntent(t *testing.T) {
	type intent struct{ Delete, Protect, Paused, ControlPlanePaused, WorkersPaused bool }
	const (
		cluster = "metadata: {name: eu, namespace: prod}\nspec:\n  clusterNetwork"
		kcp     = "metadata: {name: eu-cp, namespace: prod}"
		md      = "metadata: {name: eu-md-0, namespace: prod}"
	)
	annotated := func(annotation string) string {
		return "metadata: {name: eu, namespace: prod, annotations: {" + annotation + "}}\nspec:\n  clusterNetwork"
	}
	for name, c := range map[string]struct {
		reason string
		change []string
		want   intent
	}{
		"none":         {},
		"delete":       {change: []string{cluster, annotated(`fairlead.dev/delete: "true"`)}, want: intent{Delete: true}},
		"not delete":   {reason: "only true is a wish to delete", change: []string{cluster, annotated(`fairlead.dev/delete: "false"`)}},
		"protect":      {change: []string{cluster, annotated(`fairlead.dev/protect: "true"`)}, want: intent{Protect: true}},
		"paused":       {change: []string{"spec:\n  clusterNetwork", "spec:\n  paused: true\n  clusterNetwork"}, want: intent{Paused: true}},
		"not paused":   {change: []string{"spec:\n  clusterNetwork", "spec:\n  paused: false\n  clusterNetwork"}},
		"pause note":   {reason: "any value pauses, as in Cluster API", change: []string{cluster, annotated(`cluster.x-k8s.io/paused: ""`)}, want: intent{Paused: true}},
		"paused KCP":   {change: []string{kcp, `metadata: {name: eu-cp, namespace: prod, annotations: {cluster.x-k8s.io/paused: ""}}`}, want: intent{ControlPlanePaused: true}},
		"paused MD":    {change: []string{"replicas: 3", "replicas: 3\n  paused: true"}, want: intent{WorkersPaused: true}},
		"MD with note": {change: []string{md, `metadata: {name: eu-md-0, namespace: prod, annotations: {cluster.x-k8s.io/paused: ""}}`}, want: intent{WorkersPaused: true}},
	} {
		t.Run(name, func(t *testing.T) {
			got := mustDecode(t, replaced(t, newest, c.change...))
			if diff := cmp.Diff(c.want, intent{got.Delete, got.Protect, got.Paused, got.ControlPlane.Paused, got.Workers[0].Paused}); diff != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, diff)
			}
		})
	}
}

// Cluster API's annotations leave kube-proxy or CoreDNS to somebody else.
func TestSkippedAddons(t *testing.T) {
	const kcp = "metadata: {name: eu-cp, namespace: prod}"
	for note, want := range map[string][2]bool{
		"a: b": {},
		`controlplane.cluster.x-k8s.io/skip-kube-proxy: ""`: {true, false},
		`controlplane.cluster.x-k8s.io/skip-coredns: ""`:    {false, true},
	} {
		p := mustDecode(t, replaced(t, newest, kcp, "metadata: {name: eu-cp, namespace: prod, annotations: {"+note+"}}")).ControlPlane
		if got := [2]bool{p.SkipKubeProxy, p.SkipCoreDNS}; got != want {
			t.Errorf("%s: kube-proxy and CoreDNS are skipped: %v, want %v", note, got, want)
		}
		if plain := mustDecode(t, newest).ControlPlane; plain.Template != p.Template {
			t.Errorf("%s: template %s", note, p.Template)
		}
	}
}

func TestRollout(t *testing.T) {
	type rollout struct {
		Strategy                                            fleet.Strategy
		Replicas, MaxSurge, MaxUnavailable, MaxRemediations int
		Order                                               fleet.DeletionOrder
	}
	const strategy = "  rollout:\n    strategy:\n      rollingUpdate: {maxSurge: 50%, maxUnavailable: 50%}\n"
	for name, c := range map[string]struct {
		reason string
		change []string
		want   rollout
	}{
		"rounding": {reason: "surge up, unavailable down", want: rollout{"RollingUpdate", 3, 2, 1, -1, "Random"}},
		"defaults": {change: []string{strategy, "", "  replicas: 3\n", ""}, want: rollout{"RollingUpdate", 1, 1, 0, -1, "Random"}},
		"no replicas": {
			change: []string{"replicas: 3", "replicas: 0"}, reason: "both are 0 of 0: one may be unavailable",
			want: rollout{"RollingUpdate", 0, 0, 1, -1, "Random"},
		},
		"both round to 0": {change: []string{"{maxSurge: 50%, maxUnavailable: 50%}", "{maxSurge: 0%, maxUnavailable: 10%}"}, want: rollout{"RollingUpdate", 3, 0, 1, -1, "Random"}},
		"on delete":       {change: []string{strategy, "  rollout: {strategy: {type: OnDelete}}\n"}, want: rollout{"OnDelete", 3, 0, 0, -1, "Random"}},
		"order":           {change: []string{strategy, "  deletion: {order: Oldest}\n"}, want: rollout{"RollingUpdate", 3, 1, 0, -1, "Oldest"}},
		"remediation":     {reason: "rounded up, as in Cluster API", change: []string{strategy, "  remediation: {maxInFlight: 40%}\n"}, want: rollout{"RollingUpdate", 3, 1, 0, 2, "Random"}},
		"no remediation":  {change: []string{strategy, "  remediation: {maxInFlight: 0}\n"}, want: rollout{"RollingUpdate", 3, 1, 0, 0, "Random"}},
		"autoscaler": {
			reason: "without replicas the lower bound of the autoscaler holds",
			change: []string{strategy, "", "  replicas: 3\n", "", "metadata: {name: eu-md-0, namespace: prod}", `metadata:
  name: eu-md-0
  namespace: prod
  annotations:
    cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size: "4"
    cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size: "9"`},
			want: rollout{"RollingUpdate", 4, 1, 0, -1, "Random"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustDecode(t, replaced(t, newest, c.change...)).Workers[0]
			got := rollout{p.Strategy, p.Replicas, p.MaxSurge, p.MaxUnavailable, p.MaxRemediations, p.DeletionOrder}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, diff)
			}
		})
	}
}

func TestControlPlaneScalesInFirst(t *testing.T) {
	p := mustDecode(t, replaced(t, newest, "  version: v1.34.1\n  machineTemplate",
		"  replicas: 3\n  rollout: {strategy: {rollingUpdate: {maxSurge: 0}}}\n  version: v1.34.1\n  machineTemplate")).ControlPlane
	if diff := cmp.Diff([3]int{3, 0, 1}, [3]int{p.Replicas, p.MaxSurge, p.MaxUnavailable}); diff != "" {
		t.Errorf("replicas, surge, unavailable: -want +got:\n%s", diff)
	}
}

func TestSecretsOfTheNamespace(t *testing.T) {
	c := mustDecode(t, newest+`
---
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: prod}
type: Opaque
data: {a: b25l, b: b25l}
stringData: {b: two}
---
apiVersion: v1
kind: Secret
metadata: {name: other, namespace: test}
stringData: {b: two}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: prod}
data: {k: v}
`)
	got := map[string]string{}
	for name, data := range c.Secrets {
		for key, value := range data {
			got[name+"/"+key] = string(value.Reveal())
		}
	}
	if diff := cmp.Diff(map[string]string{"s/a": "one", "s/b": "two"}, got); diff != "" {
		t.Errorf("secrets: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]map[string]string{"c": {"k": "v"}}, c.ConfigMaps); diff != "" {
		t.Errorf("config maps: -want +got:\n%s", diff)
	}
}

func TestLabelsOfNodes(t *testing.T) {
	c := mustDecode(t, replaced(t, newest, `{node-role.kubernetes.io/worker: "", tier: web}`,
		`{node-role.kubernetes.io/worker: "", node-restriction.kubernetes.io/a: b, x.node-restriction.kubernetes.io/c: d,
        node.cluster.x-k8s.io/e: f, y.node.cluster.x-k8s.io/g: h, notnode-restriction.kubernetes.io/i: j, x.node-role.kubernetes.io/k: l, tier: web}`))
	want := map[string]string{
		"node-role.kubernetes.io/worker": "", "node-restriction.kubernetes.io/a": "b", "x.node-restriction.kubernetes.io/c": "d",
		"node.cluster.x-k8s.io/e": "f", "y.node.cluster.x-k8s.io/g": "h",
	}
	if diff := cmp.Diff(want, c.Workers[0].NodeLabels); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
