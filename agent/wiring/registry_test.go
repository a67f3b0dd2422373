package wiring

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/dir"
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
	if _, err := s.HomeOptions(Installation{}); fleet.KindOf(err) != fleet.Invalid || !strings.Contains(fmt.Sprint(err), "install the agent there with its chart") {
		t.Errorf("a home would have no credentials for its status: %v", err)
	}
	if id, err := s.Identity(); err != nil || !strings.HasPrefix(id, "fleet-") {
		t.Errorf("got %q, %v", id, err)
	}
}
