package render_test

import (
	"errors"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/render"
)

// TestLines: a problem says on which line of its file what it is about is written, whatever
// kustomize and variables make of the object.
func TestLines(t *testing.T) {
	const first = "apiVersion: v1\nkind: Pool\nmetadata:\n  name: x\n  namespace: default\n"
	for name, c := range map[string]struct {
		files string
		want  string
	}{
		"a field":       {"-- clusters/x/kustomization.yaml --\nresources: [c.yaml]\n-- clusters/x/c.yaml --\n" + first + "spec:\n  a: 1\n  b: ${B}\n", "clusters/x/c.yaml:8: "},
		"of a list":     {"-- clusters/x/kustomization.yaml --\nresources: [c.yaml]\n-- clusters/x/c.yaml --\n" + first + "spec:\n  a:\n  - b: 1\n  - b: ${B}\n", "clusters/x/c.yaml:9: "},
		"second object": {"-- clusters/x/kustomization.yaml --\nresources: [c.yaml]\n-- clusters/x/c.yaml --\n# words\n" + first + "---\nkind: Pool\napiVersion: v1\nmetadata:\n  name: y\nspec: ${B}\n", "clusters/x/c.yaml:12: "},
		"renamed":       {"-- clusters/x/kustomization.yaml --\nnamePrefix: eu-\nnamespace: prod\nresources: [c.yaml]\n-- clusters/x/c.yaml --\n" + first + "---\nkind: Pool\napiVersion: v1\nmetadata:\n  name: y\nspec: ${B}\n", "clusters/x/c.yaml:11: Pool prod/eu-y"},
		"with a variable in its name": {
			"-- clusters/x/.env --\nNAME=eu\n-- clusters/x/kustomization.yaml --\nresources: [c.yaml]\n-- clusters/x/c.yaml --\n" +
				"kind: Pool\napiVersion: v1\nmetadata: {name: '${NAME}-md-0'}\nspec: 1\n---\nkind: Pool\napiVersion: v1\nmetadata: {name: '${NAME}-md-1'}\nspec: ${B}\n", "clusters/x/c.yaml:9: ",
		},
		"of a base":     {"-- clusters/x/kustomization.yaml --\nresources: [../../base]\n-- base/kustomization.yaml --\nresources: [c.yaml]\n-- base/c.yaml --\n" + first + "spec: ${B}\n", "base/c.yaml:6: "},
		"of a patch":    {"-- clusters/x/kustomization.yaml --\nresources: [c.yaml]\npatches: [{path: p.yaml}]\n-- clusters/x/p.yaml --\n" + first + "spec: {a: '${B}'}\n-- clusters/x/c.yaml --\n" + first + "spec: {}\n", "clusters/x/c.yaml:6: "},
		"not YAML":      {"-- clusters/x/kustomization.yaml --\nresources: [c.yaml]\n-- clusters/x/c.yaml --\n" + first + "spec: [\n", "clusters/x/c.yaml:6: "},
		"kustomization": {"-- clusters/x/kustomization.yaml --\nnamespace: x\nresources:\n- https://example.com/x\n", "clusters/x/kustomization.yaml:3: "},
		"no field":      {"-- clusters/x/kustomization.yaml --\nresources: [c.yaml]\n-- clusters/x/c.yaml --\n" + clusterYAML("default", "x") + "spec: {broken: true}\n", "clusters/x/c.yaml: "},
		"variables":     {"-- clusters/x/.env --\nA=1\nB\n-- clusters/x/kustomization.yaml --\nresources: [c.yaml]\n-- clusters/x/c.yaml --\n" + first, "clusters/x/.env: "},
		"too large":     {"-- clusters/x/kustomization.yaml --\nresources: [c.yaml]\n-- clusters/x/c.yaml --\n" + first + "spec: ${B}\n# " + strings.Repeat("x", 1<<20) + "\n", "clusters/x/c.yaml: "},
	} {
		t.Run(name, func(t *testing.T) {
			f := newBuilder(render.Options{}).render(t, "sha1:1", tree(c.files))
			if len(f.Problems) != 1 || !strings.HasPrefix(f.Problems[0].String(), c.want) {
				t.Errorf("the problems are %v, want %s", f.Problems, c.want)
			}
		})
	}
}

// TestLinesMove: a line is that of the revision, also where the overlay is not built again.
func TestLinesMove(t *testing.T) {
	b := newBuilder(render.Options{})
	files := tree("-- clusters/x/kustomization.yaml --\nresources: [c.yaml]\n-- clusters/x/c.yaml --\n" + clusterYAML("default", "x") + "spec: {a: '${B}'}\n")
	for i, c := range []struct {
		change string
		want   int
	}{
		{"", 6},
		{"-- README.md --\nread me\n", 6},
		{"-- clusters/x/c.yaml --\n# one\n# two\n" + clusterYAML("default", "x") + "spec: {a: '${B}'}\n", 8},
		{"-- README.md --\nread it\n", 8},
	} {
		files = files.with(c.change)
		f := b.render(t, string(rune('a'+i)), files)
		if len(f.Problems) != 1 || f.Problems[0].Line != c.want {
			t.Errorf("after change %d the problems are %v, want line %d", i, f.Problems, c.want)
		}
	}
}

// TestLinesOfConfig: what is refused of fleet.yaml has its line.
func TestLinesOfConfig(t *testing.T) {
	for text, want := range map[string]string{
		"metadata:\n  name: f\nspec:\n  prune: 7\n": "fleet.yaml:6: ",
		"spec:\n  clusters:\n    include: ['[']\n":  "fleet.yaml:4: ",
		"metadata: [\n": "fleet.yaml:3: ",
	} {
		_, err := newBuilder(render.Options{}).Render(t.Context(), fleet.Revision{Digest: "sha1:1"}, tree(fleetYAML+text))
		e, ok := errors.AsType[*render.ConfigError](err)
		if !ok || !strings.HasPrefix(e.Problems[0].String(), want) {
			t.Errorf("%q is refused with %v, want %s", text, err, want)
		}
	}
}
