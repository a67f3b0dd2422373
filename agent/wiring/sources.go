package wiring

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"fairlead.dev/agent/secrets/credentials"
	"fairlead.dev/fleet"
	"fairlead.dev/render/worker"
	"fairlead.dev/sources"
	"fairlead.dev/sources/dir"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/oci"
	"fairlead.dev/sources/status"
)

// OpenSource returns the source.
func (s Settings) OpenSource() (sources.Source, error) {
	if s.Source == "" {
		return nil, errors.New("no source is given: name a repository or a folder with --source or FAIRLEAD_SOURCE")
	}
	if IsFolder(s.Source) {
		if s.Ref != "" {
			return nil, fmt.Errorf("the source %s is a folder: it has no ref %q", s.Source, s.Ref)
		}
		if len(s.TrustedKeys) > 0 {
			return nil, fmt.Errorf("the source %s is a folder: it has no commits that keys could have signed", s.Source)
		}
		return dir.New(dir.Options{Path: s.folder(), Log: s.Log})
	}
	if oci.IsURL(s.Source) {
		return s.registry()
	}
	return s.repository(s.Source)
}

func (s Settings) repository(url string) (*git.Repository, error) {
	verify, err := credentials.GitVerifier(s.TrustedKeys)
	if err != nil {
		return nil, err
	}
	// Read again for each connection: a Secret that was rotated is used at once.
	return git.New(git.Options{URL: url, Ref: s.Ref, Path: s.Path, Refresh: s.Credentials.Git, Verify: verify, Until: credentials.GitUntil(s.TrustedKeys), TrustMerges: s.TrustMerges, Log: s.Log})
}

// OpenBranch returns the status branch of that name, for a command or a page. A folder has but one.
// A branch whose status was moved cannot be read: what is written there is never answered.
func (s Settings) OpenBranch(name string) (sources.Branch, error) {
	b, err := s.openBranch(name, nil)
	if g, ok := b.(*git.Branch); ok {
		return present{g, name}, err
	}
	return b, err
}

// A present branch cannot be read after its status was moved.
type present struct {
	*git.Branch

	name string
}

// Read implements sources.Branch.
func (p present) Read(ctx context.Context) (fleet.Revision, sources.Tree, error) {
	head, t, err := p.Branch.Read(ctx)
	if err == nil {
		err = status.CheckMoved(t, p.name)
	}
	return head, t, err
}

func (s Settings) openBranch(name string, observe func(git.Usage)) (sources.Branch, error) {
	if f, err := s.statusFolder(); f != nil || err != nil {
		if err != nil {
			return nil, err
		}
		return f.Branch(), nil
	}
	if s.StatusRepository == "" && IsFolder(s.Source) {
		f, err := dir.New(dir.Options{Path: s.folder(), Budget: statusBudget(worker.MemoryLimit()).Tree, Log: s.Log})
		if err != nil {
			return nil, err
		}
		return f.Branch(), nil
	}
	r, err := s.OpenStatusRepository()
	if err != nil {
		return nil, err
	}
	o, err := s.statusOptions(observe)
	if err != nil {
		return nil, err
	}
	return r.Branch(name, o)
}

// namesStatusBranches reports whether two names are two status branches: a folder has one.
func (s Settings) namesStatusBranches() bool {
	f, err := s.statusFolder()
	return f == nil && err == nil && (s.StatusRepository != "" || !IsFolder(s.Source))
}

// OpenStatusRepository returns the repository that the status branch is in.
func (s Settings) OpenStatusRepository() (*git.Repository, error) {
	if oci.IsURL(s.Source) {
		if s.StatusRepository == "" {
			return nil, s.errNoStatus()
		}
		// What is for the registry is for it alone.
		s.Credentials, s.TrustedKeys = credentials.Files{}, nil
	}
	return s.ofStatus().repository(cmp.Or(s.StatusRepository, s.Source))
}

// ofStatus returns s as it reaches the repository of the status.
func (s Settings) ofStatus() Settings {
	s.Ref, s.Path = "", ""
	if s.StatusCredentials != (credentials.Files{}) {
		s.Credentials = s.StatusCredentials
	}
	return s
}

// ReadStatus returns what the status branch called name says, and of what counts for
// nothing by RequestKeys, why.
func (s Settings) ReadStatus(ctx context.Context, name string) (status.Status, error) {
	b, err := s.OpenBranch(name)
	if err != nil {
		return status.Status{}, err
	}
	verify, err := s.Verifier()
	if err != nil {
		return status.Status{}, err
	}
	_, tree, err := b.Read(ctx)
	if err != nil {
		return status.Status{}, err
	}
	return status.Trusted(tree, verify)
}

func readStatus(ctx context.Context, b sources.Branch) (status.Status, error) {
	_, tree, err := b.Read(ctx)
	if err != nil {
		return status.Status{}, err
	}
	return status.Read(tree)
}
