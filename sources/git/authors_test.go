package git_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
)

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
