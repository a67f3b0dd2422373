package render_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/render"
)

// A folder that seems to be meant as an overlay, and is none, is a warning.
func TestStrayFolders(t *testing.T) {
	const good = "-- clusters/good/kustomization.yaml --\nresources: [c.yaml]\n-- clusters/good/c.yaml --\n"
	cluster := func(name string) string { return clusterYAML("team", name) }
	cases := map[string]struct {
		reason, archive string
		want            []string
	}{
		"NoKustomization": {
			reason:  "a Cluster without a kustomization is not part of the fleet",
			archive: "-- clusters/prod/eu-2/a.yaml --\n# c\n-- clusters/prod/eu-2/c.yaml --\n" + cluster("b"),
			want:    []string{"clusters/prod/eu-2/c.yaml: the folder clusters/prod/eu-2 has a Cluster and no kustomization.yaml, so it is not part of the fleet (add a kustomization.yaml, or exclude the folder in fleet.yaml under spec.clusters.exclude)"},
		},
		"OtherSpelling": {
			reason:  "kustomize does not know other names of its file",
			archive: "-- clusters/b/Kustomization.yaml --\nresources: [c.yaml]\n-- clusters/b/c.yaml --\n" + cluster("b"),
			want:    []string{"clusters/b/Kustomization.yaml: kustomize does not know the name Kustomization.yaml, so the folder clusters/b is not part of the fleet (rename the file to kustomization.yaml)"},
		},
		"Excluded": {
			reason:  "a folder that is excluded is left out on purpose",
			archive: fleetYAML + "spec: {clusters: {exclude: [clusters/b]}}\n-- clusters/b/c.yaml --\n" + cluster("b"),
		},
		"PartOfAnOverlay": {
			reason:  "files that an overlay reads are part of it",
			archive: "-- clusters/b/kustomization.yaml --\nresources: [files/c.yaml]\n-- clusters/b/files/c.yaml --\n" + cluster("b") + "-- clusters/b/files/old.yaml --\n" + cluster("old"),
		},
		"NoCluster": {
			reason:  "a folder with other files, or with a Cluster in a text, is nothing",
			archive: "-- clusters/b/values.yaml --\na: b\n-- clusters/b/m.yaml --\nkind: ConfigMap\ndata:\n  a: |\n    kind: Cluster\n-- clusters/b/README.md --\n" + cluster("b") + "-- clusters/b/kustomize.yaml --\nkind: Kustomization\nspec:\n  patches: []\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBuilder(render.Options{})
			fleetOf := tree(good + cluster("a") + tc.archive)
			for _, rev := range []string{"sha1:1", "sha1:2"} { // built, and kept
				f := b.render(t, rev, fleetOf)
				if diff := cmp.Diff(tc.want, lines(f.Warnings)); diff != "" || len(f.Problems) > 0 {
					t.Errorf("%s: got problems %q; warnings -want, +got:\n%s", tc.reason, lines(f.Problems), diff)
				}
			}
		})
	}
}
