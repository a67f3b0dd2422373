package wiring

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git/gitserver"
)

// A pinnedServer is a server with one repository to pin, and the requests that it got.
type pinnedServer struct {
	t    *testing.T
	url  string
	bare string
	work string
	key  string // that commits and tags are signed with; empty: they are not

	mu       sync.Mutex
	requests int
	secrets  []string // Authorization headers
	redirect string
}

func newPinnedServer(t *testing.T, password string) *pinnedServer {
	t.Helper()
	s := &pinnedServer{t: t, work: t.TempDir()}
	root := t.TempDir()
	server, err := gitserver.New(root, gitserver.Options{Password: password, Before: s.before})
	if err != nil {
		t.Skip(err)
	}
	if s.bare, err = server.Init("platform/bases.git"); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	s.url = web.URL + "/platform/bases.git"
	s.git("init", "--quiet", "--initial-branch=main")
	return s
}

func (s *pinnedServer) before(w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	if h := r.Header.Get("Authorization"); h != "" {
		s.secrets = append(s.secrets, h)
	}
	if s.redirect != "" {
		http.Redirect(w, r, s.redirect+strings.TrimPrefix(r.URL.Path, "/platform/bases.git")+"?"+r.URL.RawQuery, http.StatusFound)
		return true
	}
	return false
}

func (s *pinnedServer) seen() (int, []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests, s.secrets
}

func (s *pinnedServer) git(args ...string) string {
	s.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", s.work}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// push commits a file and returns the commit.
func (s *pinnedServer) push(text string, flags ...string) string {
	s.t.Helper()
	file := filepath.Join(s.work, "bases", "dev", "c.yaml")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		s.t.Fatal(err)
	}
	s.git("add", "--all")
	s.git(append(append([]string{"-c", "gpg.format=ssh", "-c", "user.signingkey=" + s.key, "commit", "--quiet", "--message", "x"}, flags...), "--no-edit")...)
	s.git("push", "--quiet", s.bare, "HEAD:main")
	return s.git("rev-parse", "HEAD")
}

func folderWith(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func (s *pinnedServer) pin(commit string) fleet.PinnedSource {
	return fleet.PinnedSource{Name: "platform", URL: s.url, Commit: commit, Path: "bases"}
}
