package decode_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"github.com/google/go-cmp/cmp"
)

const resourceSets = `
---
apiVersion: addons.cluster.x-k8s.io/v1beta2
kind: ClusterResourceSet
metadata: {name: cni, namespace: prod, annotations: {fairlead.dev/prune: "true"}}
spec:
  clusterSelector: {matchLabels: {cni: lab}}
  strategy: Reconcile
  resources:
  - {kind: ConfigMap, name: cni}
  - {kind: Secret, name: keys}
---
apiVersion: addons.cluster.x-k8s.io/v1beta1
kind: ClusterResourceSet
metadata: {name: base, namespace: prod}
spec:
  clusterSelector: {matchExpressions: [{key: cni, operator: Exists}]}
  resources: [{kind: ConfigMap, name: cni}]
---
apiVersion: addons.cluster.x-k8s.io/v1beta2
kind: ClusterResourceSet
metadata: {name: none, namespace: prod}
spec:
  clusterSelector: {matchLabels: {cni: other}}
  resources: [{kind: ConfigMap, name: cni}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: cni, namespace: prod}
data:
  b.json: '[{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "net", "creationTimestamp": null}, "status": {}}]'
  a.yaml: |
    # A comment.
    ---
    apiVersion: v1
    kind: List
    items:
    - {apiVersion: v1, kind: ServiceAccount, metadata: {name: cni, namespace: net}}
    --- # another
    apiVersion: apps/v1
    kind: DaemonSet
    metadata: {name: cni, namespace: net}
    spec: {minReadySeconds: 12345678901}
---
apiVersion: v1
kind: Secret
metadata: {name: keys, namespace: prod}
type: addons.cluster.x-k8s.io/resource-set
stringData:
  keys.yaml: "{apiVersion: v1, kind: Secret, metadata: {name: keys, namespace: net}, stringData: {key: hunter2}}"
`

// labelled is a cluster that the sets select.
func labelled(t *testing.T) string {
	return replaced(t, newest, "metadata: {name: eu, namespace: prod}\nspec:\n  clusterNetwork", "metadata: {name: eu, namespace: prod, labels: {cni: lab}}\nspec:\n  clusterNetwork")
}

func TestClusterResourceSets(t *testing.T) {
	c := mustDecode(t, labelled(t)+resourceSets)
	var names []string
	for _, s := range c.ResourceSets {
		names = append(names, fmt.Sprintf("%s %s prune %t", s.Name, s.Strategy, s.Prune))
	}
	if want := []string{"base ApplyOnce prune false", "cni Reconcile prune true"}; !slices.Equal(names, want) {
		t.Fatalf("sets %v, want %v", names, want)
	}
	var got []string
	for _, r := range c.ResourceSets[1].Resources {
		for _, m := range r.Objects {
			got = append(got, r.Name+": "+m.String()+" "+string(m.Content.Reveal()))
		}
	}
	want := []string{
		`ConfigMap/cni: ServiceAccount net/cni {"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"cni","namespace":"net"}}`,
		`ConfigMap/cni: DaemonSet.apps net/cni {"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"cni","namespace":"net"},"spec":{"minReadySeconds":12345678901}}`,
		`ConfigMap/cni: Namespace net {"apiVersion":"v1","kind":"Namespace","metadata":{"name":"net"}}`,
		`Secret/keys: Secret net/keys {"apiVersion":"v1","kind":"Secret","metadata":{"name":"keys","namespace":"net"},"stringData":{"key":"hunter2"}}`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("objects: -want +got\n%s", d)
	}
	if text := fmt.Sprintf("%v %+v", c.ResourceSets, c.ResourceSets); strings.Contains(text, "hunter2") {
		t.Error("what is secret shows")
	}
	if n := len(mustDecode(t, newest+resourceSets).ResourceSets); n != 0 {
		t.Errorf("%d sets are for a cluster without the label, want none", n)
	}
}

