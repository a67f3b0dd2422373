package git_test

import (
	"fmt"
	"os"
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
	if err := r.MayPush(t.Context(), "fairlead/status"); err != nil {
		t.Error(err)
	}
	p.git("config", "http.receivepack", "false")
	wantKind(t, r.MayPush(t.Context(), "fairlead/status"), fleet.Unauthorized, "cannot push to ")
	server, err := gitserver.New(t.TempDir(), gitserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	bare, err := server.Init("empty.git")
	if err != nil {
		t.Fatal(err)
	}
	if err := open(t, git.Options{URL: "file://" + bare}).MayPush(t.Context(), "fairlead/status"); err != nil {
		t.Errorf("to an empty repository: %v", err)
	}
	gone := open(t, git.Options{URL: "file://" + filepath.Join(t.TempDir(), "none.git")})
	if err := gone.MayPush(t.Context(), "fairlead/status"); err == nil {
		t.Error("one may push to a repository that is not there")
	}
}

// A branch whose name is a folder of another one is reported before a push, and by the first push.
func TestCollision(t *testing.T) {
	for name, c := range map[string]struct{ there, want string }{
		"above":  {"fairlead", `branch fairlead exists, so Git cannot create branch fairlead/status (delete or rename branch fairlead, or set --status-branch)`},
		"below":  {"fairlead/status/old", `branch fairlead/status/old exists, so Git cannot create branch fairlead/status (delete or rename branch fairlead/status/old, or set --status-branch)`},
		"beside": {"fairlead/statuses", ""},
		"itself": {"fairlead/status", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, gitserver.Options{})
			p.push(c.there, map[string]string{"a": "1"})
			may := open(t, git.Options{URL: p.url}).MayPush(t.Context(), "fairlead/status")
			b := branch(t, git.Options{URL: p.url})
			base, _, err := b.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, err = b.Commit(t.Context(), base, one("1"))
			if c.want == "" {
				if may != nil || err != nil {
					t.Errorf("check says %v, the push %v", may, err)
				}
				return
			}
			wantKind(t, may, fleet.Unauthorized, c.want)
			wantKind(t, err, fleet.Unauthorized, c.want)
		})
	}
}

// A server that has both branches lets the agent push.
func TestCollisionOfServersThatHaveBoth(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	commit := p.push("fairlead/status", map[string]string{"a": "1"})
	p.git("pack-refs", "--all")
	packed := fmt.Sprintf("# pack-refs with: peeled fully-peeled sorted \n%s refs/heads/fairlead\n%s refs/heads/fairlead/status\n", commit, commit)
	if err := os.WriteFile(filepath.Join(p.bare, "packed-refs"), []byte(packed), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := open(t, git.Options{URL: p.url}).MayPush(t.Context(), "fairlead/status"); err != nil {
		t.Error(err)
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
