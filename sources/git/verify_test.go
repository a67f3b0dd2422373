package git_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
	"fairlead.dev/sources/git/signature"
	"fairlead.dev/test/run/needs"
)

// keys are made by the programs that people use.
type keys struct {
	t    *testing.T
	p    *place
	home string // GNUPGHOME
	dir  string
}

func newKeys(t *testing.T, p *place) *keys {
	t.Helper()
	for _, program := range []string{"gpg", "ssh-keygen"} {
		needs.Program(t, program, "apt-get install gnupg openssh-client")
	}
	home, err := os.MkdirTemp("", "gpg") // short: the path of gpg-agent's socket is limited
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GNUPGHOME", home)
	t.Cleanup(func() {
		_ = exec.CommandContext(context.WithoutCancel(t.Context()), "gpgconf", "--kill", "all").Run()
		_ = os.RemoveAll(home)
	})
	return &keys{t: t, p: p, home: home, dir: t.TempDir()}
}

// ssh makes a key and returns its file.
func (k *keys) ssh(name string) string {
	file := filepath.Join(k.dir, name)
	k.p.run("", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", file)
	return file
}

// past is a time at which an expired key was still valid.
const past = "20200101T000000"

// pgp makes a key without a passphrase.
func (k *keys) pgp(name string, at ...string) {
	k.p.run("", "gpg", append(at, "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", name+" <"+name+"@example.com>", "ed25519", "sign", "1d")...)
}

func (k *keys) public(name string) []byte {
	return []byte(k.p.run("", "gpg", "--batch", "--quiet", "--armor", "--export", name+"@example.com") + "\n")
}

// wrap returns a gpg program that signs in the past.
func (k *keys) wrap() string {
	file := filepath.Join(k.dir, "gpg-of-the-past")
	if err := os.WriteFile(file, []byte("#!/bin/sh\nexec gpg --faked-system-time "+past+" \"$@\"\n"), 0o700); err != nil {
		k.t.Fatal(err)
	}
	return file
}

func TestVerify(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	k := newKeys(t, p)
	ada, eve := k.ssh("ada"), k.ssh("eve")
	k.pgp("bob")
	k.pgp("mallory")
	k.pgp("gone", "--faked-system-time", past)
	adaPublic, err := os.ReadFile(ada + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	trust, err := signature.NewTrust(map[string][]byte{
		"ada": append([]byte("# people\nada@example.com namespaces=\"git\" "), adaPublic...), "bob and who is gone": append(k.public("bob"), k.public("gone")...),
	})
	if err != nil {
		t.Fatal(err)
	}
	who := ""
	r, err := git.New(git.Options{URL: p.url, Ref: "main", Verify: func(content []byte, armoured string) (string, error) {
		var err error
		who, err = trust.Verify(content, armoured)
		return who, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()

	n := 0
	commit := func(config ...string) string {
		n++
		args := []string{"-C", p.work}
		for _, c := range config {
			args = append(args, "-c", c)
		}
		if len(config) > 0 {
			args = append(args, "-c", "commit.gpgSign=true")
		}
		p.run("", "git", append(args, "commit", "--quiet", "--allow-empty", "--message", strings.Repeat("x", n))...)
		return p.run("", "git", "-C", p.work, "rev-parse", "HEAD")
	}
	bySSH := func(key string) string { return commit("gpg.format=ssh", "user.signingKey="+key) }
	byPGP := func(name string) string { return commit("user.signingKey=" + name + "@example.com") }
	raw := func(commit string) string {
		return p.run("", "git", "-C", p.work, "cat-file", "commit", commit) + "\n"
	}
	forged := func(text string) string {
		return p.run(text, "git", "-C", p.work, "hash-object", "-t", "commit", "-w", "--stdin")
	}
	for _, c := range []struct {
		name, commit, who, refused string
	}{
		{name: "signed with a trusted key of SSH", commit: bySSH(ada), who: "ada@example.com"},
		{name: "signed with a trusted key of OpenPGP", commit: byPGP("bob"), who: "bob <bob@example.com>"},
		{
			name: "signed by its other name as well", who: "ada@example.com",
			commit: forged(strings.Replace(raw(bySSH(ada)), "\ngpgsig ", "\ngpgsig-sha256 -----BEGIN SSH SIGNATURE-----\n x\ngpgsig ", 1)),
		},
		{name: "not signed", commit: commit(), refused: "it is not signed"},
		{name: "signed with another key of SSH", commit: bySSH(eve), refused: "a key that is not trusted: SHA256:"},
		{name: "signed with another key of OpenPGP", commit: byPGP("mallory"), refused: "OpenPGP signature is not good"},
		{name: "signed with a key that has expired", commit: commit("user.signingKey=gone@example.com", "gpg.program="+k.wrap()), refused: "expired"},
		{name: "changed after it was signed", commit: forged(strings.Replace(raw(bySSH(ada)), "\n\nx", "\n\ny", 1)), refused: "is not good"},
		{name: "changed after it was signed with OpenPGP", commit: forged(strings.Replace(raw(byPGP("bob")), "\n\nx", "\n\ny", 1)), refused: "is not good"},
		{
			name: "signed for something else", refused: "is not good",
			commit: forged(withSignature(raw(commit()), func(text string) string { return p.run(text, "ssh-keygen", "-Y", "sign", "-n", "file", "-f", ada) })),
		},
		{
			name: "signed twice", refused: "two signatures",
			commit: forged(withSignature(raw(bySSH(eve)), func(string) string { return "-----BEGIN SSH SIGNATURE-----" })),
		},
		{
			name: "signed by nobody knows what", refused: "of a kind that is not supported",
			commit: forged(withSignature(raw(commit()), func(string) string { return "-----BEGIN SIGNED MESSAGE-----" })),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p.run("", "git", "-C", p.work, "push", "--quiet", "--force", p.bare, c.commit+":refs/heads/main")
			rev, err := r.Resolve(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			who = ""
			_, err = r.Fetch(t.Context(), rev)
			switch {
			case c.refused == "" && (err != nil || who != c.who):
				t.Errorf("signed by %q, want %q; %v", who, c.who, err)
			case c.refused != "" && (fleet.KindOf(err) != fleet.Invalid || !strings.Contains(err.Error(), c.refused)):
				t.Errorf("the error is %v, want one of kind Invalid with %q", err, c.refused)
			}
		})
	}
}

// withSignature returns the commit with a signature of it.
func withSignature(commit string, sign func(string) string) string {
	header, body, _ := strings.Cut(commit, "\n\n")
	_, text, _ := strings.Cut(sign(commit), "-----BEGIN ") // ssh-keygen prints a message first
	return header + "\ngpgsig " + strings.ReplaceAll(strings.TrimSpace("-----BEGIN "+text), "\n", "\n ") + "\n\n" + body
}
