package git_test

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
	"fairlead.dev/sources/tree"
	"fairlead.dev/test/run/short"
)

// blob writes a blob into the bare repository, without checks.
func (p *place) blob(content string) string {
	return p.run(content, "git", "-C", p.bare, "hash-object", "-w", "--stdin")
}

// tree writes a tree of "mode name hash" entries, without checks.
func (p *place) tree(entries ...[3]string) string {
	p.t.Helper()
	var raw strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&raw, "%s %s\x00", e[0], e[1])
		for i := 0; i < 40; i += 2 {
			var b byte
			if _, err := fmt.Sscanf(e[2][i:i+2], "%02x", &b); err != nil {
				p.t.Fatal(err)
			}
			raw.WriteByte(b)
		}
	}
	return p.run(raw.String(), "git", "-C", p.bare, "hash-object", "-t", "tree", "--literally", "-w", "--stdin")
}

// land commits a tree to main.
func (p *place) land(tree string) {
	p.git("update-ref", "refs/heads/main", p.git("-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", "-m", "hostile", tree))
}

// A hostileRow is a tree that somebody wrote by hand, and what is said of it.
type hostileRow struct {
	tree   func(p *place) string
	budget tree.Budget
	read   string // file that cannot be read; "": the whole revision is refused
	bad    bool   // the root folder keeps entries back, and nothing else is refused
	words  string
}

func hostileRows() map[string]hostileRow {
	const none = "0123456789abcdef0123456789abcdef01234567"
	return map[string]hostileRow{
		"tree bomb": {tree: func(p *place) string {
			h := p.tree([3]string{"100644", "f", p.blob("x")})
			for range 10 {
				var es [][3]string
				for i := range 10 {
					es = append(es, [3]string{"40000", fmt.Sprintf("d%d", i), h})
				}
				h = p.tree(es...)
			}
			return h
		}, read: "d0/d0/d0/d0/d0/d0/d0/d0/d0/d0/g", words: "does not exist"},
		"zlib bomb": {tree: func(p *place) string {
			return p.tree([3]string{"100644", "f", p.blob(strings.Repeat("\x00", 15<<20))}, [3]string{"100644", "g", p.blob(strings.Repeat("\x01", 15<<20))})
		}, budget: tree.Budget{Bytes: 8 << 20}, words: "unfolds to more than 12582912 bytes"},
		"bomb of large files": {tree: func(p *place) string {
			return p.tree([3]string{"100644", "f", p.blob(strings.Repeat("\x00", 40<<20))}, [3]string{"100644", "g", p.blob(strings.Repeat("\x01", 40<<20))})
		}, budget: tree.Budget{Bytes: 8 << 20}, words: "files of more than 50331648 bytes together that are too large to be read"},
		"big file": {tree: func(p *place) string {
			return p.tree([3]string{"100644", "big.bin", p.blob(strings.Repeat("ab", 1000))})
		}, budget: tree.Budget{FileBytes: 1000}, read: "big.bin", bad: true, words: `it has 2000 bytes, more than 1000`},
		"huge folder": {tree: func(p *place) string {
			h := p.blob("x")
			return p.tree(slices.Repeat([][3]string{{"100644", "f", h}}, 20_000)...)
		}, budget: tree.Budget{Files: 1000}, read: "f", words: "more than 1000 entries"},
		"huge name": {tree: func(p *place) string {
			return p.tree([3]string{"100644", strings.Repeat("f", 1<<20), p.blob("x")})
		}, read: "f", words: "a name of more than 4096 bytes"},
		"deep": {tree: func(p *place) string {
			h := p.tree([3]string{"100644", "f", p.blob("x")})
			for range 40 {
				h = p.tree([3]string{"40000", "d", h})
			}
			return h
		}, read: strings.Repeat("d/", 40) + "f", words: "32 folders deep"},
		".git":      {tree: entryNamed(".git"), bad: true, words: `the name stands for a Git directory`},
		".GIT":      {tree: entryNamed(".GIT"), bad: true, words: `the name stands for a Git directory`},
		"git~1":     {tree: entryNamed("git~1"), bad: true, words: "Git directory"},
		"dots":      {tree: entryNamed(".."), bad: true, words: "way out of the folder"},
		"backslash": {tree: entryNamed(`..\x`), bad: true, words: "path separator"},
		"slash":     {tree: entryNamed("a/b"), bad: true, words: "path separator"},
		"two of one name": {tree: func(p *place) string {
			return p.tree([3]string{"100644", "a", p.blob("1")}, [3]string{"100644", "a", p.blob("2")})
		}, bad: true, words: "there are 2 entries of this name"},
		"NUL": {tree: func(p *place) string {
			return p.run("100644 a\x00b\x00"+strings.Repeat("x", 20), "git", "-C", p.bare, "hash-object", "-t", "tree", "--literally", "-w", "--stdin")
		}, words: ""},
		"submodule": {tree: func(p *place) string {
			return p.tree([3]string{"160000", "sub", none})
		}, read: "sub", words: "submodule"},
		"link out":    {tree: linkTo("../../etc/passwd"), read: "l", words: `symbolic link "l" points out`},
		"link abs":    {tree: linkTo("/etc/passwd"), read: "l", words: `symbolic link "l" points to "/etc/passwd"`},
		"link itself": {tree: linkTo("l"), read: "l", words: `symbolic link "l" leads in a circle`},
	}
}

