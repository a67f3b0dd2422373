package wiring

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fairlead.dev/agent/secrets/credentials"
	"fairlead.dev/fleet"
	"fairlead.dev/render/worker"
	"fairlead.dev/sources/dir"
	"fairlead.dev/sources/oci"
)

// registry returns the source in a registry.
func (s Settings) registry() (*oci.Repository, error) {
	if s.TrustMerges {
		return nil, fmt.Errorf("the source %s is in a registry: it has no merges to trust", s.Source)
	}
	verify, err := credentials.ArtifactVerifier(s.TrustedKeys)
	if err != nil {
		return nil, err
	}
	// Read again for each operation: a Secret that was rotated is used at once.
	host, _, _ := strings.Cut(strings.TrimPrefix(s.Source, oci.Scheme), "/")
	refresh := func(o *oci.Options) error { return s.Credentials.Registry(host, o) }
	return oci.New(oci.Options{URL: s.Source, Ref: s.Ref, Path: s.Path, PlainHTTP: s.PlainHTTP, Refresh: refresh, Verify: verify, Log: s.Log})
}

// statusFolder returns the folder that the status goes to by StatusRepository; nil where
// that is a Git repository.
func (s Settings) statusFolder() (*dir.Folder, error) {
	if s.StatusRepository == "" || !IsFolder(s.StatusRepository) {
		return nil, nil
	}
	if _, err := os.Stat(filepath.Join(s.StatusRepository, ".git")); err == nil {
		return nil, nil // as Git has it with a work tree
	}
	return dir.New(dir.Options{Path: s.StatusRepository, Budget: statusBudget(worker.MemoryLimit()).Tree, Log: s.Log})
}

// errNoStatus says that a source in a registry needs a place for its status.
func (s Settings) errNoStatus() error {
	return fleet.Errorf(fleet.Invalid, "open the status branch",
		"the source %s is in a registry, where no status can be written: set --status-repository to a Git repository or a folder", s.Source)
}
