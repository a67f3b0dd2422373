package decode_test

import (
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"github.com/google/go-cmp/cmp"
)

// TestProblemsBindToClusters has two clusters, eu and us, and an overlay-wide
// secret in one overlay.
func TestProblemsBindToClusters(t *testing.T) {
	us := strings.NewReplacer("name: eu", "name: us", "clusterName: eu", "clusterName: us", "deployment-name: eu", "deployment-name: us",
		"{name: m,", "{name: us-m,", "name: m}", "name: us-m}", "{name: w,", "{name: us-w,", "name: w}", "name: us-w}").Replace(newest)
	both := newest + "\n---\n" + us
	eu := fleet.Key{Namespace: "prod", Name: "eu"}
	cases := map[string]struct {
		reason   string
		change   []string
		clusters []string
		problems []fleet.Key // of each problem
	}{
		"none": {clusters: []string{"prod/eu", "prod/us"}},
		"control plane": {
			reason:   "only the cluster that refers to it is held back",
			change:   []string{"name: eu-cp, namespace: prod}\nspec:\n  version: v1.34.1", "name: eu-cp, namespace: prod}\nspec:\n  version: 1"},
			clusters: []string{"prod/us"}, problems: []fleet.Key{eu},
		},
		"template of a template": {
			reason:   "a cluster refers to templates through others",
			change:   []string{"{name: m, namespace: prod}\nspec: {template: {spec: {flavor: small}}}", "{name: m, namespace: prod}\nspec: {template: {spec: {}}}"},
			clusters: []string{"prod/us"}, problems: []fleet.Key{eu},
		},
		"pool": {
			reason:   "a pool names its cluster even when it cannot be decoded",
			change:   []string{"clusterName: eu\n  replicas: 3", "clusterName: eu\n  replicas: three"},
			clusters: []string{"prod/us"}, problems: []fleet.Key{eu},
		},
		"label": {
			reason: "a refused object may name its cluster in a label",
			change: []string{
				"---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: TestCluster\nmetadata: {name: eu,",
				"---\napiVersion: addons.cluster.x-k8s.io/v1beta1\nkind: HelmReleaseProxy\nmetadata: {name: x, namespace: prod, labels: {cluster.x-k8s.io/cluster-name: eu}}\n" +
					"---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: TestCluster\nmetadata: {name: eu,",
			},
			clusters: []string{"prod/us"}, problems: []fleet.Key{eu},
		},
		"pool with a broken cluster name": {
			reason: "it may be a pool of any cluster: going on would remove its machines",
			change: []string{"clusterName: eu\n  replicas: 3", "clusterName: y\n  replicas: 3"}, problems: []fleet.Key{{}},
		},
		"pool without a name": {
			reason: "nothing that is unreadable is left out",
			change: []string{"metadata: {name: eu-md-0, namespace: prod}", "metadata: {namespace: prod}"}, problems: []fleet.Key{{}},
		},
		"shared template": {
			reason: "both clusters are made of it",
			change: []string{
				"name: us-w}", "name: w}", "preKubeadmCommands: [echo hello]\n---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: TestMachineTemplate\nmetadata: {name: m,",
				"x: y\n---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: TestMachineTemplate\nmetadata: {name: m,",
			},
			problems: []fleet.Key{eu, {Namespace: "prod", Name: "us"}},
		},
		"object twice": {
			reason:   "which of the two is meant is anybody's guess",
			change:   []string{"{name: us-w, namespace: prod}", "{name: w, namespace: prod}", "name: us-w}", "name: w}"},
			problems: []fleet.Key{{}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, problems := decodeAll(replaced(t, both, c.change...))
			var clusters []string
			for _, g := range got {
				clusters = append(clusters, g.Key.String())
			}
			if diff := cmp.Diff(c.clusters, clusters); diff != "" {
				t.Errorf("%s: clusters: -want +got:\n%s\n%v", c.reason, diff, problems)
			}
			var keys []fleet.Key
			for _, p := range problems {
				keys = append(keys, p.Cluster)
			}
			if diff := cmp.Diff(c.problems, keys); diff != "" {
				t.Errorf("%s: problems: -want +got:\n%s\n%v", c.reason, diff, problems)
			}
		})
	}
}

func TestServerFieldsAreIgnored(t *testing.T) {
	exported := replaced(t, newest, "metadata: {name: eu, namespace: prod}\nspec:\n  clusterNetwork", `metadata:
  name: eu
  namespace: prod
  uid: 0b5e
  resourceVersion: "12"
  generation: 3
  creationTimestamp: "2026-01-31T08:00:00Z"
  finalizers: [cluster.cluster.x-k8s.io]
  managedFields: [{manager: kubectl, operation: Update, fieldsV1: {"f:spec": {}}}]
  annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}"}
status:
  phase: Provisioned
  nobodyKnows: this
spec:
  clusterNetwork`)
	if diff := cmp.Diff(mustDecode(t, newest), mustDecode(t, exported)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
