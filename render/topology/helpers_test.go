package topology_test

import (
	"bytes"
	"strings"
	"testing"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
	"fairlead.dev/render/topology"
)

// parsed reads manifests, each in its own file called after its kind and name.
func parsed(t testing.TB, manifests string) []topology.Object {
	t.Helper()
	var out []topology.Object
	for _, doc := range strings.Split(manifests, "\n---\n") {
		data, err := yaml.YAMLToJSON([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		var raw map[string]any
		if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &raw); err != nil {
			t.Fatal(err)
		}
		o := topology.Object{Raw: raw, Namespace: "default", File: text(raw, "kind") + ".yaml", Contract: contracts()[text(raw, "kind")+" "+text(raw, "apiVersion")]}
		if ns := text(raw, "metadata", "namespace"); ns != "" {
			o.Namespace = ns
		}
		out = append(out, o)
	}
	return out
}

func text(m map[string]any, path ...string) string {
	for _, p := range path[:len(path)-1] {
		m, _ = m[p].(map[string]any)
	}
	s, _ := m[path[len(path)-1]].(string)
	return s
}

// compiled returns the class among objects, and the clusters.
func compiled(t testing.TB, objects []topology.Object) (*topology.Class, []topology.Object) {
	t.Helper()
	var class *topology.Class
	var clusters []topology.Object
	for _, o := range objects {
		switch text(o.Raw, "kind") {
		case "Cluster":
			clusters = append(clusters, o)
		case "ClusterClass":
			class = topology.NewClass("classes", o, func(group, kind, name string) (topology.Object, bool) {
				for _, t := range objects {
					if text(t.Raw, "kind") == kind && text(t.Raw, "metadata", "name") == name && strings.HasPrefix(text(t.Raw, "apiVersion"), group+"/") {
						return t, true
					}
				}
				return topology.Object{}, false
			})
		}
	}
	if class == nil {
		t.Fatal("there is no class")
	}
	return class, clusters
}

// asYAML returns expanded objects as people would write them.
func asYAML(t testing.TB, objects []*topology.Expanded) string {
	t.Helper()
	var b bytes.Buffer
	for i, o := range objects {
		if i > 0 {
			b.WriteString("---\n")
		}
		data, err := yaml.Marshal(o.Raw)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(data)
	}
	return b.String()
}

func lines(problems []fleet.Problem) []string {
	var out []string
	for _, p := range problems {
		out = append(out, p.String())
	}
	return out
}

// contracts are those of the templates of control planes that exist for these tests.
func contracts() map[string]topology.Contract {
	return map[string]topology.Contract{
		"KubeadmControlPlaneTemplate controlplane.cluster.x-k8s.io/v1beta2": topology.V1Beta2,
		"KubeadmControlPlaneTemplate controlplane.cluster.x-k8s.io/v1beta1": topology.V1Beta1,
		"CloudPlaneTemplate infrastructure.cluster.x-k8s.io/v1beta2":        topology.Hosted,
	}
}
