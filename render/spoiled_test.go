package render_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/render"
	"fairlead.dev/sources"
)

// A badTree keeps something back.
type badTree struct {
	*memTree
	bad map[string][]sources.BadEntry // by folder
}

// Bad implements sources.Judged.
func (t badTree) Bad(dir string) []sources.BadEntry { return t.bad[dir] }

// Safety: an entry that a tree keeps back is a problem of the overlays that read its
// folder, also of those built before, and of no others.
func TestRenderSpoiled(t *testing.T) {
	files := tree("-- clusters/a/kustomization.yaml --\n" + kustomization("../../base", "c.yaml") +
		"-- clusters/a/c.yaml --\n" + clusterYAML("x", "a") +
		"-- clusters/b/kustomization.yaml --\n" + kustomization("c.yaml") +
		"-- clusters/b/c.yaml --\n" + clusterYAML("x", "b") +
		"-- clusters/c/kustomization.yaml --\n" + kustomization("c.yaml") +
		"-- clusters/c/c.yaml --\n" + clusterYAML("x", "b") +
		"-- base/kustomization.yaml --\n" + kustomization("m.yaml") +
		"-- base/m.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n")
	delete(files.MapFS, "clusters/c/kustomization.yaml")
	entry := func(folder, name string, dir bool) map[string][]sources.BadEntry {
		return map[string][]sources.BadEntry{folder: {{Folder: folder, Name: name, Dir: dir, Err: errors.New("it is bad")}}}
	}
	takeover := files.with("-- clusters/c/kustomization.yaml --\n" + kustomization("c.yaml"))
	const hint = "rename or remove it, or keep it elsewhere in the repository"
	for name, c := range map[string]struct {
		reason   string
		tree     *memTree
		bad      map[string][]sources.BadEntry
		clusters []string
		problems []string
	}{
		"Elsewhere": {"nobody looks there", files, entry("docs", "x", true), []string{"x/a", "x/b"}, nil},
		"Above":     {"a file beside overlays is in none of them", files, entry("clusters", "x", false), []string{"x/a", "x/b"}, nil},
		"Overlay": {"its own folder", files, entry("clusters/b", "\xff", false), []string{"x/a"}, []string{
			`clusters/b: "\xff" cannot be in a fleet: it is bad (` + hint + ")",
		}},
		"Base": {"a folder that an overlay includes", files, entry("base", "x", false), []string{"x/b"}, []string{
			`base: "x" cannot be in a fleet: it is bad (` + hint + "; the overlay includes base)",
		}},
		"Folder": {"who knows what is in it", files, entry("clusters", "x\n", true), []string{"x/a", "x/b"}, []string{
			`clusters: cannot read the folder "x\n": it is bad (rename or remove it; until then no cluster counts as gone)`,
		}},
		"Takeover": {"nobody takes over what is held up", takeover, entry("clusters/b", "x", false), []string{"x/a"}, []string{
			`clusters/b: "x" cannot be in a fleet: it is bad (` + hint + ")",
			"clusters/c/kustomization.yaml: Cluster x/b: the cluster is defined in clusters/b as well; no definition of it is applied (rename one, or give it another namespace)",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBuilder(render.Options{})
			look := func(tr sources.Tree) fleet.Fleet {
				f, err := b.Render(t.Context(), fleet.Revision{Ref: "main", Digest: "1"}, tr)
				if err != nil {
					t.Fatal(err)
				}
				return f
			}
			before := keys(look(c.tree))
			f := look(badTree{c.tree.with("-- clusters/x --\nit changed\n"), c.bad})
			if diff := cmp.Diff(c.clusters, keys(f)); diff != "" {
				t.Error(c.reason, diff)
			}
			if diff := cmp.Diff(c.problems, lines(f.Problems)); diff != "" {
				t.Error(c.reason, diff)
			}
			if diff := cmp.Diff(before, keys(look(c.tree))); diff != "" {
				t.Error("mended:", diff)
			}
		})
	}
}

