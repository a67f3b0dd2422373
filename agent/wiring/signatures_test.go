package wiring

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlead.dev/agent/observability/metrics"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
	"fairlead.dev/test/run/needs"
)

// TestSigningKey: git takes what an agent signs for good, with each kind of key, and
// another key in place of the first is used with the next commit.
func TestSigningKey(t *testing.T) {
	for _, program := range []string{"gpg", "ssh-keygen"} {
		needs.Program(t, program, "apt-get install gnupg openssh-client")
	}
	home, err := os.MkdirTemp("", "gpg") // short: gpg-agent's socket is in it
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GNUPGHOME", home)
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(home, "gitconfig"))
	dir := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.Command(name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	t.Cleanup(func() {
		_ = exec.Command("gpgconf", "--kill", "all").Run()
		_ = os.RemoveAll(home)
	})
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	repo := filepath.Join(dir, "fleet.git")
	run("git", "init", "--quiet", "--bare", repo)
	commits := 0
	commit := func(b sources.Branch) {
		t.Helper()
		commits++
		head, _, err := b.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c := sources.Commit{Edits: map[string][]byte{"n": []byte(strings.Repeat("n", commits))}, Message: "status"}
		if _, err := b.Commit(t.Context(), head, c); err != nil {
			t.Fatal(err)
		}
	}
	verified := func(want string) {
		t.Helper()
		out := run("git", "--git-dir", repo, "-c", "gpg.ssh.allowedSignersFile="+filepath.Join(dir, "signers"), "verify-commit", "fairlead/status")
		if !strings.Contains(out, want) {
			t.Errorf("git says %q, want %q", out, want)
		}
	}

	folder := filepath.Join(dir, "key")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	sshKey := filepath.Join(folder, "identity")
	run("ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", sshKey)
	write(filepath.Join(folder, "identity.password"), "secret\n")
	public, err := os.ReadFile(sshKey + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(dir, "signers"), "agent@example.com "+string(public))
	s := Settings{Source: repo, SigningKey: folder}
	b, err := s.OpenBranch("fairlead/status")
	if err != nil {
		t.Fatal(err)
	}
	commit(b)
	verified(`Good "git" signature for agent@example.com`)

	// From here on with OpenPGP: the same branch, another key.
	run("gpg", "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", "other", "--quick-generate-key", "agent <agent@example.com>", "ed25519", "sign")
	for _, name := range []string{sshKey, sshKey + ".pub", filepath.Join(folder, "identity.password")} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(folder, "git.asc"), run("gpg", "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", "other", "--armor", "--export-secret-keys", "agent@example.com"))
	write(filepath.Join(folder, "passphrase"), "other")
	commit(b)
	verified("Good signature from \"agent <agent@example.com>\"")

	// What cannot be used is told at the start.
	write(filepath.Join(folder, "passphrase"), "wrong")
	if _, err := s.OpenBranch("fairlead/status"); err == nil || !strings.Contains(err.Error(), "cannot be decrypted") {
		t.Errorf("with a wrong passphrase: %v", err)
	}
	if _, err := (Settings{Source: repo, SigningKey: dir}).OpenBranch("fairlead/status"); err == nil || !strings.Contains(err.Error(), "has no signing key") {
		t.Errorf("with a folder without a key: %v", err)
	}
}

