package git_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
)

func at(commit string) fleet.Revision { return fleet.Revision{Ref: "x", Digest: "sha1:" + commit} }

// checkout moves the work tree to commit.
func (p *place) checkout(commit string) {
	p.t.Helper()
	p.run("", "git", "-C", p.work, "checkout", "--quiet", "--detach", commit)
}

func merged(t *testing.T, m *git.Merges, base, head string) sources.Merged {
	t.Helper()
	out, err := m.Merge(t.Context(), at(base), at(head))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func content(t *testing.T, tree fs.FS) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(tree, name)
		out[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestMerge(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	first := p.push("main", map[string]string{"a": "1\n", "d/x": "1\n", "d/y": "1\n", "gone": "1\n"})
	head := p.push("feature", map[string]string{"d/x": "2\n", "new/file": "1\n", "gone": ""})
	p.checkout(first)
	base := p.push("main", map[string]string{"d/y": "2\n", "a": "2\n"})
	p.checkout(first)
	other := p.push("other", map[string]string{"a": "3\n", "d/y": "3\n"})
	p.checkout(head)
	p.run("", "git", "-C", p.work, "merge", "--quiet", "-m", "update", base)
	updated := p.push("updated", map[string]string{"new/more": "1\n"})
	p.checkout(base)
	next := p.push("main", map[string]string{"z": "1\n"})

	m := open(t, git.Options{URL: p.url, Ref: "main"}).Merges()
	out := merged(t, m, base, head)
	want := map[string]string{"a": "2\n", "d/x": "2\n", "d/y": "2\n", "new/file": "1\n"}
	if d := cmp.Diff(want, content(t, out.Tree)); d != "" || out.Since != first {
		t.Errorf("since %s: %s", out.Since, d)
	}
	if out = merged(t, m, base, other); out.Tree != nil || !slices.Equal(out.Conflicts, []string{"a", "d/y"}) {
		t.Errorf("both changed a and d/y: %+v", out)
	}
	if out = merged(t, m, next, first); !out.Contained || out.Digest == "" {
		t.Errorf("the base has the head: %+v", out)
	}
	want["new/more"], want["z"] = "1\n", "1\n"
	if out = merged(t, m, next, updated); out.Since != base || cmp.Diff(want, content(t, out.Tree)) != "" {
		t.Errorf("the branch had the base merged into it: since %s, want %s: %v", out.Since, base, content(t, out.Tree))
	}
	p.run("", "git", "-C", p.work, "checkout", "--quiet", "--orphan", "unrelated")
	alone := p.push("unrelated", map[string]string{"a": "9\n"})
	_, err := m.Merge(t.Context(), at(next), at(alone))
	wantKind(t, err, fleet.Invalid, "they have no common history")
}

// The root of the merge is the folder that is followed, and changes elsewhere are merged too.
func TestMergeInFolder(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	first := p.push("main", map[string]string{"fleet/a": "1\n", "else/b": "1\n"})
	head := p.push("feature", map[string]string{"fleet/c": "1\n"})
	p.checkout(first)
	base := p.push("main", map[string]string{"fleet/a": "2\n"})
	out := merged(t, open(t, git.Options{URL: p.url, Ref: "main", Path: "fleet"}).Merges(), base, head)
	if d := cmp.Diff(map[string]string{"a": "2\n", "c": "1\n"}, content(t, out.Tree)); d != "" {
		t.Error(d)
	}
}

// A merge that works is the one that git makes, in any history; what git merges line by line
// may be a conflict here, and never the other way around.
func TestMergeAsGit(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	random := rand.New(rand.NewPCG(1, 2))
	commits := []string{p.push("main", map[string]string{"keep": "1\n", "d/0": "0\n", "d/1": "0\n", "e/f/2": "0\n"})}
	for i := range 8 {
		p.checkout(commits[random.IntN(len(commits))])
		files := map[string]string{}
		for range 1 + random.IntN(2) {
			files[[]string{"d/0", "d/1", "e/f/2", "e/g/3", "h"}[random.IntN(5)]] = fmt.Sprintf("%d\n", random.IntN(4))
		}
		if i%4 == 3 {
			if exec.Command("git", "-C", p.work, "-c", "user.name=a", "-c", "user.email=a@b", "merge", "--quiet", "-m", "m", commits[random.IntN(len(commits))]).Run() != nil {
				p.run("", "git", "-C", p.work, "reset", "--quiet", "--hard")
			}
		}
		commits = append(commits, p.push(fmt.Sprint("b", i), files))
	}
	m := open(t, git.Options{URL: p.url, Ref: "main"}).Merges()
	clean, conflicts, refused := 0, 0, 0
	for range 24 {
		base, head := commits[random.IntN(len(commits))], commits[random.IntN(len(commits))]
		theirs, failed := exec.Command("git", "-C", p.bare, "merge-tree", "--write-tree", base, head).Output()
		out, err := m.Merge(t.Context(), at(base), at(head))
		switch {
		case err != nil:
			wantKind(t, err, fleet.Invalid, "neither continues the other")
			refused++
		case len(out.Conflicts) > 0:
			conflicts++
		case failed != nil:
			t.Errorf("git finds a conflict of %s and %s, and this none", base, head)
		default:
			clean++
			if want := strings.TrimSpace(string(theirs)); out.Digest != "sha1:"+want {
				t.Errorf("%s onto %s is %s, and git says %s", head, base, out.Digest, want)
			}
		}
	}
	t.Logf("%d merges, %d conflicts, %d refused", clean, conflicts, refused)
	if clean < 10 {
		t.Error("too few merges to tell")
	}
}

// TestHeavyHead: a head that is too large, by the files that it has, their content or its history, is refused for
// what it is, and not fetched again with each commit of the base. Others are merged meanwhile. A server that leaves out
// files gives the history alone first.
func TestHeavyHead(t *testing.T) {
	for _, filters := range []string{"true", "false"} {
		t.Run(filters, func(t *testing.T) { heavyHead(t, filters) })
	}
}

func heavyHead(t *testing.T, filters string) {
	t.Helper()
	var fetches atomic.Int64
	p := newPlace(t, gitserver.Options{Before: func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/git-upload-pack") {
			fetches.Add(1)
		}
		return false
	}})
	p.git("config", "uploadpack.allowFilter", filters)
	first := p.push("main", map[string]string{"a": "1\n"})
	small := p.push("small", map[string]string{"b": "1\n"})
	p.checkout(first)
	many := map[string]string{}
	for i := range 30 {
		many[fmt.Sprintf("d%d/f", i)] = fmt.Sprint(i)
	}
	heads := map[string]string{"files": p.push("many", many)}
	p.checkout(first)
	random, noise := rand.New(rand.NewPCG(1, 1)), make([]byte, 1<<20)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	heads["content"] = p.push("large", map[string]string{"noise": string(noise)})
	p.checkout(first)
	for i := range 25 {
		p.run("", "git", "-C", p.work, "commit", "--quiet", "--allow-empty", "--message", fmt.Sprint(i))
	}
	heads["history"] = p.push("long", map[string]string{"c": "1\n"})
	p.checkout(first)
	next := p.push("main", map[string]string{"a": "2\n"})

	m := open(t, git.Options{URL: p.url, Ref: "main", Budget: git.Budget{Objects: 20, Received: 256 << 10}}).Merges()
	_, err := m.Merge(t.Context(), at(heads["files"]), at(small)) // a base says nothing of the head
	wantKind(t, err, fleet.Invalid, "more than")
	for why, head := range heads {
		_, err := m.Merge(t.Context(), at(first), at(head))
		wantKind(t, err, fleet.Invalid, "more than")
		merged(t, m, next, small)
		before := fetches.Load()
		_, again := m.Merge(t.Context(), at(next), at(head))
		wantKind(t, again, fleet.Invalid, "more than")
		if n := fetches.Load() - before; n > 0 {
			t.Errorf("%s: fetched again, with %d requests", why, n)
		}
	}
}