// Safety: the classes of a spoiled folder make nothing, and no other folder can replace
// them.
func TestSpoiledLibrary(t *testing.T) {
	files := tree(classFiles("clusters/lib") +
		"-- clusters/a/kustomization.yaml --\n" + kustomization("c.yaml") + "-- clusters/a/c.yaml --\n" + classCluster("a") +
		"-- fleet.yaml --\napiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nmetadata: {name: f}\n")
	own := "-- clusters/b/kustomization.yaml --\nresources: [c.yaml, class.yaml, templates.yaml]\n-- clusters/b/c.yaml --\n" + classCluster("b") + strings.ReplaceAll(classFiles("clusters/b"), "clusters/b/kustomization.yaml", "clusters/b/unused.yaml")
	files = files.with(own)
	b := classBuilder()
	look := func(tr sources.Tree) fleet.Fleet {
		t.Helper()
		f, err := b.Render(t.Context(), fleet.Revision{Ref: "main", Digest: "1"}, tr)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	whole := []string{"default/a", "default/b"}
	if diff := cmp.Diff(whole, keys(look(files))); diff != "" {
		t.Fatal(diff)
	}
	bad := map[string][]sources.BadEntry{"clusters/lib": {{Folder: "clusters/lib", Name: "caf\xe9", Err: errors.New("it is bad")}}}
	const told = `clusters/lib: "caf\xe9" cannot be in a fleet: it is bad (rename or remove it, or keep it elsewhere in the repository)`
	for name, tr := range map[string]*memTree{"": files.with("-- clusters/x --\nit changed\n"), "taken over": files.with(classFiles("clusters/other"))} {
		f := look(badTree{tr, bad})
		if diff := cmp.Diff([]string{"default/b"}, keys(f)); diff != "" {
			t.Error(name, diff)
		}
		problems := lines(f.Problems)
		if len(problems) != 2 || !strings.HasPrefix(problems[0], "clusters/a/c.yaml: Cluster default/a: spec.topology") || problems[1] != told {
			t.Errorf("%s: %q", name, problems)
		}
		if diff := cmp.Diff(whole, keys(look(files))); diff != "" {
			t.Error("mended:", diff)
		}
	}
}

// Safety: a folder with too many entries is one problem. It is read once, however often it
// occurs, and does not affect others.
func TestRenderTooMany(t *testing.T) {
	files := tree("-- clusters/a/kustomization.yaml --\n" + kustomization("c.yaml") + "-- clusters/a/c.yaml --\n" + clusterYAML("x", "a"))
	for i := range 11 {
		for j := range 10_000 {
			files.MapFS[fmt.Sprintf("clusters/b/many/%d/%d", i, j)] = &fstest.MapFile{}
		}
	}
	f := newBuilder(render.Options{}).render(t, "1", files)
	if diff := cmp.Diff([]string{"x/a"}, keys(f)); diff != "" {
		t.Error(diff)
	}
	want := []string{`clusters/b: cannot read the folder "many": it has more than 100000 files and folders (rename or remove it; until then no cluster counts as gone)`}
	if diff := cmp.Diff(want, lines(f.Problems)); diff != "" {
		t.Error(diff)
	}
}

// TestRenderSpoiledKustomization: an overlay whose kustomization is kept back stays an
// overlay, with a problem.
func TestRenderSpoiledKustomization(t *testing.T) {
	files := tree("-- clusters/a/c.yaml --\n" + clusterYAML("x", "a") + "-- clusters/b/kustomization.yaml --\n" + kustomization("c.yaml") + "-- clusters/b/c.yaml --\n" + clusterYAML("x", "b"))
	bad := map[string][]sources.BadEntry{"clusters/a": {{Folder: "clusters/a", Name: "kustomization.yaml", Err: errors.New("there are 2 entries of this name")}}}
	f, err := newBuilder(render.Options{}).Render(t.Context(), fleet.Revision{Ref: "main", Digest: "1"}, badTree{files, bad})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"x/b"}, keys(f)); diff != "" {
		t.Error(diff)
	}
	want := []string{"clusters/a: the folder clusters/a has no kustomization.yaml (add one, or name a file)", `clusters/a: "kustomization.yaml" cannot be in a fleet: there are 2 entries of this name (rename or remove it, or keep it elsewhere in the repository)`}
	if diff := cmp.Diff(want, lines(f.Problems)); diff != "" {
		t.Error(diff)
	}
}
