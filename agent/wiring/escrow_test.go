package wiring

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"filippo.io/age"

	"fairlead.dev/agent/secrets"
	"fairlead.dev/agent/secrets/credentials"
	"fairlead.dev/agent/secrets/escrow"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/git/gitserver"
)

// An escrow in a repository of its own is written and read with the credential
// of the status branch, on the same host.
func TestEscrowInARepositoryOfItsOwn(t *testing.T) {
	root := t.TempDir()
	server, err := gitserver.New(root, gitserver.Options{Username: "agent", Password: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fleet.git", "escrow.git"} {
		if _, err := server.Init(name); err != nil {
			t.Fatal(err)
		}
	}
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := Settings{
		Source: web.URL + "/fleet.git", Log: slog.New(slog.DiscardHandler),
		Credentials: credentials.Files{Username: "agent", PasswordFile: password},
	}
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	store := secrets.NewMemory()
	c := fleet.Key{Namespace: "prod", Name: "eu-1"}
	want := fleet.SecretData{fleet.TLSKeyKey: fleet.NewSecret([]byte("key"))}
	if _, err := store.Create(t.Context(), c, fleet.ClusterCA, want); err != nil {
		t.Fatal(err)
	}
	where := fleet.Escrow{Repository: web.URL + "/escrow.git", Branch: "safe", Recipients: []string{identity.Recipient().String()}}
	place, err := s.OpenEscrow(where)
	if err != nil {
		t.Fatal(err)
	}
	k, err := escrow.NewKeeper(place, store, escrow.Options{Fleet: "edge", Recipients: where.Recipients})
	if err != nil {
		t.Fatal(err)
	}
	if behind, err := k.Keep(t.Context(), []fleet.Key{c}, nil); err != nil || len(behind) > 0 {
		t.Fatalf("behind with %v: %v", behind, err)
	}
	for name, branches := range map[string]string{"escrow.git": "safe", "fleet.git": ""} {
		out, err := exec.CommandContext(t.Context(), "git", "-C", filepath.Join(root, name), "for-each-ref", "--format=%(refname:short)").Output()
		if err != nil || strings.TrimSpace(string(out)) != branches {
			t.Errorf("%s has the branches %q, %v, want %q", name, out, err, branches)
		}
	}

	// Another process reads it.
	if place, err = s.OpenEscrow(where); err != nil {
		t.Fatal(err)
	}
	e, err := escrow.Open(t.Context(), place, fleet.NewSecret([]byte(identity.String())))
	if err != nil || len(e.Problems()) > 0 {
		t.Fatal(err, e)
	}
	to := secrets.NewMemory()
	if done, err := e.Restore(t.Context(), to); err != nil || len(done) != 1 {
		t.Fatal(done, err)
	}
	if got, err := to.Get(t.Context(), c, fleet.ClusterCA); err != nil || string(got[fleet.TLSKeyKey].Reveal()) != "key" {
		t.Errorf("it came back as another: %v", err)
	}
}

// Who may push to the fleet cannot have its credentials sent to a host of his
// own.
func TestEscrowOnAnotherHost(t *testing.T) {
	var asked atomic.Bool
	stranger := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Store(true) }))
	t.Cleanup(stranger.Close)
	s := Settings{Source: "https://git.example.com/fleet.git", Log: slog.New(slog.DiscardHandler)}
	for _, url := range []string{stranger.URL + "/escrow.git", "https://git.example.com:8443/e.git", "http://git.example.com/e.git", "ssh://git@git.example.com/e.git", "git.example.com/e.git"} {
		_, err := s.OpenEscrow(fleet.Escrow{Repository: url, Branch: "safe"})
		if fleet.KindOf(err) != fleet.Invalid || !strings.Contains(err.Error(), "another host") {
			t.Errorf("%s: got %v, want that it is refused", url, err)
		}
	}
	if _, err := s.OpenEscrow(fleet.Escrow{Repository: "https://git.example.com/team/escrow.git", Branch: "safe"}); err != nil {
		t.Errorf("the same host is refused: %v", err)
	}
	s.StatusRepository = "https://status.example.com/fleet.git"
	if _, err := s.OpenEscrow(fleet.Escrow{Repository: "https://status.example.com/escrow.git", Branch: "safe"}); err != nil {
		t.Errorf("the host of the status repository is refused: %v", err)
	}
	if asked.Load() {
		t.Error("the other host was asked")
	}
}
