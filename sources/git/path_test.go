package git_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
	"fairlead.dev/sources/tree"
)

// scrap returns n bytes that cannot be compressed.
func scrap(n int) string {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return string(b)
}

// Safety: of a fleet in a folder of a large repository only that folder is fetched, where
// the server can leave out the rest, and only that folder counts for budgets.
func TestPath(t *testing.T) {
	for name, config := range map[string][][2]string{
		"any file":  {{"uploadpack.allowFilter", "true"}, {"uploadpack.allowAnySHA1InWant", "true"}},
		"filter":    {{"uploadpack.allowFilter", "true"}},
		"no filter": nil,
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, gitserver.Options{})
			for _, kv := range config {
				p.git("config", kv[0], kv[1])
			}
			files := map[string]string{"teams/a/fleet.yaml": "a\n", "teams/a/clusters/x/c.yaml": "1\n", "teams/b/fleet.yaml": "b\n"}
			for i := range 30 {
				files[fmt.Sprintf("elsewhere/%d", i)] = scrap(100_000 + i)
			}
			p.push("main", files)
			budget := git.Budget{Tree: tree.Budget{Bytes: 50_000, FileBytes: 1 << 20}, Received: 1 << 20}
			if config == nil {
				budget = git.Budget{}
			}
			r := open(t, git.Options{URL: p.url, Path: "teams/a", Budget: budget})
			if got := read(t, r, "fleet.yaml"); got != "a\n" {
				t.Errorf("fleet.yaml is %q", got)
			}
			if got := read(t, r, "clusters/x/c.yaml"); got != "1\n" {
				t.Errorf("c.yaml is %q", got)
			}
			p.push("main", map[string]string{"teams/a/clusters/x/c.yaml": "2\n", "elsewhere/0": scrap(99_999)})
			if got := read(t, r, "clusters/x/c.yaml"); got != "2\n" {
				t.Errorf("after a push c.yaml is %q", got)
			}
			rev, err := r.Resolve(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			tr, err := r.Fetch(t.Context(), rev)
			if err != nil {
				t.Fatal(err)
			}
			if list, err := fs.ReadDir(tr, "."); err != nil || len(list) != 2 {
				t.Errorf("the root has %v, %v", list, err)
			}
			if config != nil && r.Held() > 50_000 {
				t.Errorf("%d bytes are held", r.Held())
			}
		})
	}
}

func TestPathThatIsNotThere(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	p.push("main", map[string]string{"teams/a/fleet.yaml": "a\n", "file": "f\n"})
	for _, path := range []string{"teams/b", "file", "teams/a/fleet.yaml"} {
		r := open(t, git.Options{URL: p.url, Path: path})
		rev, err := r.Resolve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Fetch(t.Context(), rev)
		wantKind(t, err, fleet.Invalid, "there is no folder \""+path+"\" in the repository, which --path names")
	}
	for _, path := range []string{"/a", "a/", "../a", "a//b"} {
		_, err := git.New(git.Options{URL: p.url, Path: path})
		wantKind(t, err, fleet.Invalid, "must be a folder relative to the root of the repository")
	}
}

// TestRoot looks for the fleet upwards from a folder.
func TestRoot(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	p.push("main", map[string]string{"teams/a/fleet.yaml": "a\n", "teams/a/clusters/x/c.yaml": "1\n", "clusters/y/c.yaml": "2\n", "docs/a.md": "\n"})
	for path, want := range map[string]string{
		"teams/a": "teams/a", "teams/a/clusters/x": "teams/a", "teams/a/typo": "teams/a", "teams": ".", "clusters/y": ".", "docs": ".", "typo": ".",
	} {
		r := open(t, git.Options{URL: p.url, Path: path})
		rev, err := r.Resolve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		root, err := r.Root(t.Context(), rev, []string{"fleet.yaml", "clusters"})
		if err != nil || root != want {
			t.Errorf("from %s the fleet is in %q, %v", path, root, err)
		}
		tr, err := r.Fetch(t.Context(), rev)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := fs.ReadFile(tr, "clusters/"+map[string]string{".": "y", "teams/a": "x"}[want]+"/c.yaml"); err != nil || strings.TrimSpace(string(b)) == "" {
			t.Errorf("from %s: %q, %v", path, b, err)
		}
	}
}