// TestResourceSetChanges: what a set holds rolls no machine, and is a change of
// the cluster all the same, also where it is secret.
func TestResourceSetChanges(t *testing.T) {
	plain := mustDecode(t, labelled(t))
	c := mustDecode(t, labelled(t)+resourceSets)
	other := mustDecode(t, labelled(t)+replaced(t, resourceSets, "hunter2", "hunter3"))
	if c.Digest == other.Digest || c.ResourceSets[1].Mark() == other.ResourceSets[1].Mark() || c.ResourceSets[1].Resources[1].Digest == other.ResourceSets[1].Resources[1].Digest {
		t.Error("another secret is no change")
	}
	if c.ResourceSets[1].Resources[0].Digest != other.ResourceSets[1].Resources[0].Digest {
		t.Error("another secret changes the ConfigMap")
	}
	if c.ControlPlane.Template != plain.ControlPlane.Template || c.Workers[0].Template != plain.Workers[0].Template {
		t.Error("addons roll machines")
	}
}

func TestClusterResourceSetProblems(t *testing.T) {
	const set, other, config, keys = "ClusterResourceSet prod/cni", "ClusterResourceSet prod/base", "ConfigMap prod/cni", "Secret prod/keys"
	for name, c := range map[string]struct{ old, new, object, field, message string }{
		"strategy":         {"strategy: Reconcile", "strategy: Always", set, "spec.strategy", "Always"},
		"unknown field":    {"strategy: Reconcile", "stategy: Reconcile", set, "spec.stategy", "unknown field"},
		"kind":             {"{kind: Secret, name: keys}", "{kind: Service, name: keys}", set, "spec.resources[1].kind", "Service"},
		"no kind":          {"{kind: Secret, name: keys}", "{name: keys}", set, "spec.resources[1].kind", "Required"},
		"twice":            {"{kind: Secret, name: keys}", "{kind: ConfigMap, name: cni}", set, "spec.resources[1]", "Duplicate"},
		"missing":          {"{kind: Secret, name: keys}", "{kind: Secret, name: key}", set, "spec.resources[1].name", "names Secret prod/key, which the overlay does not hold"},
		"no resources":     {"resources: [{kind: ConfigMap, name: cni}]\n---\napiVersion: addons.cluster.x-k8s.io/v1beta2\nkind: ClusterResourceSet\nmetadata: {name: none", "resources: []\n---\napiVersion: addons.cluster.x-k8s.io/v1beta2\nkind: ClusterResourceSet\nmetadata: {name: none", other, "spec.resources", "at least one"},
		"empty selector":   {"{matchLabels: {cni: lab}}", "{}", set, "spec.clusterSelector", "selects no cluster"},
		"selector":         {"operator: Exists", "operator: Has", other, "spec.clusterSelector", "Has"},
		"annotation":       {`fairlead.dev/prune: "true"`, `fairlead.dev/prune: "yes"`, set, "metadata.annotations.fairlead.dev/prune", `"true" or "false"`},
		"type":             {"type: addons.cluster.x-k8s.io/resource-set", "type: Opaque", keys, "type", `is "Opaque"`},
		"no YAML":          {"    # A comment.\n", "    a: b: c\n", config, "data.a.yaml", "document 1 is not valid YAML"},
		"repeated key":     {"spec: {minReadySeconds: 12345678901}", "spec: {a: 1, a: 2}", config, "data.a.yaml", `key "a" already set in map`},
		"no name":          {"kind: DaemonSet\n    metadata: {name: cni, namespace: net}", "kind: DaemonSet\n    metadata: {generateName: cni-}", config, "data.a.yaml", "document 3 has no metadata.name"},
		"no kind inside":   {"kind: DaemonSet", "spec: {}", config, "data.a.yaml", "document 3"},
		"twice in the set": {"kind: Secret, metadata: {name: keys, namespace: net}", "kind: ServiceAccount, metadata: {name: cni, namespace: net}", keys, "data", "ServiceAccount net/cni is there twice, in ConfigMap/cni and in Secret/keys"},
		"secret document":  {`"{apiVersion: v1, kind: Secret, metadata`, `"{apiVersion: v1, hunter2: 1, hunter2: 2, metadata`, keys, "data.keys.yaml", "document 1 is not valid YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := decodeAll(labelled(t) + replaced(t, resourceSets, c.old, c.new))
			i := slices.IndexFunc(problems, func(p fleet.Problem) bool {
				return p.Object == c.object && p.Field == c.field && strings.Contains(p.Message, c.message)
			})
			if i < 0 {
				t.Fatalf("problems %v, want one of %s at %s with %q", problems, c.object, c.field, c.message)
			}
			if p := problems[i]; p.File == "" || p.Cluster.Name != "eu" || strings.Contains(p.String(), "hunter2") {
				t.Errorf("problem %+v", p)
			}
		})
	}
	empty := "\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: empty, namespace: prod}\ndata: {a.yaml: \"# nothing\"}\n"
	_, problems := decodeAll(labelled(t) + replaced(t, resourceSets, "{kind: Secret, name: keys}", "{kind: ConfigMap, name: empty}") + empty)
	if len(problems) != 1 || problems[0].Message != "holds no object" {
		t.Errorf("problems of a ConfigMap with nothing in it: %v", problems)
	}
}

