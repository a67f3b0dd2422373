package wiring

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/dir"
	"fairlead.dev/sources/oci"
	"fairlead.dev/sources/oci/ocitest"
)

// TestSourceInARegistry: an artifact is followed, its status goes where somebody says, and
// with keys only what they signed is followed.
func TestSourceInARegistry(t *testing.T) {
	r := ocitest.New(t).Repository("team/fleet")
	key, public := ocitest.NewKey(t)
	keys := filepath.Join(t.TempDir(), "cosign.pub")
	if err := os.WriteFile(keys, public, 0o600); err != nil {
		t.Fatal(err)
	}
	d := r.Artifact(t, "latest", time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), map[string]string{"fleet.yaml": "apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\n"}, nil)
	s := Settings{Source: r.OCI()}
	get := func(s Settings) (fleet.Revision, error) {
		source, err := s.OpenSource()
		if err != nil {
			return fleet.Revision{}, err
		}
		rev, err := source.Resolve(t.Context())
		if err == nil {
			_, err = source.Fetch(t.Context(), rev)
		}
		return rev, err
	}
	if rev, err := get(s); err != nil || rev.Digest != d {
		t.Errorf("got %v, %v", rev, err)
	}
	signed := s
	signed.TrustedKeys = []string{keys}
	if _, err := get(signed); fleet.KindOf(err) != fleet.Invalid || !strings.Contains(fmt.Sprint(err), "no signature") {
		t.Errorf("got %v", err)
	}
	r.Sign(t, d, key, nil)
	if _, err := get(signed); err != nil {
		t.Error(err)
	}
	signed.TrustMerges = true
	if _, err := signed.OpenSource(); err == nil {
		t.Error("merges are trusted where there are none")
	}

	if _, err := s.OpenBranch("fairlead/status"); fleet.KindOf(err) != fleet.Invalid || !strings.Contains(fmt.Sprint(err), "--status-repository") {
		t.Errorf("got %v", err)
	}
	s.StatusRepository = t.TempDir()
	b, err := s.OpenBranch("fairlead/status")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := b.(*dir.Branch); !ok {
		t.Errorf("got %T", b)
	}
	rev, err := b.Commit(t.Context(), fleet.Revision{}, sources.Commit{Edits: map[string][]byte{"a": []byte("b")}, Message: "m"})
	if err != nil || rev.IsZero() {
		t.Errorf("got %v, %v", rev, err)
	}
	if _, err := s.OpenEscrow(fleet.Escrow{Branch: "fairlead/escrow"}); err == nil || !strings.Contains(err.Error(), "spec.escrow.folder") {
		t.Errorf("the escrow would be in the status: %v", err)
	}
	if _, err := s.HomeOptions(House{}); fleet.KindOf(err) != fleet.Invalid || !strings.Contains(fmt.Sprint(err), "install the agent there with its chart") {
		t.Errorf("a home would have no credentials for its status: %v", err)
	}
	if id, err := s.Identity(); err != nil || !strings.HasPrefix(id, "fleet-") {
		t.Errorf("got %q, %v", id, err)
	}
}

// TestCredentialsForARegistry: what docker and Secrets of registries hold is for the
// registry that they name.
func TestCredentialsForARegistry(t *testing.T) {
	config := `{"auths":{"https://registry.example.com/v1/":{"auth":"` + base64.StdEncoding.EncodeToString([]byte("bot:s:ecret")) + `"},"other.example.com":{"username":"o","password":"p"},"token.example.com":{"auth":"","identitytoken":"t"},"docker.io":{"username":"d","password":"p"}}}`
	for name, c := range map[string]struct {
		host, user, password, err string
		file                      string
		content                   string
	}{
		"its own":    {host: "registry.example.com", user: "bot", password: "s:ecret"},
		"another":    {host: "other.example.com", user: "o", password: "p"},
		"none":       {host: "none.example.com"},
		"a port":     {host: "registry.example.com:5000"},
		"docker hub": {host: "docker.io", user: "d", password: "p"},
		"a helper":   {content: `{"credsStore":"desktop"}`, err: "credential helper"},
		"no JSON":    {content: "secret", err: "no configuration of docker"},
		"no base64":  {host: "h", content: `{"auths":{"h":{"auth":"secret"}}}`, err: "not USER:PASSWORD"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			if c.content == "" {
				c.content = config
			}
			if err := os.WriteFile(filepath.Join(folder, ".dockerconfigjson"), []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			var o oci.Options
			err := Credentials{Dir: folder}.forRegistry(c.host, &o)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "secret") {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || o.Auth.Username != c.user || string(o.Auth.Password.Reveal()) != c.password {
				t.Errorf("got %q, %v", o.Auth.Username, err)
			}
			again, err := Credentials{Dir: folder}.Secret()
			if err != nil || string(again[".dockerconfigjson"].Reveal()) != c.content {
				t.Errorf("it is not taken along: %v", err)
			}
		})
	}
	folder := t.TempDir()
	for name, text := range map[string]string{"identity": "k"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var o oci.Options
	if err := (Credentials{Dir: folder}).forRegistry("h", &o); err == nil || !strings.Contains(err.Error(), "SSH key") {
		t.Errorf("got %v", err)
	}
	if err := (Credentials{TokenFile: filepath.Join(folder, "identity")}).forRegistry("h", &o); err != nil || o.Auth.Username != "token" || string(o.Auth.Password.Reveal()) != "k" {
		t.Errorf("got %q, %v", o.Auth.Username, err)
	}
}
