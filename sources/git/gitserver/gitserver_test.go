package gitserver_test

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/sources/git/gitserver"
)

// The real git clones and pushes, also with bodies of unknown length, and only with the
// password.
func TestRealGit(t *testing.T) {
	s, err := gitserver.New(t.TempDir(), gitserver.Options{Password: "s3cret"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Init("fleet.git"); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s)
	defer srv.Close()
	work := filepath.Join(t.TempDir(), "work")
	git := func(args ...string) (string, error) {
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "http.postBuffer=70000"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	must := func(args ...string) {
		t.Helper()
		if out, err := git(args...); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	url := strings.Replace(srv.URL, "http://", "http://any:s3cret@", 1) + "/fleet.git"
	must("clone", "--quiet", url, work)
	junk := make([]byte, 300_000)
	for i := range junk {
		junk[i] = byte(i * i * i >> 7)
	}
	if err := os.WriteFile(filepath.Join(work, "f"), junk, 0o644); err != nil {
		t.Fatal(err)
	}
	must("-C", work, "add", "f")
	must("-C", work, "commit", "--quiet", "-m", "m")
	must("-C", work, "push", "--quiet", "origin", "HEAD:main")
	again := filepath.Join(t.TempDir(), "again")
	must("clone", "--quiet", url, again)
	if got, err := os.ReadFile(filepath.Join(again, "f")); err != nil || string(got) != string(junk) {
		t.Errorf("the file came back with %d bytes, %v", len(got), err)
	}
	if out, err := git("ls-remote", srv.URL+"/fleet.git"); err == nil {
		t.Errorf("without the password: %s", out)
	}
}

// The refs are listed again without git while none has changed, and by git after each change
// of them, whoever made it.
func TestRefs(t *testing.T) {
	s, err := gitserver.New(t.TempDir(), gitserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	bare, err := s.Init("fleet.git")
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s)
	defer srv.Close()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_DATE=@1 +0000", "GIT_COMMITTER_DATE=@1 +0000")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	list := func(protocol string) string {
		t.Helper()
		return git("-c", "protocol.version="+protocol, "ls-remote", srv.URL+"/fleet.git")
	}
	empty := git("-C", bare, "hash-object", "-w", "-t", "tree", "/dev/null")
	first := git("-C", bare, "commit-tree", "-m", "1", empty)
	second := git("-C", bare, "commit-tree", "-m", "2", empty)
	for _, step := range []struct {
		change []string
		want   string
	}{
		{[]string{"update-ref", "refs/heads/main", first}, first + "\tHEAD\n" + first + "\trefs/heads/main"},
		{[]string{"update-ref", "refs/heads/main", second}, second + "\tHEAD\n" + second + "\trefs/heads/main"},
		{[]string{"update-ref", "refs/heads/a/b", first}, second + "\tHEAD\n" + first + "\trefs/heads/a/b\n" + second + "\trefs/heads/main"},
		{[]string{"symbolic-ref", "HEAD", "refs/heads/a/b"}, first + "\tHEAD\n" + first + "\trefs/heads/a/b\n" + second + "\trefs/heads/main"},
		{[]string{"pack-refs", "--all"}, first + "\tHEAD\n" + first + "\trefs/heads/a/b\n" + second + "\trefs/heads/main"},
		{[]string{"config", "transfer.hideRefs", "refs/heads/main"}, first + "\tHEAD\n" + first + "\trefs/heads/a/b"},
		{[]string{"config", "--unset", "transfer.hideRefs"}, first + "\tHEAD\n" + first + "\trefs/heads/a/b\n" + second + "\trefs/heads/main"},
		{[]string{"update-ref", "-d", "refs/heads/main"}, first + "\tHEAD\n" + first + "\trefs/heads/a/b"},
		{[]string{"update-ref", "-d", "refs/heads/a/b"}, ""},
		{[]string{"symbolic-ref", "HEAD", "refs/heads/main"}, ""},
	} {
		git(append([]string{"-C", bare}, step.change...)...)
		for _, protocol := range []string{"2", "0"} {
			if got := list(protocol); got != step.want {
				t.Errorf("protocol %s, after %v: %q, want %q", protocol, step.change, got, step.want)
			}
			// Without objects git knows no repository.
			if err := os.Rename(filepath.Join(bare, "objects"), filepath.Join(bare, "away")); err != nil {
				t.Fatal(err)
			}
			if got := list(protocol); got != step.want {
				t.Errorf("protocol %s, again after %v: %q, want %q", protocol, step.change, got, step.want)
			}
			if err := os.Rename(filepath.Join(bare, "away"), filepath.Join(bare, "objects")); err != nil {
				t.Fatal(err)
			}
		}
	}
}
