package git_test

import (
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
)

// A branch that is where it was is not a lost race, whatever the server says. Words of a
// lock do count as one for a few pushes: TestLockedRef.
func TestRefusedIsNotLost(t *testing.T) {
	one := sources.Commit{Edits: map[string][]byte{"a": []byte("1")}, Message: "a"}
	t.Run("hook with words of a race", func(t *testing.T) {
		p := newPlace(t, gitserver.Options{})
		p.hook("pre-receive", "echo 'stale info: fetch first, non-fast-forward' >&2; exit 1")
		_, err := branch(t, git.Options{URL: p.url}).Commit(t.Context(), fleet.Revision{}, one)
		wantKind(t, err, fleet.Unauthorized, "fetch first")
	})
	t.Run("hook with words of a lock that nobody may take", func(t *testing.T) {
		p := newPlace(t, gitserver.Options{})
		p.hook("pre-receive", "echo \"cannot lock ref 'refs/heads/fairlead/status': Permission denied\" >&2; exit 1")
		b := branch(t, git.Options{URL: p.url})
		var err error
		for range 4 {
			_, err = b.Commit(t.Context(), fleet.Revision{}, one)
		}
		wantKind(t, err, fleet.Unauthorized, "allow the push of fairlead/status on the server")
	})
	t.Run("lost with words of a refusal", func(t *testing.T) {
		p := newPlace(t, gitserver.Options{})
		p.hook("pre-receive", "unset GIT_QUARANTINE_PATH; git update-ref refs/heads/fairlead/status "+orphan(p)+"; echo 'not allowed' >&2; exit 1")
		_, err := branch(t, git.Options{URL: p.url}).Commit(t.Context(), fleet.Revision{}, one)
		wantKind(t, err, fleet.Conflict, "")
	})
}

// orphan returns a commit without files.
func orphan(p *place) string {
	return p.git("commit-tree", "-m", "empty", p.git("hash-object", "-w", "-t", "tree", "/dev/null"))
}
