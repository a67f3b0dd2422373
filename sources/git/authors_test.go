package git_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
)

// TestAuthorsOfMerges: who made a merge wrote what only the merge changes: it settles a conflict, or adds to
// what it joins.
func TestAuthorsOfMerges(t *testing.T) {
	for name, c := range map[string]struct {
		ours, theirs, merge map[string]string // file: content; "": it is removed
		want                []string
	}{
		"other files":        {map[string]string{"a/x": "1"}, map[string]string{"a/y": "1"}, nil, []string{"carol@example.com", "eve@example.com"}},
		"a file is added":    {map[string]string{"a/x": "1"}, map[string]string{"a/y": "1"}, map[string]string{"z": "1"}, []string{"carol@example.com", "dora@example.com", "eve@example.com"}},
		"a file is changed":  {map[string]string{"a/x": "1"}, map[string]string{"a/y": "1"}, map[string]string{"f": "2"}, []string{"carol@example.com", "dora@example.com", "eve@example.com"}},
		"theirs is left out": {map[string]string{"a/x": "1"}, map[string]string{"a/y": "1"}, map[string]string{"a/y": ""}, []string{"carol@example.com", "dora@example.com", "eve@example.com"}},
		"a conflict":         {map[string]string{"f": "1\nb\nc\nd\n"}, map[string]string{"f": "a\nb\nc\n4\n"}, nil, []string{"carol@example.com", "dora@example.com", "eve@example.com"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSigners(t)
			as := func(who string, args ...string) string {
				t.Helper()
				s.run("", "env", append([]string{"GIT_AUTHOR_EMAIL=" + who, "GIT_COMMITTER_EMAIL=" + who, "git", "-C", s.work}, args...)...)
				return s.in("rev-parse", "HEAD")
			}
			write := func(files map[string]string) {
				t.Helper()
				for file, content := range files {
					file = filepath.Join(s.work, file)
					if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
						t.Fatal(err)
					}
					if content == "" {
						if err := os.Remove(file); err != nil {
							t.Fatal(err)
						}
						continue
					}
					if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				s.in("add", "--all")
			}
			commit := func(who string, files map[string]string) string {
				t.Helper()
				write(files)
				return as(who, "commit", "--quiet", "--allow-empty", "-m", "a change")
			}
			start := commit("old@example.com", map[string]string{"f": "a\nb\nc\nd\n"})
			from := s.tip(start)
			s.in("checkout", "--quiet", "-b", "side")
			commit("carol@example.com", c.theirs)
			s.in("checkout", "--quiet", "-")
			commit("eve@example.com", c.ours)
			s.in("merge", "--quiet", "--no-ff", "--no-commit", "side")
			write(c.merge)
			to := s.tip(as("dora@example.com", "commit", "--quiet", "-m", "a merge"))
			got, err := s.open("main", nil).Authors(t.Context(), from, to)
			if d := cmp.Diff(c.want, got); err != nil || d != "" {
				t.Errorf("%v %s", err, d)
			}
		})
	}
}

