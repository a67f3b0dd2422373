package render_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/render"
	"fairlead.dev/render/topology"
)

// A $$ that escapes nothing is a warning, and holds nothing back.
func TestRenderDoubledDollar(t *testing.T) {
	b := newBuilder(render.Options{})
	fleetOf := tree("-- clusters/a/kustomization.yaml --\nresources: [c.yaml]\n-- clusters/a/c.yaml --\n" + clusterYAML("team", "a") + "spec: {command: /tmp/x.$$}\n")
	for _, rev := range []string{"sha1:1", "sha1:2"} { // built, and kept
		f := b.render(t, rev, fleetOf)
		want := []string{"clusters/a/c.yaml: Cluster team/a: spec.command: $$ becomes $ (write $ for one dollar sign and $$$$ for two, or annotate the object with fairlead.dev/substitute: disabled)"}
		if diff := cmp.Diff(want, lines(f.Warnings)); diff != "" || len(f.Clusters) != 1 || len(f.Problems) > 0 {
			t.Errorf("got clusters %q, problems %q; warnings -want, +got:\n%s", keys(f), lines(f.Problems), diff)
		}
	}
}

// A decoder that finds fault with three fields.
type faultFinder struct{ fakeDecoder }

func (faultFinder) Decode(overlay string, objects []render.Object, _ ...topology.Library) ([]fleet.Cluster, []fleet.Problem) {
	var out []fleet.Problem
	for _, field := range []string{"spec.replicas", "spec.version", "spec.paused", "spec.fixed"} {
		out = append(out, fleet.Problem{Overlay: overlay, Object: "Cluster default/a", Field: field, Message: "bad", Hint: map[string]string{"spec.replicas": "count them"}[field]})
	}
	return nil, out
}