// TestOneObjectOfTwoSets: two sets that keep one object as they have it, in one cluster, are
// refused where each would take it from the other.
func TestOneObjectOfTwoSets(t *testing.T) {
	const second = `
---
apiVersion: addons.cluster.x-k8s.io/v1beta2
kind: ClusterResourceSet
metadata: {name: second, namespace: prod}
spec:
  clusterSelector: {matchLabels: {cni: lab}}
  strategy: Reconcile
  resources: [{kind: ConfigMap, name: second}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: second, namespace: prod}
data:
  a.yaml: "{apiVersion: v1, kind: Secret, metadata: {name: keys, namespace: net}, stringData: {key: hunter3}}"
`
	const fight = "ClusterResourceSet prod/cni and this one both write Secret net/keys in cluster prod/eu, with other content"
	for name, c := range map[string]struct {
		old, new, want string
	}{
		"other content":        {"", "", fight},
		"the same content":     {"hunter3", "hunter2", ""},
		"once":                 {"strategy: Reconcile", "strategy: ApplyOnce", ""},
		"paused":               {"{name: second, namespace: prod}\nspec", `{name: second, namespace: prod, annotations: {cluster.x-k8s.io/paused: ""}}` + "\nspec", ""},
		"other clusters":       {"{cni: lab}", "{cni: other}", ""},
		"another object":       {"name: keys, namespace: net", "name: other, namespace: net", ""},
		"in default, unsaid":   {"kind: Secret, metadata: {name: keys, namespace: net}", "kind: ServiceAccount, metadata: {name: web}", "both write ServiceAccount web in"},
		"another kind of name": {"kind: Secret, metadata", "kind: ConfigMap, metadata", ""},
	} {
		t.Run(name, func(t *testing.T) {
			first := resourceSets
			if name == "in default, unsaid" {
				first = replaced(t, first, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: cni, namespace: net}}", "{apiVersion: v1, kind: ServiceAccount, metadata: {name: web, namespace: default}}")
			}
			_, problems := decodeAll(labelled(t) + first + strings.Replace(second, c.old, c.new, 1))
			if c.want == "" && len(problems) == 0 {
				return
			}
			if len(problems) != 1 || c.want == "" || problems[0].Object != "ClusterResourceSet prod/second" || problems[0].Field != "spec.resources[0]" || !strings.Contains(problems[0].Message, c.want) {
				t.Errorf("problems %v, want %q", problems, c.want)
			}
		})
	}
}

// TestAddonsGuide decodes what docs/guides/clusters/addons.md shows.
func TestAddonsGuide(t *testing.T) {
	text, err := os.ReadFile("../../docs/guides/clusters/addons.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```\n")
	c := mustDecode(t, replaced(t, labelled(t), "{cni: lab}", "{cni: calico}")+"\n---\n"+example)
	if len(c.ResourceSets) != 1 || len(c.ResourceSets[0].Refs()) != 2 {
		t.Errorf("sets of the example: %+v", c.ResourceSets)
	}
	_, rest, _ = strings.Cut(string(text), "## Helm charts")
	_, rest, _ = strings.Cut(rest, "```yaml\n")
	example, _, _ = strings.Cut(rest, "```\n")
	c = mustDecode(t, replaced(t, labelled(t), "{cni: lab}", "{cni: cilium}")+"\n---\n"+example)
	const values = `{"cluster":{"name":"eu"},"ipam":{"operator":{"clusterPoolIPv4PodCIDRList":["10.1.0.0/16"]}}}`
	if len(c.Releases) != 1 || string(c.Releases[0].Values.Reveal()) != values {
		t.Errorf("releases of the example: %q", c.Releases)
	}
}