// TestAuthorsAreAskedAgain: each merge is compared once, also after an error of a later one. The next question then
// costs the requests of the rest.
func TestAuthorsAreAskedAgain(t *testing.T) {
	var asked, limit atomic.Int64
	s := &signers{place: newPlace(t, gitserver.Options{Before: func(w http.ResponseWriter, _ *http.Request) bool {
		n := asked.Add(1)
		if m := limit.Load(); m == 0 || n <= m {
			return false
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}})}
	as := func(who string, args ...string) string {
		t.Helper()
		s.run("", "env", append([]string{"GIT_AUTHOR_EMAIL=" + who, "GIT_COMMITTER_EMAIL=" + who, "git", "-C", s.work}, args...)...)
		return s.in("rev-parse", "HEAD")
	}
	from := s.tip(as("old@example.com", "commit", "--quiet", "--allow-empty", "-m", "one"))
	for i := range 3 {
		side := fmt.Sprint("side", i)
		s.in("checkout", "--quiet", "-b", side)
		for _, name := range []string{side, fmt.Sprint("main", i)} {
			if err := os.WriteFile(filepath.Join(s.work, name), []byte("1"), 0o600); err != nil {
				t.Fatal(err)
			}
			s.in("add", name)
			as("eve@example.com", "commit", "--quiet", "-m", "a change")
			s.in("checkout", "--quiet", "main")
		}
		as("dora@example.com", "merge", "--quiet", "--no-ff", "-m", "a merge", side)
	}
	to := s.tip(s.in("rev-parse", "HEAD"))
	ask := func(r *git.Repository) (int64, error) {
		t.Helper()
		asked.Store(0)
		got, err := r.Authors(t.Context(), from, to)
		if d := cmp.Diff([]string{"eve@example.com"}, got); err == nil && d != "" {
			t.Error(d)
		}
		return asked.Load(), err
	}
	r := open(t, git.Options{URL: s.url, Ref: "main"})
	all, err := ask(r)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := ask(r); err != nil || again != 2 { // for the commits alone; comparing again takes 2 more of each merge
		t.Errorf("%v: %d requests, want 2", err, again)
	}
	limit.Store(all - 1)
	r = open(t, git.Options{URL: s.url, Ref: "main"})
	if _, err := ask(r); err == nil {
		t.Fatal("the last comparison did not fail")
	}
	limit.Store(0)
	if rest, err := ask(r); err != nil || rest != 6 { // 4 for the last merge
		t.Errorf("%v: %d requests for the rest, want 6", err, rest)
	}
}

// TestAuthors: authors, also those that a message names, committers and signers of what is new wrote it. A person
// who only merged did not.
func TestAuthors(t *testing.T) {
	s := newSigners(t)
	as := func(author, committer string, args ...string) string {
		t.Helper()
		env := []string{
			"GIT_AUTHOR_EMAIL=" + author, "GIT_COMMITTER_EMAIL=" + committer, "git", "-C", s.work, "-c", "gpg.format=ssh", "-c", "user.signingKey=" + s.ada,
		}
		s.run("", "env", append(env, args...)...)
		return s.in("rev-parse", "HEAD")
	}
	commit := func(author, committer string, args ...string) string {
		t.Helper()
		return as(author, committer, append([]string{"commit", "--quiet", "--allow-empty", "-m", "a change"}, args...)...)
	}
	start := commit("old@example.com", "old@example.com")
	from := s.tip(start)
	commit("Bob@example.com", "web@example.com", "-S", "-m", "Co-Authored-By: Eve <Eve@example.com>")
	s.in("checkout", "--quiet", "-b", "side", start)
	commit("carol@example.com", "carol@example.com")
	s.in("checkout", "--quiet", "-")
	to := s.tip(as("dora@example.com", "dora@example.com", "merge", "--quiet", "--no-ff", "-m", "a merge", "side"))
	people := []string{"bob@example.com", "carol@example.com", "eve@example.com", "web@example.com"}
	for name, c := range map[string]struct {
		change func(*git.Options)
		want   []string
	}{
		"keys":    {nil, append([]string{"ada"}, people...)},
		"no keys": {func(o *git.Options) { o.Verify = nil }, people},
	} {
		r := s.open("main", c.change)
		got, err := r.Authors(t.Context(), from, to)
		if d := cmp.Diff(c.want, got); err != nil || d != "" {
			t.Errorf("%s: %v %s", name, err, d)
		}
		for what, pair := range map[string][2]fleet.Revision{"the same": {to, to}, "an older one": {to, from}, "nothing followed": {{}, to}} {
			if got, err := r.Authors(t.Context(), pair[0], pair[1]); err != nil || len(got) > 0 {
				t.Errorf("%s, %s: %v, %v", name, what, got, err)
			}
		}
	}
}
