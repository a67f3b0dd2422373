package render_test

import (
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/render"
)

// A kustomization that the fleet does not select is rendered for who asks for it.
func TestFolder(t *testing.T) {
	b := newBuilder(render.Options{})
	archive := tree("-- clusters/a/kustomization.yaml --\nresources: [c.yaml]\n-- clusters/a/c.yaml --\n" + clusterYAML("team", "a") +
		"-- bases/b/kustomization.yaml --\nresources: [c.yaml]\n-- bases/b/c.yaml --\n" + clusterYAML("team", "b") +
		"-- bases/bad/kustomization.yaml --\nresources: [none.yaml]\n" +
		"-- bases/part/kustomization.yaml --\napiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [c.yaml]\n-- bases/part/c.yaml --\n" + clusterYAML("team", "p") +
		"-- bases/none/c.yaml --\n" + clusterYAML("team", "b"))
	b.render(t, "sha1:1", archive)
	for name, want := range map[string]struct {
		clusters, problems int
		err                bool
	}{
		"bases/b":    {clusters: 1},
		"bases/bad":  {problems: 1},
		"bases/part": {err: true},
		"bases/none": {err: true},
		"bases":      {err: true},
		"none":       {err: true},
	} {
		f, err := b.Folder(t.Context(), fleet.Revision{Ref: "main", Digest: "sha1:1"}, archive, name)
		if (err != nil) != want.err || err != nil && fleet.KindOf(err) != fleet.NotFound {
			t.Errorf("%s: %v", name, err)
		}
		if len(f.Clusters) != want.clusters || len(f.Problems) != want.problems {
			t.Errorf("%s: got clusters %q, problems %q", name, keys(f), lines(f.Problems))
		}
	}
	if f := b.render(t, "sha1:2", archive); len(f.Clusters) != 1 || len(f.Problems) > 0 {
		t.Errorf("afterwards the fleet has clusters %q, problems %q", keys(f), lines(f.Problems))
	}
}

// A list in brackets that names variables is one in lines, through kustomize and all.
func TestRenderVariablesInBrackets(t *testing.T) {
	archive := tree(fleetYAML + "spec: {substitute: {CIDRS: [\"10.0.0.0/16\", \"fd00::/48\"]}}\n" + `
-- clusters/a/kustomization.yaml --
resources: [m.yaml]
namePrefix: x-
-- clusters/a/m.yaml --
apiVersion: example.com/v1
kind: Network
metadata:
  name: net
spec:
  cidrBlocks: [${CIDRS}]
`)
	objects, problems, err := render.New(render.Options{}).Objects(t.Context(), archive, "clusters/a")
	if err != nil || len(problems) > 0 {
		t.Fatal(err, lines(problems))
	}
	want := "# clusters/a/m.yaml\napiVersion: example.com/v1\nkind: Network\nmetadata:\n  name: x-net\nspec:\n  cidrBlocks:\n    - \"10.0.0.0/16\"\n    - \"fd00::/48\"\n"
	if got := asYAML(objects); got != want {
		t.Errorf("got:\n%s", got)
	}
}