// A problem with a value says where the value was set.
func TestRenderTellsWhereValuesAreFrom(t *testing.T) {
	b := render.New(render.Options{Decoder: faultFinder{}, Values: map[string]string{"P": "yes"}})
	f, err := b.Render(context.Background(), fleet.Revision{}, tree(fleetYAML+"spec: {substitute: {N: 1, V: old}}\n"+
		"-- clusters/a/.env --\nV=new\n-- clusters/a/kustomization.yaml --\nresources: [c.yaml]\n-- clusters/a/c.yaml --\n"+
		"apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: a}\nspec:\n  replicas: ${N}\n  version: ${V}\n  paused: ${P}\n  fixed: 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"clusters/a: Cluster default/a: spec.fixed: bad",
		"clusters/a: Cluster default/a: spec.paused: bad (${P} is set on the command line)",
		"clusters/a: Cluster default/a: spec.replicas: bad (count them; ${N} is set in fleet.yaml)",
		"clusters/a: Cluster default/a: spec.version: bad (${V} is set in clusters/a/.env)",
	}
	if diff := cmp.Diff(want, lines(f.Problems)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// A quoteFinder is a decoder that wants texts in two fields.
type quoteFinder struct{ fakeDecoder }

func (quoteFinder) Decode(overlay string, _ []render.Object, _ ...topology.Library) ([]fleet.Cluster, []fleet.Problem) {
	var out []fleet.Problem
	for _, field := range []string{"spec.list[0].copied", "spec.other", "spec.zone"} {
		out = append(out, fleet.Problem{Overlay: overlay, Object: "Cluster default/a", Field: field, Message: "bad", Hint: "a number: " + render.QuoteIt})
	}
	return nil, out
}

// The hint about missing quotes names what lacks them: the use of a variable or a replacement,
// not the value, which may have them.
func TestHintsOfQuotes(t *testing.T) {
	b := render.New(render.Options{Decoder: quoteFinder{}})
	f, err := b.Render(context.Background(), fleet.Revision{}, tree(fleetYAML+
		"-- clusters/a/.env --\nN=1\n-- clusters/a/kustomization.yaml --\nresources: [c.yaml]\nreplacements:\n"+
		"- source: {kind: Cluster, fieldPath: spec.text}\n  targets:\n  - {select: {kind: Cluster}, fieldPaths: [spec.list.0.copied]}\n"+
		"-- clusters/a/c.yaml --\napiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: a}\nspec:\n  text: \"04\"\n  zone: ${N}\n  list: [{copied: 1}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"clusters/a: Cluster default/a: spec.list[0].copied: bad (a number: replacements[0] in clusters/a/kustomization.yaml drops the quotes of spec.text: use a variable instead of the replacement)",
		"clusters/a: Cluster default/a: spec.other: bad (a number: put it in quotes)",
		"clusters/a: Cluster default/a: spec.zone: bad (a number: write \"${N}\" where it is used; ${N} is set in clusters/a/.env)",
	}
	if diff := cmp.Diff(want, lines(f.Problems)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// A JSON patch loses quotes; what was quoted stays a text all the same.
func TestRenderKeepsQuotes(t *testing.T) {
	archive := `
-- clusters/a/kustomization.yaml --
resources: [c.yaml]
patches:
- target: {kind: Cluster}
  patch: |
    - {op: add, path: /spec/added, value: "${N}"}
    - {op: add, path: /spec/items/-, value: "${N}"}
    - op: add
      path: /spec/number
      value: ${N}
- target: {kind: Cluster}
  patch: '[{"op": "add", "path": "/spec/json", "value": "${N}"}]'
-- clusters/a/.env --
N=1
-- clusters/a/c.yaml --
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: a}
spec:
  version: "${N}"
  replicas: ${N}
  items: ['${N}']
  nested:
  - value: '${N}'
  - value: b
    number: ${N}
`
	objects, problems, err := render.New(render.Options{}).Objects(context.Background(), tree(archive), "clusters/a")
	if err != nil || len(problems) > 0 {
		t.Fatalf("got problems %q, error %v", lines(problems), err)
	}
	want := `# clusters/a/c.yaml
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: a
spec:
  added: "1"
  items:
    - "1"
    - "1"
  json: 1
  nested:
    - value: "1"
    - number: 1
      value: b
  number: 1
  replicas: 1
  version: "1"
`
	if diff := cmp.Diff(want, asYAML(objects)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// Where values come from, weakest first: fleet.yaml, .env, ConfigMap, the caller.
func TestRenderValues(t *testing.T) {
	archive := fleetYAML + "spec: {substitute: {A: fleet, B: fleet, C: fleet, D: fleet, N: 3, L: [x, y]}}\n" + `
-- clusters/a/kustomization.yaml --
resources: [c.yaml]
-- clusters/a/.env --
# values of this cluster
export B="env"
C='env'
D=env
-- clusters/a/c.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: values
  annotations: {fairlead.dev/substitute: "true"}
data: {C: map, D: map}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: a}
spec:
  values: ["${A}", "${B}", "${C}", "${D}"]
  number: ${N}
  list: ${L}
`
	b := render.New(render.Options{Values: map[string]string{"D": "caller"}})
	objects, problems, err := b.Objects(context.Background(), tree(archive), "clusters/a")
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	want := `# clusters/a/c.yaml
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: a}
spec:
  values: ["fleet", "env", "map", "caller"]
  number: 3
  list: ["x", "y"]
`
	if diff := cmp.Diff(want, asYAML(objects)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// A decoder that warns of each overlay.
type warner struct{ fakeDecoder }

func (w warner) DecodeAndWarn(overlay string, objects []render.Object, libraries ...topology.Library) (clusters []fleet.Cluster, problems, warnings []fleet.Problem) {
	clusters, problems = w.Decode(overlay, objects, libraries...)
	return clusters, problems, []fleet.Problem{{Overlay: overlay, File: objects[0].File, Object: "Cluster team/a", Field: "spec.command", Message: "it does nothing"}}
}

// What a decoder warns of is told with its line, and holds nothing back.
func TestRenderTellsWarningsOfTheDecoder(t *testing.T) {
	b := render.New(render.Options{Decoder: warner{}})
	fleetOf := tree(fleetYAML + "-- clusters/a/kustomization.yaml --\nresources: [c.yaml]\n-- clusters/a/c.yaml --\n" + clusterYAML("team", "a") + "spec:\n  command: x\n")
	for range 2 { // built, and kept
		f, err := b.Render(context.Background(), fleet.Revision{}, fleetOf)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"clusters/a/c.yaml: Cluster team/a: spec.command: it does nothing"}
		if diff := cmp.Diff(want, lines(f.Warnings)); diff != "" || len(f.Clusters) != 1 || f.Warnings[0].Line == 0 {
			t.Errorf("%d clusters; warnings %v, -want +got:\n%s", len(f.Clusters), f.Warnings, diff)
		}
	}
}
