package render_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/render"
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
				"clusters/base/kustomization.yaml: it may be a part of clusters/prod, whose kustomization is refused (fix that one; keep what several clusters share outside of the folders of clusters)",
				"clusters/prod/kustomization.yaml: the file is not valid YAML: did not find expected ',' or ']'",
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
				"clusters/a/kustomization.yaml: Cluster team/a: the cluster is defined in clusters/b as well; no definition of it is applied (rename one, or give it another namespace)",
				"clusters/b/kustomization.yaml: Cluster team/a: the cluster is defined in clusters/a as well; no definition of it is applied (rename one, or give it another namespace)",
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
	if err == nil || !strings.Contains(err.Error(), "fleet.yaml:3: spec.clusters: there are 1001 patterns, more than 1000") {
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
		"Broken":  {reason: "a file that is no YAML has a problem", path: "other/bad.yaml", problem: "other/bad.yaml: the file is not valid YAML"},
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
