package render_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/render"
)

const twoClusters = `
-- README.md --
hello
-- base/kustomization.yaml --
resources: [cluster.yaml]
-- base/cluster.yaml --
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: base}
-- clusters/a/kustomization.yaml --
namespace: one
namePrefix: a-
resources: [../../base]
-- clusters/b/kustomization.yaml --
namespace: two
namePrefix: b-
resources: [../../base]
-- clusters/c/kustomization.yml --
resources: [own.yaml]
-- clusters/c/own.yaml --
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: own, namespace: three}
`

// What is built again after a push, and what is not.
func TestRenderBuildsWhatChanged(t *testing.T) {
	cases := map[string]struct {
		reason   string
		push     string
		built    int
		clusters []string
	}{
		"Nothing": {
			reason:   "the same tree costs no build",
			built:    0,
			clusters: []string{"one/a-base", "three/own", "two/b-base"},
		},
		"Readme": {
			reason:   "a file that no overlay reads costs no build",
			push:     "-- README.md --\nother\n-- clusters/a/README.md --\nmine\n-- base/README.md --\nyours\n",
			built:    0,
			clusters: []string{"one/a-base", "three/own", "two/b-base"},
		},
		"One": {
			reason:   "one overlay changed",
			push:     "-- clusters/a/kustomization.yaml --\nnamespace: new\nresources: [../../base]\n",
			built:    1,
			clusters: []string{"new/base", "three/own", "two/b-base"},
		},
		"Base": {
			reason:   "all overlays over the base are built, the others are not",
			push:     "-- base/cluster.yaml --\napiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: other}\n",
			built:    2,
			clusters: []string{"one/a-other", "three/own", "two/b-other"},
		},
		"Env": {
			reason:   "an env file that was not there before is an input",
			push:     "-- clusters/c/.env --\nA=1\n",
			built:    1,
			clusters: []string{"one/a-base", "three/own", "two/b-base"},
		},
		"SecondKustomization": {
			reason:   "a second kustomization file in the base breaks its overlays",
			push:     "-- base/Kustomization --\nresources: [cluster.yaml]\n",
			built:    2,
			clusters: []string{"three/own"},
		},
		"New": {
			reason:   "a new overlay is built alone",
			push:     "-- clusters/d/kustomization.yaml --\nresources: [../../base]\nnamespace: four\n",
			built:    1,
			clusters: []string{"four/base", "one/a-base", "three/own", "two/b-base"},
		},
		"Gone": {
			reason:   "an overlay that is gone leaves nothing",
			push:     "-- clusters/c/kustomization.yml --\n",
			built:    0,
			clusters: []string{"one/a-base", "two/b-base"},
		},
		"Values": {
			reason:   "values go into every overlay",
			push:     "-- fleet.yaml --\napiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nspec: {substitute: {A: b}}\n",
			built:    3,
			clusters: []string{"one/a-base", "three/own", "two/b-base"},
		},
		"Name": {
			reason:   "the name of the fleet goes into every cluster",
			push:     "-- fleet.yaml --\napiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nmetadata: {name: other}\n",
			built:    3,
			clusters: []string{"one/a-base", "three/own", "two/b-base"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBuilder(render.Options{FleetID: "f"})
			before := tree(twoClusters)
			b.render(t, "sha1:1", before)
			f := b.render(t, "sha1:2", before.with(tc.push))
			if b.stats.Built != tc.built {
				t.Errorf("%s: built %d overlays, want %d", tc.reason, b.stats.Built, tc.built)
			}
			if diff := cmp.Diff(tc.clusters, keys(f)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s\n%v", tc.reason, diff, lines(f.Problems))
			}
			fresh := newBuilder(render.Options{FleetID: "f"})
			g := fresh.render(t, "sha1:2", before.with(tc.push))
			if diff := cmp.Diff(keys(g), keys(f)); diff != "" {
				t.Errorf("%s: a fresh builder differs: -fresh, +cached:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(g.Problems, f.Problems); diff != "" {
				t.Errorf("%s: a fresh builder differs: -fresh, +cached:\n%s", tc.reason, diff)
			}
		})
	}
}