func TestHostileContent(t *testing.T) {
	rows := hostileRows()
	for _, name := range short.Of(t, 10, slices.Sorted(maps.Keys(rows))) {
		c := rows[name]
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, gitserver.Options{})
			p.git("config", "uploadpack.allowFilter", "true")
			p.land(c.tree(p))
			r := open(t, git.Options{URL: p.url, Budget: git.Budget{Tree: c.budget}})
			rev, err := r.Resolve(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			tr, err := r.Fetch(t.Context(), rev)
			runtime.ReadMemStats(&after)
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 32 {
				t.Errorf("took %d MiB", used)
			}
			if err == nil && c.bad {
				for _, b := range tr.(sources.Judged).Bad(".") {
					err = errors.Join(err, b.Err)
				}
				if _, read := fs.ReadDir(tr, "."); read != nil {
					t.Errorf("the rest of the folder is refused too: %v", read)
				}
			}
			if err == nil && c.read != "" {
				_, err = fs.ReadFile(tr, c.read)
			}
			if err == nil || !strings.Contains(err.Error(), c.words) {
				t.Fatalf("got %v, want %q", err, c.words)
			}
			if c.words != "" && name != "submodule" && name != "tree bomb" && !c.bad {
				wantKind(t, err, fleet.Invalid, c.words)
			}
			// The next good revision is followed.
			p.push("main", map[string]string{"a": "good\n"}, "--force")
			if got := read(t, r, "a"); got != "good\n" {
				t.Errorf("after that a is %q", got)
			}
		})
	}
}

// TestHostileHeads: such a tree is the head of a pull request, and the base has another file than where they parted, so
// that both are merged. It is refused, or what is bad in it is, without much memory; the next head is merged.
func TestHostileHeads(t *testing.T) {
	rows := hostileRows()
	for _, name := range short.Of(t, 5, slices.Sorted(maps.Keys(rows))) {
		c := rows[name]
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, gitserver.Options{})
			p.git("config", "uploadpack.allowFilter", "true")
			first := p.push("main", map[string]string{"own": "1\n"})
			small := p.push("small", map[string]string{"b": "good\n"})
			p.checkout(first)
			head := p.git("-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", "-p", first, "-m", "hostile", c.tree(p))
			p.git("update-ref", "refs/heads/hostile", head)
			base := p.push("main", map[string]string{"new": "1\n"})
			m := open(t, git.Options{URL: p.url, Ref: "main", Budget: git.Budget{Tree: c.budget}}).Merges()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got, err := m.Merge(t.Context(), at(base), at(head))
			runtime.ReadMemStats(&after)
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 40 {
				t.Errorf("took %d MiB", used)
			}
			if err == nil && got.Tree != nil {
				if judged, ok := got.Tree.(sources.Judged); ok && c.bad {
					for _, b := range judged.Bad(".") {
						err = errors.Join(err, b.Err)
					}
				}
				if err == nil {
					_, err = fs.ReadFile(got.Tree, cmp.Or(c.read, "nothing"))
				}
			}
			if err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("got %v, want %q", err, c.words)
			}
			merged(t, m, base, small)
		})
	}
}

func entryNamed(name string) func(p *place) string {
	return func(p *place) string { return p.tree([3]string{"100644", name, p.blob("x")}) }
}

func linkTo(target string) func(p *place) string {
	return func(p *place) string { return p.tree([3]string{"120000", "l", p.blob(target)}) }
}

