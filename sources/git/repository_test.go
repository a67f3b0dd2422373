package git_test

import (
	"io/fs"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
)

// A place is a bare repository on a server, with a work tree to push from.
type place struct {
	t    testing.TB
	root string
	bare string
	work string
	url  string
}

func newPlace(t testing.TB, o gitserver.Options) *place {
	t.Helper()
	root := t.TempDir()
	s, err := gitserver.New(root, o)
	if err != nil {
		t.Fatal(err)
	}
	bare, err := s.Init("fleet.git")
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	p := &place{t: t, root: root, bare: bare, work: filepath.Join(t.TempDir(), "work"), url: srv.URL + "/fleet.git"}
	p.run("", "git", "init", "--quiet", "--initial-branch=main", p.work)
	return p
}

func (p *place) run(stdin string, name string, args ...string) string {
	p.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// git runs git in the bare repository.
func (p *place) git(args ...string) string {
	p.t.Helper()
	return p.run("", "git", append([]string{"-C", p.bare}, args...)...)
}

// push commits files to branch and pushes; "" removes a file.
func (p *place) push(branch string, files map[string]string, flags ...string) string {
	p.t.Helper()
	for name, content := range files {
		path := filepath.Join(p.work, name)
		if content == "" {
			if err := os.Remove(path); err != nil {
				p.t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			p.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			p.t.Fatal(err)
		}
	}
	p.run("", "git", "-C", p.work, "add", "-A")
	p.run("", "git", "-C", p.work, "commit", "--quiet", "--allow-empty", "-m", "change")
	p.run("", "git", append([]string{"-C", p.work, "push", "--quiet", p.bare, "HEAD:refs/heads/" + branch}, flags...)...)
	return p.run("", "git", "-C", p.work, "rev-parse", "HEAD")
}

func open(t testing.TB, o git.Options) *git.Repository {
	t.Helper()
	r, err := git.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func read(t testing.TB, r *git.Repository, name string) string {
	t.Helper()
	rev, err := r.Resolve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tree, err := r.Fetch(t.Context(), rev)
	if err != nil {
		t.Fatal(err)
	}
	b, err := fs.ReadFile(tree, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func wantKind(t testing.TB, err error, kind fleet.ErrorKind, words string) {
	t.Helper()
	if fleet.KindOf(err) != kind || !strings.Contains(err.Error(), words) {
		t.Fatalf("got error %v of kind %q, want kind %q with %q", err, fleet.KindOf(err), kind, words)
	}
}

// TestFollows: a repository follows the branch or tag that it was opened for; of a commit or a pattern it may be any.
func TestFollows(t *testing.T) {
	for ref, want := range map[string][2]bool{
		"main": {true, false}, "refs/heads/main": {true, false}, "refs/tags/other": {false, true}, "v*": {true, true}, strings.Repeat("a", 40): {true, true},
	} {
		r := open(t, git.Options{URL: "https://git.example.com/fleet.git", Ref: ref})
		if got := [2]bool{r.Follows("main"), r.Follows("other")}; got != want {
			t.Errorf("%s: main and other: %v, want %v", ref, got, want)
		}
	}
	// The default branch is known once it was resolved.
	p := newPlace(t, gitserver.Options{})
	p.push("main", map[string]string{"a": "1"})
	r := open(t, git.Options{URL: p.url})
	if !r.Follows("main") || !r.Follows("other") {
		t.Error("before the default branch is known it does not follow each")
	}
	if _, err := r.Resolve(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !r.Follows("main") || r.Follows("other") {
		t.Errorf("of the default branch: main %t, other %t", r.Follows("main"), r.Follows("other"))
	}
}

func TestFollow(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	for _, url := range []string{p.url, "file://" + p.bare, p.bare} {
		r := open(t, git.Options{URL: url})
		if !r.Follows("main") || !r.Follows("other") {
			t.Errorf("%s: before the default branch is known it is not one of all", url)
		}
		first := p.push("main", map[string]string{"a": "1\n", "d/b": strings.Repeat("line\n", 1000)}, "--force")
		if got := read(t, r, "a"); got != "1\n" {
			t.Fatalf("%s: a is %q", url, got)
		}
		p.push("main", map[string]string{"a": "2\n", "d/b": strings.Repeat("line\n", 1000) + "more\n"})
		if got := read(t, r, "a"); got != "2\n" {
			t.Fatalf("%s: a is %q after a push", url, got)
		}
		if !r.Follows("main") || r.Follows("other") {
			t.Errorf("%s: the default branch is not known", url)
		}
		if got := read(t, r, "d/b"); !strings.HasSuffix(got, "line\nmore\n") {
			t.Fatalf("%s: d/b is wrong after a push", url)
		}
		fresh := open(t, git.Options{URL: url})
		tree, err := fresh.Fetch(t.Context(), fleet.Revision{Ref: "main", Digest: "sha1:" + first})
		if err != nil {
			t.Fatal(err)
		}
		if b, err := fs.ReadFile(tree, "a"); err != nil || string(b) != "1\n" {
			t.Fatalf("%s: at the older commit a is %q, %v", url, b, err)
		}
	}
}
