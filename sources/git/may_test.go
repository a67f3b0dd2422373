package git_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
)

// Whether a credential may push is asked without a push, of an empty repository as well.
func TestMayPush(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	r := open(t, git.Options{URL: p.url})
	if err := r.MayPush(t.Context()); err != nil {
		t.Error(err)
	}
	p.git("config", "http.receivepack", "false")
	wantKind(t, r.MayPush(t.Context()), fleet.Unauthorized, "cannot push to ")
	server, err := gitserver.New(t.TempDir(), gitserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	bare, err := server.Init("empty.git")
	if err != nil {
		t.Fatal(err)
	}
	if err := open(t, git.Options{URL: "file://" + bare}).MayPush(t.Context()); err != nil {
		t.Errorf("to an empty repository: %v", err)
	}
	gone := open(t, git.Options{URL: "file://" + filepath.Join(t.TempDir(), "none.git")})
	if err := gone.MayPush(t.Context()); err == nil {
		t.Error("one may push to a repository that is not there")
	}
}

// A repository that is begun has a work tree, and no commit.
func TestInit(t *testing.T) {
	dir := t.TempDir()
	if err := git.Init(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "git", "-C", dir, "status", "--branch", "--short").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "## No commits yet on main" {
		t.Errorf("git status says %q, %v", out, err)
	}
}
