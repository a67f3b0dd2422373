package render_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/render"
	"fairlead.dev/render/topology"
)

// asYAML returns objects as they are printed.
func asYAML(objects []render.Object) string {
	var b strings.Builder
	for _, o := range objects {
		b.WriteString("# " + o.File + "\n" + string(o.YAML))
	}
	return b.String()
}

const fleetYAML = "-- fleet.yaml --\napiVersion: fairlead.dev/v1alpha1\nkind: Fleet\n"

// Which folders are overlays.
func TestRenderOverlays(t *testing.T) {
	cluster := func(dir, name string) string {
		return "-- " + dir + "/kustomization.yaml --\nresources: [c.yaml]\n-- " + dir + "/c.yaml --\n" + clusterYAML("team", name)
	}
	cases := map[string]struct {
		reason   string
		archive  string
		clusters []string
		problems []string
	}{
		"Default": {
			reason:   "every kustomization below clusters, at any depth and by any of its names, and no others",
			archive:  cluster("clusters/a", "a") + cluster("clusters/b/c/d", "d") + strings.ReplaceAll(cluster("clusters/e", "e"), "kustomization.yaml", "Kustomization") + cluster("other", "other") + cluster("clusters/.hidden", "hidden"),
			clusters: []string{"team/a", "team/d", "team/e"},
		},
		"None": {
			reason:  "a repository without clusters is an empty fleet",
			archive: "-- README.md --\nhello\n",
		},
		"IncludeExclude": {
			reason:   "patterns select folders; a kustomization file at the end stands for its folder",
			archive:  fleetYAML + "spec: {clusters: {include: ['prod/*', 'lab/**/kustomization.yaml'], exclude: ['**/old']}}\n" + cluster("prod/a", "a") + cluster("prod/a/b", "b") + cluster("prod/old", "old") + cluster("lab/x/w", "w") + cluster("clusters/z", "z"),
			clusters: []string{"team/a", "team/w"},
		},
		"Base": {
			reason:   "a folder that another overlay includes is a part of it",
			archive:  cluster("clusters/base", "base") + "-- clusters/prod/kustomization.yaml --\nresources: [../base]\nnamePrefix: p-\n",
			clusters: []string{"team/p-base"},
		},
		"BaseOfBroken": {
			reason:   "it stays a part while the other is broken",
			archive:  cluster("clusters/base", "base") + "-- clusters/prod/kustomization.yaml --\nresources: [../base]\npatches: [{path: missing.yaml}]\n",
			problems: []string{`clusters/prod/kustomization.yaml: patches[0].path: "missing.yaml" does not exist (check the path; it is relative to the kustomization)`},
		},
		"BaseOfNoYAML": {
			reason:   "what a file that is not YAML names may be a part of it: it is held back, and only that",
			archive:  cluster("clusters/base", "base") + cluster("clusters/other", "other") + "-- clusters/prod/kustomization.yaml --\n# as ../other\nresources: [\"../base\"\n",
			clusters: []string{"team/other"},
			problems: []string{
				"clusters/base/kustomization.yaml: it may be a part of clusters/prod, whose kustomization is refused (mend that one; keep what several clusters share outside of the folders of clusters)",
				"clusters/prod/kustomization.yaml: line 1: the file is not valid YAML: did not find expected ',' or ']'",
			},
		},
		"Component": {
			reason:   "a Component is never an overlay",
			archive:  cluster("clusters/a", "a") + "-- clusters/part/kustomization.yaml --\napiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamespace: x\n",
			clusters: []string{"team/a"},
		},
		"SameCluster": {
			reason:   "none of two that are the same cluster is applied",
			archive:  cluster("clusters/a", "a") + cluster("clusters/b", "a") + cluster("clusters/c", "c"),
			clusters: []string{"team/c"},
			problems: []string{
				"clusters/a/kustomization.yaml: Cluster team/a: the cluster is defined in clusters/b as well; none of them is applied (rename one, or give it another namespace)",
				"clusters/b/kustomization.yaml: Cluster team/a: the cluster is defined in clusters/a as well; none of them is applied (rename one, or give it another namespace)",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := newBuilder(render.Options{}).render(t, "sha1:1", tree(tc.archive))
			if diff := cmp.Diff(tc.clusters, keys(f)); diff != "" {
				t.Errorf("%s: clusters: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.problems, lines(f.Problems)); diff != "" {
				t.Errorf("%s: problems: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// A base does not become a cluster because the kustomization that includes it
// cannot be read any more.
func TestRenderBaseOfUnreadable(t *testing.T) {
	b := newBuilder(render.Options{})
	before := tree("-- clusters/base/kustomization.yaml --\nresources: [c.yaml]\n-- clusters/base/c.yaml --\n" + clusterYAML("team", "base") +
		"-- clusters/prod/kustomization.yaml --\nresources: [../base]\nnamePrefix: p-\n")
	b.render(t, "sha1:1", before)
	f := b.render(t, "sha1:2", before.with("-- clusters/prod/kustomization.yaml --\nresources: [\n"))
	if len(f.Clusters) != 0 || len(f.Problems) != 1 {
		t.Errorf("got clusters %q and problems %q, want no cluster and one problem", keys(f), lines(f.Problems))
	}
}

// A pattern of many ** takes no time, and matches what it says. Steps that were
// tried one after the other would not end before the sun does.
func TestRenderManyStars(t *testing.T) {
	deep := "clusters" + strings.Repeat("/d", 30)
	cluster := "-- " + deep + "/kustomization.yaml --\nresources: [c.yaml]\n-- " + deep + "/c.yaml --\n" + clusterYAML("team", "deep")
	for pattern, want := range map[string][]string{
		strings.Repeat("**/", 31) + "nothing":                    nil,
		strings.Repeat("**/d/", 15) + "nothing":                  nil,
		strings.Repeat("**/d/", 15) + "**":                       {"team/deep"},
		"clusters/**/" + strings.Repeat("*/", 29) + "d":          {"team/deep"},
		"clusters/**/" + strings.Repeat("*/", 29) + "e":          nil,
		"**/clusters/**/d/**/" + strings.Repeat("d/", 26) + "**": {"team/deep"},
	} {
		f := newBuilder(render.Options{}).render(t, "sha1:1", tree(fleetYAML+"spec: {clusters: {include: ['"+pattern+"']}}\n"+cluster))
		if diff := cmp.Diff(want, keys(f)); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", pattern, diff)
		}
	}
}

// Patterns have a number, as each folder is compared with each.
func TestRenderManyPatterns(t *testing.T) {
	_, err := render.New(render.Options{Decoder: fakeDecoder{}}).Render(t.Context(), fleet.Revision{},
		tree(fleetYAML+"spec: {clusters: {include: ["+strings.Repeat("a, ", 1000)+"b]}}\n"))
	if err == nil || !strings.Contains(err.Error(), "fleet.yaml: spec.clusters: there are 1001 patterns, more than 1000") {
		t.Errorf("got %v", err)
	}
}

// Nothing is looked for once nobody waits.
func TestRenderHonoursContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	reads := &countingTree{memTree: tree(twoClusters)}
	_, err := render.New(render.Options{Decoder: fakeDecoder{}}).Render(ctx, fleet.Revision{}, reads)
	if !errors.Is(err, context.Canceled) || reads.folders > 0 {
		t.Errorf("got %v after %d folders", err, reads.folders)
	}
}

// A countingTree counts the folders that are listed.
type countingTree struct {
	*memTree
	folders int
}

func (t *countingTree) ReadDir(name string) ([]fs.DirEntry, error) {
	t.folders++
	return t.memTree.ReadDir(name)
}

// Folders that others include are told of, with what they would be.
func TestRenderParts(t *testing.T) {
	f := newBuilder(render.Options{}).render(t, "sha1:1", tree(
		"-- clusters/prod/kustomization.yaml --\nresources: [c.yaml]\n-- clusters/prod/c.yaml --\n"+clusterYAML("team", "prod")+
			"-- clusters/dev/kustomization.yaml --\nresources: [../../bases/b]\nnameSuffix: -copy\n"+
			"-- bases/b/kustomization.yaml --\nresources: [../../clusters/prod]\n"))
	want := []fleet.Part{{
		Folder: "clusters/prod", File: "clusters/prod/kustomization.yaml", Clusters: []fleet.Key{{Namespace: "team", Name: "prod"}},
		By: []fleet.Includer{{Folder: "clusters/dev", File: "clusters/dev/kustomization.yaml"}},
	}}
	if diff := cmp.Diff(want, f.Parts); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	warnings := []string{
		"clusters/dev/kustomization.yaml: it includes clusters/prod, which would be Cluster team/prod by itself (keep what several clusters share in a folder that is no overlay; an agent refuses both where the cluster is live)",
		"clusters/prod/kustomization.yaml: Cluster team/prod: it is no cluster of its own, as its folder is included by clusters/dev (keep what several clusters share in a folder that is no overlay; an agent refuses both where the cluster is live)",
	}
	if diff := cmp.Diff(warnings, lines(f.Warnings)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// A change of $$ that nobody can have meant is a warning, and holds nothing back.
func TestRenderDoubledDollar(t *testing.T) {
	b := newBuilder(render.Options{})
	fleetOf := tree("-- clusters/a/kustomization.yaml --\nresources: [c.yaml]\n-- clusters/a/c.yaml --\n" + clusterYAML("team", "a") + "spec: {command: /tmp/x.$$}\n")
	for _, rev := range []string{"sha1:1", "sha1:2"} { // built, and kept
		f := b.render(t, rev, fleetOf)
		want := []string{"clusters/a/c.yaml: Cluster team/a: spec.command: $$ becomes $, and the object uses no variable (write $$$$ for two dollar signs, or annotate the object with fairlead.dev/substitute: disabled)"}
		if diff := cmp.Diff(want, lines(f.Warnings)); diff != "" || len(f.Clusters) != 1 || len(f.Problems) > 0 {
			t.Errorf("got clusters %q, problems %q; warnings -want, +got:\n%s", keys(f), lines(f.Problems), diff)
		}
	}
}

// A folder that a refused kustomization names is held back also where it comes
// after the kustomization was refused.
func TestRenderBaseAfterRefusal(t *testing.T) {
	b := newBuilder(render.Options{})
	before := tree("-- clusters/prod/kustomization.yaml --\nresources: [../base\n")
	b.render(t, "sha1:1", before)
	f := b.render(t, "sha1:2", before.with("-- clusters/base/kustomization.yaml --\nresources: [c.yaml]\n-- clusters/base/c.yaml --\n"+clusterYAML("team", "base")))
	if len(f.Clusters) != 0 {
		t.Errorf("got clusters %q and problems %q, want no cluster", keys(f), lines(f.Problems))
	}
}

// A cluster keeps revision and digest until its overlay changes.
func TestRenderKeepsRevision(t *testing.T) {
	b := newBuilder(render.Options{FleetID: "f"})
	before := tree(twoClusters)
	first := b.render(t, "sha1:1", before)
	second := b.render(t, "sha1:2", before.with("-- clusters/a/kustomization.yaml --\nnamespace: one\nnamePrefix: a-\nresources: [../../base]\ncommonAnnotations: {x: z}\n"))
	var got []string
	for _, c := range second.Clusters {
		got = append(got, c.Key.String()+" "+c.Revision.Digest+" "+string(c.Fleet)+" "+c.Overlay)
	}
	want := []string{"one/a-base sha1:2 f clusters/a", "three/own sha1:1 f clusters/c", "two/b-base sha1:1 f clusters/b"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if second.Revision.Digest != "sha1:2" || first.Clusters[0].Digest == second.Clusters[0].Digest || first.Clusters[1].Digest != second.Clusters[1].Digest {
		t.Error("want the fleet's revision to be the newest, and only the changed cluster's digest to change")
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

// What Objects takes.
func TestObjects(t *testing.T) {
	archive := tree(fleetYAML + "spec: {clusters: {exclude: [clusters/skip]}, substitute: {N: a}}\n" + `
-- clusters/a/kustomization.yaml --
resources: [m.yaml]
-- clusters/a/m.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: "${N}"}}
-- clusters/skip/kustomization.yaml --
resources: [../a]
-- other/m.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: "x${N}"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: "${UNSET}"}}
-- other/bad.yaml --
a: [
`)
	cases := map[string]struct {
		reason, path, want, problem, err string
	}{
		"Fleet":   {reason: "the root is the fleet", path: ".", want: "# clusters/a/m.yaml\n{apiVersion: v1, kind: ConfigMap, metadata: {name: \"a\"}}\n"},
		"Folder":  {reason: "a folder is what the fleet selects below it", path: "clusters/", want: "# clusters/a/m.yaml\n{apiVersion: v1, kind: ConfigMap, metadata: {name: \"a\"}}\n"},
		"Overlay": {reason: "a kustomization is itself, selected or not", path: "clusters/skip", want: "# clusters/a/m.yaml\n{apiVersion: v1, kind: ConfigMap, metadata: {name: \"a\"}}\n"},
		"File":    {reason: "a file is its documents", path: "other/m.yaml", want: "# other/m.yaml\n{apiVersion: v1, kind: ConfigMap, metadata: {name: \"xa\"}}\n# other/m.yaml\n{apiVersion: v1, kind: ConfigMap, metadata: {name: \"${UNSET}\"}}\n"},
		"Broken":  {reason: "a file that is no YAML has a problem", path: "other/bad.yaml", problem: "other/bad.yaml: line 1: the file is not valid YAML"},
		"Empty":   {reason: "a folder without overlays says so", path: "other", err: "cannot render other: there is no kustomization.yaml in it or below it"},
		"Missing": {reason: "as does a path that is not there", path: "none", err: "cannot render none: open none: file does not exist"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			objects, problems, err := render.New(render.Options{AllowUnset: true}).Objects(context.Background(), archive, tc.path)
			if got := ""; err != nil || tc.err != "" {
				if err != nil {
					got = err.Error()
				}
				if got != tc.err || fleet.KindOf(err) != fleet.NotFound {
					t.Errorf("%s: error %q of kind %s, want %q", tc.reason, got, fleet.KindOf(err), tc.err)
				}
				return
			}
			if diff := cmp.Diff(tc.want, asYAML(objects)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if got := strings.Join(lines(problems), "\n"); !strings.HasPrefix(got, tc.problem) || tc.problem == "" && got != "" {
				t.Errorf("%s: problems %q, want %q", tc.reason, got, tc.problem)
			}
		})
	}
}

// What fleet.yaml may say, and how it is refused.
func TestRenderConfig(t *testing.T) {
	good := fleet.Config{StatusBranch: "fairlead/status", Prune: fleet.Prune{Limit: 1}}
	cases := map[string]struct {
		reason string
		file   string // none: no file
		id     fleet.ID
		want   fleet.Config
		errs   []string
	}{
		"None":    {reason: "a fleet needs no fleet.yaml", id: "from-url", want: good},
		"Minimal": {reason: "everything has a default", file: "apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\n", id: "from-url", want: good},
		"Full": {
			reason: "everything may be said",
			file:   "apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nmetadata: {name: edge}\nspec:\n  prune: {enabled: true, limit: 5}\n  status: {branch: state/of-edge, history: {commits: 10000, days: 30}}\n",
			id:     "edge", want: fleet.Config{StatusBranch: "state/of-edge", StatusHistory: fleet.HistoryBound{Commits: 10000, Age: 720 * time.Hour}, Prune: fleet.Prune{Enabled: true, Limit: 5}},
		},
		"LimitZero":  {reason: "a limit of none is one", file: "apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nspec: {prune: {enabled: true, limit: 0}}\n", id: "from-url", want: fleet.Config{StatusBranch: "fairlead/status", Prune: fleet.Prune{Enabled: true}}},
		"Kind":       {reason: "it must be a Fleet", file: "apiVersion: v1\nkind: ConfigMap\n", errs: []string{`apiVersion: "v1" is not known`, `kind: "ConfigMap" is not known`}},
		"Unknown":    {reason: "unknown fields are named", file: "apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nspec: {cluster: {}, prune: {on: true}}\n", errs: []string{"spec.cluster: this field does not exist", "spec.prune.on: this field does not exist"}},
		"Case":       {reason: "fields are what they are called", file: "apiVersion: fairlead.dev/v1alpha1\nKind: Fleet\n", errs: []string{"Kind: this field does not exist"}},
		"Type":       {reason: "types are checked", file: "apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nspec: {prune: {limit: many}}\n", errs: []string{"spec.prune.limit: it is a string and should be a int"}},
		"History":    {reason: "a history has bounds", file: "apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nspec: {status: {history: {commits: 99, days: 0}}}\n", errs: []string{"spec.status.history.commits: 99 is not from 100", "spec.status.history.days: 0 is not from 1"}},
		"NoHistory":  {reason: "and says one", file: "apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nspec: {status: {history: {}}}\n", errs: []string{"spec.status.history: it says no bound"}},
		"Values":     {reason: "everything that is wrong is told", file: "apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nmetadata: {name: A_b}\nspec: {substitute: {a-b: x}, prune: {limit: -1}, status: {branch: 'a b'}, clusters: {include: [../x]}}\n", errs: []string{"metadata.name: a lowercase RFC 1123 label", "spec.clusters: the pattern \"../x\" is not within", "spec.prune.limit: -1 is negative", "spec.status.branch: \"a b\" cannot be", "spec.substitute: \"a-b\" cannot be"}},
		"Fraction":   {reason: "1.30 would become 1.3", file: "apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nspec: {substitute: {V: 1.30}}\n", errs: []string{"1.30 is not a whole number; quote it"}},
		"Bomb":       {reason: "it is hostile as any file", file: aliasBomb(), errs: []string{"with aliases expanded"}},
		"TwoObjects": {reason: "it is one object", file: "a: b\n---\na: b\n", errs: []string{"the file must hold one document"}},
		"BadYAML":    {reason: "it is YAML", file: "a: [\n", errs: []string{"line 1: the file is not valid YAML"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			archive := tree(twoClusters)
			if tc.file != "" {
				archive = archive.with("-- fleet.yaml --\n" + tc.file)
			}
			f, err := newBuilder(render.Options{FleetID: "from-url"}).Render(context.Background(), fleet.Revision{Digest: "sha1:1"}, archive)
			if tc.errs == nil {
				if err != nil {
					t.Fatalf("%s: %v", tc.reason, err)
				}
				if diff := cmp.Diff(tc.want, f.Config); diff != "" || f.ID != tc.id {
					t.Errorf("%s: id %q, want %q; -want, +got:\n%s", tc.reason, f.ID, tc.id, diff)
				}
				return
			}
			e, ok := errors.AsType[*render.ConfigError](err)
			if !ok || fleet.KindOf(err) != fleet.Invalid {
				t.Fatalf("%s: got %v, want a ConfigError of kind Invalid", tc.reason, err)
			}
			got := lines(e.Problems)
			if len(got) != len(tc.errs) {
				t.Fatalf("%s: got problems %q, want %q", tc.reason, got, tc.errs)
			}
			for i, want := range tc.errs {
				if !strings.HasPrefix(got[i], "fleet.yaml: ") || !strings.Contains(got[i], want) || e.Problems[i].Hint == "" {
					t.Errorf("%s: got %q, want %q with a hint", tc.reason, got[i], want)
				}
			}
		})
	}
}

// The example in the documentation is what it says it is.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile("../docs/fleet-yaml.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "```yaml\n")
	example, _, ok := strings.Cut(after, "```")
	if !ok {
		t.Fatal("docs/fleet-yaml.md has no example")
	}
	archive := tree("-- fleet.yaml --\n" + example + "-- clusters/prod/eu-1/kustomization.yaml --\nresources: [c.yaml]\n-- clusters/prod/eu-1/c.yaml --\n" +
		clusterYAML("prod", "eu-1") + "spec: {version: \"${KUBERNETES_VERSION}\", pods: \"${POD_CIDRS}\"}\n" + "-- clusters/sandbox/a/kustomization.yaml --\nresources: [none]\n" +
		"-- clusters/ops/home/kustomization.yaml --\nresources: [c.yaml]\n-- clusters/ops/home/c.yaml --\n" + clusterYAML("ops", "home"))
	f := newBuilder(render.Options{}).render(t, "sha1:1", archive)
	want := fleet.Config{StatusBranch: "fairlead/status", StatusHistory: fleet.HistoryBound{Commits: 10_000, Age: 720 * time.Hour}, Drift: fleet.DriftCorrect, Prune: fleet.Prune{Enabled: true, Limit: 2}, Escrow: fleet.Escrow{
		Recipients: []string{"age1psq6mpu3n2pcmht3nhdt9n3gd5s9pulgwzcgrjjpdr6ue5caggpq5dhs8y"}, Branch: "fairlead/escrow",
	}, Home: fleet.Home{
		Cluster: fleet.Key{Namespace: "ops", Name: "home"}, Image: "registry.example.com/fairlead:v1.0.0", Namespace: "fairlead-system", Release: "fairlead",
	}}
	if diff := cmp.Diff(want, f.Config); diff != "" || f.ID != "edge" {
		t.Errorf("id %q; -want, +got:\n%s", f.ID, diff)
	}
	if diff := cmp.Diff([]string{"ops/home", "prod/eu-1"}, keys(f)); diff != "" || len(f.Problems) > 0 {
		t.Errorf("-want, +got:\n%s\nproblems: %q", diff, lines(f.Problems))
	}
}

// A Render that is called off leaves nothing half done.
func TestRenderCancelled(t *testing.T) {
	b := newBuilder(render.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := b.Render(ctx, fleet.Revision{Digest: "sha1:1"}, tree(twoClusters)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if f := b.render(t, "sha1:1", tree(twoClusters)); len(f.Clusters) != 3 || b.stats.Built != 3 {
		t.Errorf("then rendered %q with %d builds, want all three", keys(f), b.stats.Built)
	}
}
