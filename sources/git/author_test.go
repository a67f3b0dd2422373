package git_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/git"
	"fairlead.dev/test/run/needs"
)

// configure makes text the only configuration of Git.
func configure(t *testing.T, text string) string {
	t.Helper()
	home := t.TempDir()
	file := filepath.Join(home, "config")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", file)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("GIT_AUTHOR_NAME", "")
	t.Setenv("GIT_AUTHOR_EMAIL", "")
	t.Chdir(home)
	return home
}

func TestByHand(t *testing.T) {
	configure(t, "[user]\nname = Ada\nemail = ada@example.com\n")
	o, err := git.ByHand(t.Context())
	if err != nil || o.Name != "Ada" || o.Email != "ada@example.com" || o.Sign != nil {
		t.Errorf("got %+v, %v", o, err)
	}
	t.Setenv("GIT_AUTHOR_NAME", "Bob")
	if o, err = git.ByHand(t.Context()); err != nil || o.Name != "Bob" {
		t.Errorf("got %+v, %v", o, err)
	}
	configure(t, "")
	if _, err = git.ByHand(t.Context()); fleet.KindOf(err) != fleet.Invalid || !strings.Contains(err.Error(), "git config --global user.name") {
		t.Errorf("of nobody: %v", err)
	}
	configure(t, "[user]\nname = Ada\nemail = ada@example.com\n[commit]\ngpgsign = true\n[gpg]\nformat = x509\n")
	if _, err = git.ByHand(t.Context()); err == nil || !strings.Contains(err.Error(), `gpg.format "x509" is not supported`) {
		t.Errorf("of another format: %v", err)
	}
}

// git verifies the signatures made here.
func TestSignedByHand(t *testing.T) {
	needs.Program(t, "ssh-keygen", "apt-get install openssh-client")
	home := configure(t, "[user]\nname = Ada\nemail = ada@example.com\nsigningKey = key\n[commit]\ngpgSign = yes\n[gpg]\nformat = ssh\n[gpg \"ssh\"]\nallowedSignersFile = signers\n")
	sh := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.Command(name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	sh("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key")
	public, err := os.ReadFile("key.pub")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("signers", append([]byte("ada@example.com "), public...), 0o600); err != nil {
		t.Fatal(err)
	}
	sh("git", "init", "--quiet", "--bare", "fleet.git")
	o, err := git.ByHand(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, err := git.New(git.Options{URL: filepath.Join(home, "fleet.git")})
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.Branch("wishes", o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Commit(t.Context(), fleet.Revision{}, sources.Commit{Edits: map[string][]byte{"a": []byte("x")}, Message: "a wish"}); err != nil {
		t.Fatal(err)
	}
	if out := sh("git", "--git-dir", "fleet.git", "-c", "gpg.ssh.allowedSignersFile="+filepath.Join(home, "signers"), "verify-commit", "wishes"); !strings.Contains(out, `Good "git" signature for ada@example.com`) {
		t.Errorf("git says %s", out)
	}
	if err := os.Remove("key"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Commit(t.Context(), fleet.Revision{}, sources.Commit{Edits: map[string][]byte{"a": []byte("y")}, Message: "a wish"}); err == nil || !strings.Contains(err.Error(), "cannot sign the commit: ssh-keygen") {
		t.Errorf("without the key: %v", err)
	}
}
