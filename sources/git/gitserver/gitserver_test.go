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
