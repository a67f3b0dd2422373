package wiring

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet-examples/inmemory"
)

// An identity that comes into the mounted Secret decrypts what was refused, at
// the same revision, and one that cannot be read changes nothing for good.
func TestRotatedIdentity(t *testing.T) {
	folder, keys := t.TempDir(), t.TempDir()
	if err := os.CopyFS(folder, inmemory.Files()); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join("../../render/sops/testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	cluster := filepath.Join(folder, "clusters/staging/eu-2")
	kustomization, err := os.ReadFile(filepath.Join(cluster, "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(kustomization), "resources:", "resources:\n  - secret.yaml", 1)
	if changed == string(kustomization) {
		t.Fatal("the example has no resources to add one to")
	}
	for name, content := range map[string]string{"kustomization.yaml": changed, "secret.yaml": read("secret.yaml")} {
		if err := os.WriteFile(filepath.Join(cluster, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mountSecret(t, keys, map[string]string{"old": ownIdentity(t)})

	s := Settings{Built: builtIn(), Source: folder, Secrets: t.TempDir(), AgeIdentityFiles: []string{keys}}
	r, err := s.rekeyedRenderer(RenderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	source, err := s.OpenSource()
	if err != nil {
		t.Fatal(err)
	}
	rev, err := source.Resolve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tree, err := source.Fetch(t.Context(), rev)
	if err != nil {
		t.Fatal(err)
	}
	render := func(clusters int, stale bool) {
		t.Helper()
		if got := r.Stale(); got != stale {
			t.Errorf("stale: %v", got)
		}
		f, err := r.Render(t.Context(), rev, tree)
		if err != nil || len(f.Clusters) != clusters {
			t.Errorf("%d clusters, want %d: %v, %v", len(f.Clusters), clusters, f.Problems, err)
		}
	}
	render(1, false)
	mountSecret(t, keys, map[string]string{"old": read("identity.txt")})
	render(2, true)
	render(2, false)
	mountSecret(t, keys, map[string]string{"old": "no identity"})
	if _, err := r.Render(t.Context(), rev, tree); fleet.KindOf(err) != fleet.Unavailable {
		t.Errorf("with what is no identity: %v", err)
	}
	mountSecret(t, keys, map[string]string{"old": read("identity.txt")})
	render(2, false)
}

// ownIdentity returns an identity that nothing was encrypted for.
func ownIdentity(t *testing.T) string {
	t.Helper()
	s := Settings{Built: builtIn(), Source: t.TempDir(), Secrets: t.TempDir()}
	store, err := s.OpenSecrets(t.Context(), ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	if c, ok := store.(interface{ Close() error }); ok {
		defer c.Close()
	}
	b, err := os.ReadFile(filepath.Join(s.Secrets, "identity.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
