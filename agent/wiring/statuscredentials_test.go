package wiring

import (
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/agent/secrets/credentials"
)

// The status branch is written with credentials of its own where there are any,
// so that those of the source may be for reading alone.
func TestStatusCredentials(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "status")
	s := Settings{Source: "https://git.example.com/fleet.git", StatusCredentials: credentials.Files{Dir: missing}}
	if _, err := s.OpenSource(); err != nil {
		t.Errorf("the source: %v", err)
	}
	if _, err := s.OpenBranch("fairlead/status"); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("the status branch: %v, want an error of %s", err, missing)
	}
}
