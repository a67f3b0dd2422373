package render_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/render"
	"fairlead.dev/render/topology"
)

// identifying is a fakeDecoder whose clusters use the identity of their name.
type identifying struct{ fakeDecoder }

func (d identifying) Decode(overlay string, objects []render.Object, l ...topology.Library) ([]fleet.Cluster, []fleet.Problem) {
	clusters, problems := d.fakeDecoder.Decode(overlay, objects, l...)
	for i := range clusters {
		k := clusters[i].Key
		clusters[i].Infrastructure = fleet.Object{
			GVK: schema.GroupVersionKind{Kind: "FakeCluster"}, Namespace: k.Namespace, Name: k.Name, File: "f.yaml",
			Spec: json.RawMessage(`{"list":[{"identityRef":{"name":"` + k.Name + `-cloud"}}]}`),
		}
	}
	return clusters, problems
}

// Which folder may define clusters of which namespaces, and on which identities.
func TestRenderFolders(t *testing.T) {
	cluster := func(dir, namespace, name string) string {
		return "-- " + dir + "/kustomization.yaml --\nresources: [c.yaml]\n-- " + dir + "/c.yaml --\n" + clusterYAML(namespace, name)
	}
	const hint = " (use one of these namespaces, or allow this one in spec.folders)"
	for name, tc := range map[string]struct {
		reason   string
		folders  string
		archive  string
		clusters []string
		problems []string
	}{
		"None": {
			reason: "without spec.folders each may define all", folders: "[]",
			archive: cluster("clusters/a", "a", "x"), clusters: []string{"a/x"},
		},
		"Namespaces": {
			reason: "a folder defines clusters of its namespaces only; one of another's takes nothing from that", folders: "[{path: clusters/prod, namespaces: [prod]}, {path: clusters/dev, namespaces: [dev, test]}]",
			archive:  cluster("clusters/prod/x", "prod", "x") + cluster("clusters/dev/x", "prod", "x") + cluster("clusters/dev/y", "test", "z"),
			clusters: []string{"prod/x", "test/z"},
			problems: []string{"clusters/dev/x/kustomization.yaml: Cluster prod/x: metadata.namespace: what is in clusters/dev may define clusters of dev, test only, as fleet.yaml says" + hint},
		},
		"Elsewhere": {
			reason: "what is in no folder defines nothing, and a name that begins alike is another folder", folders: "[{path: clusters/prod, namespaces: ['*']}]",
			archive:  cluster("clusters/prod", "a", "x") + cluster("clusters/production", "a", "z"),
			clusters: []string{"a/x"},
			problems: []string{"clusters/production/kustomization.yaml: Cluster a/z: metadata.namespace: the folder is in none of spec.folders of fleet.yaml and may define no cluster (move it into one of them, or add the folder there)"},
		},
		"Nearest": {
			reason: "the nearest folder upwards counts", folders: "[{path: ., namespaces: ['*']}, {path: clusters/prod/eu, namespaces: [eu]}, {path: clusters/prod, namespaces: [prod]}]",
			archive:  cluster("clusters/any", "any", "x") + cluster("clusters/prod/eu/x", "eu", "x") + cluster("clusters/prod/eu/y", "prod", "z"),
			clusters: []string{"any/x", "eu/x"},
			problems: []string{"clusters/prod/eu/y/kustomization.yaml: Cluster prod/z: metadata.namespace: what is in clusters/prod/eu may define clusters of eu only, as fleet.yaml says" + hint},
		},
		"Identities": {
			reason: "on its identities only; an empty list is none", folders: "[{path: clusters/a, namespaces: [a], identities: [x-cloud]}, {path: clusters/b, namespaces: [b], identities: []}]",
			archive:  cluster("clusters/a/x", "a", "x") + cluster("clusters/a/y", "a", "z") + cluster("clusters/b", "b", "x"),
			clusters: []string{"a/x"},
			problems: []string{
				`f.yaml: FakeCluster a/z: spec.list[0].identityRef.name: what is in clusters/a may not use the identity "z-cloud", as fleet.yaml says (use one that spec.folders allows, or allow this one there)`,
				`f.yaml: FakeCluster b/x: spec.list[0].identityRef.name: what is in clusters/b may not use the identity "x-cloud", as fleet.yaml says (use one that spec.folders allows, or allow this one there)`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := render.New(render.Options{Decoder: identifying{}}).Render(t.Context(), fleet.Revision{}, tree(fleetYAML+"spec: {folders: "+tc.folders+"}\n"+tc.archive))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.clusters, keys(f)); diff != "" {
				t.Errorf("%s: clusters: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.problems, lines(f.Problems)); diff != "" {
				t.Errorf("%s: problems: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// What is wrong with spec.folders refuses fleet.yaml, with the field.
func TestRenderFoldersRefused(t *testing.T) {
	for folders, want := range map[string]string{
		"[{path: /a, namespaces: [a]}]":                            `fleet.yaml:3: spec.folders[0].path: "/a" is no path in the repository (write it from the root and without a slash at its end, such as clusters/prod)`,
		"[{path: a, namespaces: [a]}, {path: a, namespaces: [b]}]": `fleet.yaml:3: spec.folders[1].path: "a" is there twice (keep one item for each folder)`,
		"[{path: a}]": `fleet.yaml:3: spec.folders[0].namespaces: no namespace is allowed (name those that the folder may define clusters in, or "*" for any)`,
		"[{path: a, namespaces: [a], identities: [A]}]": "",
		"[{path: a, namespaces: [A]}]":                  "",
		"[{path: a, namespaces: [a], clusters: [x]}]":   "fleet.yaml:3: spec.folders[0].clusters: this field does not exist (see docs/reference/fleet-yaml.md for those that do)",
	} {
		_, err := render.New(render.Options{Decoder: fakeDecoder{}}).Render(t.Context(), fleet.Revision{}, tree(fleetYAML+"spec: {folders: "+folders+"}\n"))
		if err == nil || want != "" && err.Error() != "cannot read fleet.yaml: "+want {
			t.Errorf("%s: got %v, want %q", folders, err, want)
		}
	}
}
