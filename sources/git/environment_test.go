package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
)

// The program git, and hooks of a local repository, see no secret of the agent.
func TestChildSeesNoSecret(t *testing.T) {
	t.Setenv("FAIRLEAD_TOKEN", "s3cret")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
	p := newPlace(t, gitserver.Options{})
	seen := filepath.Join(t.TempDir(), "environment")
	p.hook("pre-receive", "env >"+seen)
	b := branch(t, git.Options{URL: "file://" + p.bare})
	if _, err := b.Commit(t.Context(), fleet.Revision{}, sources.Commit{Edits: map[string][]byte{"a": []byte("1")}, Message: "a"}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "s3cret") || !strings.Contains(string(text), "PATH=") {
		t.Errorf("the hook sees\n%s", text)
	}
}