// TestTrustedKeys: an agent's source follows no commit that nobody trusted signed.
func TestTrustedKeys(t *testing.T) {
	dir := t.TempDir()
	run := func(name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
	}
	repo, trusted := filepath.Join(dir, "fleet"), filepath.Join(dir, "trusted")
	run("git", "init", "--quiet", "--initial-branch=main", repo)
	run("git", "-C", repo, "commit", "--quiet", "--allow-empty", "--message", "x")
	if err := os.WriteFile(trusted, []byte("ada@example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDT3VoRTZYVnV0eZwDq0Tz7m0L0nL2Yc8vQnH4mC0k3a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		keys   []string
		opens  string
		refuse string
	}{
		"no keys":              {},
		"a key":                {keys: []string{trusted}, refuse: "it is not signed"},
		"keys that are not":    {keys: []string{filepath.Join(dir, "none")}, opens: "cannot read trusted keys"},
		"a folder of no keys":  {keys: []string{filepath.Join(repo, ".git", "refs", "tags")}, opens: "is empty"},
		"what is not any keys": {keys: []string{filepath.Join(repo, ".git", "HEAD")}, opens: "no public key of SSH"},
	} {
		t.Run(name, func(t *testing.T) {
			source, err := Settings{Source: "file://" + filepath.Join(repo, ".git"), Ref: "main", TrustedKeys: c.keys}.OpenSource()
			if c.opens != "" {
				if err == nil || !strings.Contains(err.Error(), c.opens) {
					t.Errorf("it opens with %v, want %q", err, c.opens)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			rev, err := source.Resolve(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, err = source.Fetch(t.Context(), rev)
			if (c.refuse == "") != (err == nil) || c.refuse != "" && (fleet.KindOf(err) != fleet.Invalid || !strings.Contains(err.Error(), c.refuse)) {
				t.Errorf("fetched with %v, want %q", err, c.refuse)
			}
		})
	}
	if _, err := (Settings{Source: dir, TrustedKeys: []string{trusted}}).OpenSource(); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("a folder as the source: %v", err)
	}
}

// TestNobodyAsksForAnother: an agent with request keys ignores a request and an approval in the name of a person
// with a key, signed with another person's key.
func TestNobodyAsksForAnother(t *testing.T) {
	needs.Program(t, "ssh-keygen", "apt-get install openssh-client")
	keys := make(map[string]string)
	var signers strings.Builder
	for _, name := range []string{"ada", "bob"} {
		keys[name] = t.TempDir()
		file := filepath.Join(keys[name], "identity")
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", file).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		public, err := os.ReadFile(file + ".pub")
		if err != nil {
			t.Fatal(err)
		}
		signers.WriteString(name + "@example.com " + string(public))
	}
	trusted := filepath.Join(t.TempDir(), "signers")
	if err := os.WriteFile(trusted, []byte(signers.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	s := Settings{Source: repository(t), SigningKey: keys["ada"], RequestKeys: []string{trusted}, Log: slog.New(slog.DiscardHandler)}
	source, err := s.OpenSource()
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.statusBranches(source, nil, metrics.New("v0"))("fairlead/status")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := s.OpenBranch("fairlead/status")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Arbiter.Claim(t.Context(), "a", ""); err != nil {
		t.Fatal(err)
	}
	sign, err := s.Signer()
	if err != nil {
		t.Fatal(err)
	}
	asks, approves := status.NewRequests(raw), status.NewApprovals(raw)
	asks.Sign, approves.Sign = sign, sign
	for i, by := range []string{"Ada <ada@example.com>", "Bob <bob@example.com>"} {
		k := fleet.Key{Namespace: "prod", Name: strings.ToLower(by[:3])}
		if err := asks.Ask(t.Context(), fleet.Request{Cluster: k, Kind: fleet.RequestSuspend, By: by, At: time.Now()}); err != nil {
			t.Fatal(err)
		}
		if err := approves.Approve(t.Context(), fleet.Approval{PullRequest: i + 1, Kind: fleet.ApproveChanges, Head: strings.Repeat("a", 40), By: by, At: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	requests, err := b.Requests.List(t.Context())
	approvals, errApprovals := b.Approvals.List(t.Context())
	if err := errors.Join(err, errApprovals); err != nil || len(requests) != 2 || len(approvals) != 2 {
		t.Fatalf("there are %v and %v: %v", requests, approvals, err)
	}
	for i, ofBob := range []bool{false, true} {
		if got := requests[i]; (got.Distrusted != "") != ofBob {
			t.Errorf("the request of %s, signed by Ada, is distrusted: %q", got.By, got.Distrusted)
		}
		if got := approvals[i]; (got.Distrusted != "") != ofBob {
			t.Errorf("the approval of %s, signed by Ada, is distrusted: %q", got.By, got.Distrusted)
		}
	}
}
