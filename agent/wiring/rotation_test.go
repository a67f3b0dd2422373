package wiring

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/crypto/ssh"

	"fairlead.dev/agent/secrets/credentials"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/git/gitserver"
	"fairlead.dev/test/run/needs"
)

// mountSecret writes files into dir as a kubelet does: a folder for each version
// of the Secret, and a symbolic link that is replaced at once.
func mountSecret(t *testing.T, dir string, data map[string]string) {
	t.Helper()
	version, err := os.MkdirTemp(dir, "..version-")
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range data {
		if err := os.WriteFile(filepath.Join(version, key), []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join("..data", key), filepath.Join(dir, key)); err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
	}
	next := filepath.Join(dir, "..next")
	if err := errors.Join(os.Symlink(filepath.Base(version), next), os.Rename(next, filepath.Join(dir, "..data"))); err != nil {
		t.Fatal(err)
	}
}

// commitFile makes a first commit on main of a bare repository.
func commitFile(t *testing.T, bare string) {
	t.Helper()
	work := t.TempDir()
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main", work},
		{"-C", work, "commit", "--quiet", "--allow-empty", "--message", "a fleet"},
		{"-C", work, "push", "--quiet", bare, "main"},
	} {
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
}

// rotation reads and writes a repository while its credentials are rotated on
// the server and in the mounted Secret, and sees that none of it takes a restart.
func rotation(t *testing.T, url, dir string, onServer, inSecret, broken func()) {
	t.Helper()
	s := Settings{Source: url, Credentials: credentials.Files{Dir: dir}}
	source, err := s.OpenSource()
	if err != nil {
		t.Fatal(err)
	}
	branch, err := s.OpenBranch("fairlead/status")
	if err != nil {
		t.Fatal(err)
	}
	use := func(content string) error {
		if _, err := source.Resolve(t.Context()); err != nil {
			return err
		}
		head, _, err := branch.Read(t.Context())
		if err == nil {
			_, err = branch.Commit(t.Context(), head, sources.Commit{Edits: map[string][]byte{"f": []byte(content)}, Message: content})
		}
		return err
	}
	if err := use("one"); err != nil {
		t.Fatalf("with the first credential: %v", err)
	}
	onServer()
	if err := use("two"); fleet.KindOf(err) != fleet.Unauthorized {
		t.Errorf("with a credential that the server knows no more: %v", err)
	}
	inSecret()
	if err := use("three"); err != nil {
		t.Errorf("with the new credential in the Secret: %v", err)
	}
	broken()
	if err := use("four"); fleet.KindOf(err) != fleet.Unauthorized {
		t.Errorf("with a Secret that cannot be used: %v", err)
	}
	inSecret()
	if err := use("five"); err != nil {
		t.Errorf("with a Secret that was mended: %v", err)
	}
}

func TestRotatedPassword(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	var password atomic.Value
	password.Store("old")
	server, err := gitserver.New(root, gitserver.Options{Before: func(w http.ResponseWriter, r *http.Request) bool {
		if _, given, _ := r.BasicAuth(); given == password.Load() {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		http.Error(w, "wrong or missing credentials", http.StatusUnauthorized)
		return true
	}})
	if err != nil {
		t.Fatal(err)
	}
	bare, err := server.Init("fleet.git")
	if err != nil {
		t.Fatal(err)
	}
	commitFile(t, bare)
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	mountSecret(t, dir, map[string]string{"username": "bot", "password": "old"})
	rotation(t, web.URL+"/fleet.git", dir,
		func() { password.Store("new") },
		func() { mountSecret(t, dir, map[string]string{"username": "bot", "password": "new"}) },
		func() { mountSecret(t, dir, map[string]string{"foreign": "x"}) })
}

func TestRotatedKey(t *testing.T) {
	bare, err := gitserver.Init(t.TempDir(), "fleet.git")
	if err != nil {
		t.Fatal(err)
	}
	commitFile(t, bare)
	config, dir := t.TempDir(), t.TempDir()
	needs.File(t, "/usr/sbin/sshd", "apt-get install openssh-server")
	server, err := gitserver.StartSSH(t.Context(), config, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	mount := func(key []byte) {
		mountSecret(t, dir, map[string]string{"identity": string(key), "known_hosts": string(server.KnownHosts)})
	}
	mount(server.Key)

	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	rotation(t, server.URL+bare, dir,
		func() { // what the server lets the old key do, it lets the new one do
			file := filepath.Join(config, "authorized_keys")
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			rights, _, _ := strings.Cut(string(b), "ssh-ed25519 ")
			if err := os.WriteFile(file, append([]byte(rights), ssh.MarshalAuthorizedKey(key)...), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		func() { mount(pem.EncodeToMemory(block)) },
		func() { mount([]byte("no key")) })
}