func TestRefs(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	r := open(t, git.Options{URL: p.url})
	_, err := r.Resolve(t.Context())
	wantKind(t, err, fleet.NotFound, "empty")
	_, err = open(t, git.Options{URL: p.bare}).Resolve(t.Context())
	wantKind(t, err, fleet.NotFound, "empty")

	one := p.push("main", map[string]string{"a": "1\n"})
	p.git("update-ref", "refs/tags/light", one)
	p.git("-c", "user.name=a", "-c", "user.email=a@b", "tag", "-a", "-m", "x", "v1.0.0", one)
	p.git("update-ref", "refs/pull/7/head", one)
	two := p.push("side", map[string]string{"a": "2\n"})
	for ref, want := range map[string][2]string{
		"":                 {"main", one},
		"HEAD":             {"HEAD", one},
		"main":             {"main", one},
		"side":             {"side", two},
		"refs/heads/side":  {"refs/heads/side", two},
		"light":            {"light", one},
		"v1.0.0":           {"v1.0.0", one},
		"refs/tags/v1.0.0": {"refs/tags/v1.0.0", one},
		"refs/pull/7/head": {"refs/pull/7/head", one},
		one:                {one, one},
	} {
		r := open(t, git.Options{URL: p.url, Ref: ref})
		rev, err := r.Resolve(t.Context())
		if err != nil || rev.Ref != want[0] || rev.Digest != "sha1:"+want[1] {
			t.Errorf("%q is %v, %v; want %v", ref, rev, err, want)
			continue
		}
		if _, err := r.Fetch(t.Context(), rev); err != nil {
			t.Errorf("%q: %v", ref, err)
		}
	}
	_, err = open(t, git.Options{URL: p.url, Ref: "none"}).Resolve(t.Context())
	wantKind(t, err, fleet.NotFound, `"none" does not exist (or not any more); there are light, main, side, v1.0.0`)
	for _, ref := range []string{"a..b", "a b", "-x", "a.lock", "a~1", "/a", "refs/heads/../x"} {
		_, err := git.New(git.Options{URL: p.url, Ref: ref})
		wantKind(t, err, fleet.Invalid, "not a ref name")
	}
}

// Rewinding, replacing the root, deleting and recreating a branch are all followed with one
// small answer, and so is going back.
func TestRewrittenHistory(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	first := p.push("main", map[string]string{"a": "1\n"})
	p.push("main", map[string]string{"a": "2\n"})
	r := open(t, git.Options{URL: p.url, Ref: "main"})
	if got := read(t, r, "a"); got != "2\n" {
		t.Fatalf("a is %q", got)
	}
	p.git("update-ref", "refs/heads/main", first)
	if got := read(t, r, "a"); got != "1\n" {
		t.Errorf("after a rewind a is %q", got)
	}
	p.run("", "git", "-C", p.work, "checkout", "--quiet", "--orphan", "new")
	p.push("main", map[string]string{"a": "3\n", "b": "1\n"}, "--force")
	if got := read(t, r, "a"); got != "3\n" {
		t.Errorf("after a new root a is %q", got)
	}
	p.git("update-ref", "-d", "refs/heads/main")
	p.push("other", map[string]string{"a": "4\n"})
	_, err := r.Resolve(t.Context())
	wantKind(t, err, fleet.NotFound, `"main" does not exist (or not any more); there are other`)
	p.push("main", map[string]string{"a": "5\n"})
	if got := read(t, r, "a"); got != "5\n" {
		t.Errorf("after it was made again a is %q", got)
	}
	fresh := open(t, git.Options{URL: p.url})
	tr, err := fresh.Fetch(t.Context(), fleet.Revision{Digest: "sha1:" + first})
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := fs.ReadFile(tr, "a"); string(b) != "1\n" {
		t.Errorf("at the first commit a is %q", b)
	}
	p.git("config", "uploadpack.allowAnySHA1InWant", "false")
	for _, url := range []string{p.url, p.bare} {
		_, err = open(t, git.Options{URL: url}).Fetch(t.Context(), fleet.Revision{Digest: "sha1:" + first})
		wantKind(t, err, fleet.NotFound, "not our ref")
	}
	_, err = fresh.Fetch(t.Context(), fleet.Revision{Digest: "sha1:0123456789abcdef0123456789abcdef01234567"})
	wantKind(t, err, fleet.NotFound, "not our ref")
	_, err = fresh.Fetch(t.Context(), fleet.Revision{Digest: "sha256:77"})
	wantKind(t, err, fleet.Invalid, "not a commit")
}
