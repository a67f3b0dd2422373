package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"fairlead.dev/agent/plans/scope"
	"fairlead.dev/agent/secrets/credentials"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/status"
)

// here returns what a command of a person is about. Where neither args nor flags name a
// source, and the current folder is in a clone, it is the repository that the clone's origin
// names, and of that the folder one stands in. A folder with a status of its own stays the
// source. Where no flag names a credential, those that Git has on this computer are used.
func (f *sourceFlags) here(ctx context.Context, args []string) (selection, error) {
	if err := f.checkHere(args); err != nil {
		return selection{}, err
	}
	s := f.from(args, quiet(f.cmd.ErrOrStderr()))
	if s.Credentials == (credentials.Files{}) {
		s.Credentials.Personal = true
	}
	if len(args) > 0 || f.settings.Source != "" || s.StatusRepository != "" {
		return locate(ctx, s)
	}
	folder, err := os.Getwd()
	if err != nil {
		return selection{}, err
	}
	clone := cloneOf(folder)
	if clone == "" {
		return locate(ctx, s)
	}
	origin := originOf(ctx, clone)
	if origin == "" {
		return locate(ctx, s)
	}
	root := rootOf(folder)
	if own, err := hasStatus(ctx, s, root); own || err != nil {
		if err != nil {
			return selection{}, err
		}
		return locate(ctx, s)
	}
	s.Source = origin
	if s.Path != "" {
		return locate(ctx, s)
	}
	return within(s, clone, root, folder)
}

// statusOf returns the status of p from the status branch, and p with the repository of that branch.
// A folder that is a clone, without a status of its own and without --status-repository, has the
// status of its origin. If that cannot be read, note says so, and p is unchanged.
func (p selection) statusOf(ctx context.Context, branch string) (_ selection, s status.Status, note string, err error) {
	q, err := p.withOrigin(ctx)
	if err != nil {
		return p, s, "", err
	}
	s, err = q.settings.ReadStatus(ctx, branch)
	if err == nil || q.settings.StatusRepository == p.settings.StatusRepository {
		return q, s, "", err
	}
	note = fmt.Sprintf("the status of this clone's origin cannot be read, so clusters removed from Git are not part of the plan (set --status-repository): %v", err)
	s, err = p.settings.ReadStatus(ctx, branch)
	return p, s, note, err
}

// withOrigin returns p with the status repository that statusOf has.
func (p selection) withOrigin(ctx context.Context) (selection, error) {
	if !p.isClone() {
		return p, nil
	}
	clone, err := filepath.Abs(p.settings.Source)
	if err != nil {
		return p, err
	}
	origin := originOf(ctx, clone)
	if own, err := hasStatus(ctx, p.settings, clone); own || err != nil || origin == "" {
		return p, err
	}
	p.settings.StatusRepository = origin
	if p.settings.Credentials == (credentials.Files{}) && p.settings.StatusCredentials == (credentials.Files{}) {
		p.settings.StatusCredentials.Personal = true
	}
	return p, nil
}

// within returns the folder as a part of the fleet at root, in the repository that s names.
func within(s wiring.Settings, clone, root, folder string) (selection, error) {
	path, err := filepath.Rel(clone, root)
	if err != nil {
		return selection{}, err
	}
	part, err := filepath.Rel(root, folder)
	if err != nil {
		return selection{}, err
	}
	if path != "." {
		s.Path = filepath.ToSlash(path)
	}
	return selection{settings: s, scope: scope.Scope(filepath.ToSlash(part))}, nil
}

// cloneOf returns the root of the clone that folder is in, or an empty string.
func cloneOf(folder string) string {
	for d := folder; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, ".git")); err == nil {
			return d
		}
		if d == filepath.Dir(d) {
			return ""
		}
	}
}

// originOf returns the repository that clone is one of, which may be a path of this computer.
func originOf(ctx context.Context, clone string) string {
	origin := git.Origin(ctx, clone)
	if origin == "" {
		return ""
	}
	path := origin
	if !filepath.IsAbs(path) {
		path = filepath.Join(clone, path)
	}
	if _, err := os.Stat(path); err == nil {
		return "file://" + filepath.ToSlash(path)
	}
	return origin
}

// hasStatus reports whether an agent ever wrote a status into the folder root itself.
func hasStatus(ctx context.Context, s wiring.Settings, root string) (bool, error) {
	s.Source, s.Path = root, ""
	b, err := s.OpenBranch("")
	if err != nil {
		return false, err
	}
	owner, err := status.NewArbiter(b).Owner(ctx)
	return owner.Agent != "", err
}
