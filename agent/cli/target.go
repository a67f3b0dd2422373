package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/scope"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/render"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// valueFlags are the flags that fill in variables.
type valueFlags struct {
	set   map[string]string
	unset bool
	warn  func(string) // nil: what would be warned of is refused
}

func addValues(cmd *cobra.Command) *valueFlags {
	v := &valueFlags{warn: func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), "warning: "+text) }}
	cmd.Flags().StringToStringVar(&v.set, "set", nil, "value of a variable, NAME=VALUE; it wins over the fleet's own")
	cmd.Flags().BoolVar(&v.unset, "allow-unset", false, "leave ${VARIABLES} without a value standing")
	settings(cmd, "allow-unset")
	return v
}

// options returns how to render for people. A Secret that cannot be decrypted
// here is passed over with a warning, once for each file: who checks a change
// need not be one who may read secrets.
func (v *valueFlags) options() wiring.RenderOptions {
	o := wiring.RenderOptions{Values: v.set, AllowUnset: v.unset}
	if v.warn == nil {
		return o
	}
	var mu sync.Mutex
	told := map[string]bool{}
	o.Sealed = func(file, why string) {
		mu.Lock()
		defer mu.Unlock()
		if !told[file] {
			told[file] = true
			v.warn(file + ": " + why + "; its values are not looked at")
		}
	}
	return o
}

// modeOf returns how to open what a command may change, or only looks at.
func modeOf(may bool) wiring.Mode {
	if may {
		return wiring.ReadWrite
	}
	return wiring.ReadOnly
}

// A target is what a command is about: a whole fleet, a folder or a file of it.
type target struct {
	settings wiring.Settings // with the source, or its path, set to the root of the fleet
	scope    scope.Scope     // which part it is
	source   sources.Source  // open already; nil: not yet
}

// wholeOf returns the whole fleet that s names.
func wholeOf(s wiring.Settings) target { return target{settings: s, scope: scope.All} }

// status returns what the status branch says of the part.
func (p target) status(ctx context.Context, branch string) (status.Status, error) {
	s, err := p.settings.ReadStatus(ctx, branch)
	return p.scope.Status(s), err
}

// locate finds the fleet that a path of this computer is in: the nearest folder
// upwards with a fleet.yaml, a folder clusters or a .git, else the folder
// itself. In a repository it does so from the path that s names.
func locate(ctx context.Context, s wiring.Settings) (target, error) {
	if !wiring.IsFolder(s.Source) {
		return locateIn(ctx, s)
	}
	s.Source, s.Path = filepath.Join(s.Source, filepath.FromSlash(s.Path)), ""
	abs, err := filepath.Abs(s.Source)
	if err != nil {
		return target{}, err
	}
	info, err := os.Stat(abs)
	if err != nil {
		return target{}, fmt.Errorf("cannot find the fleet: %w", err)
	}
	folder := abs
	if !info.IsDir() {
		folder = filepath.Dir(abs)
	}
	root := rootOf(folder)
	rel, err := filepath.Rel(root, abs)
	if err != nil {
		return target{}, err
	}
	s.Source = root
	return target{settings: s, scope: scope.Scope(filepath.ToSlash(rel))}, nil
}

// locateIn finds the fleet that a path of a repository is in.
func locateIn(ctx context.Context, s wiring.Settings) (target, error) {
	if s.Path == "" {
		return wholeOf(s), nil
	}
	source, err := s.OpenSource()
	if err != nil {
		return target{}, err
	}
	rev, err := source.Resolve(ctx)
	if err != nil {
		return target{}, err
	}
	in, ok := source.(interface {
		Root(ctx context.Context, rev fleet.Revision, marks []string) (string, error)
	})
	if !ok {
		return target{}, fmt.Errorf("the source %s has no folders for --path", s.Source)
	}
	root, err := in.Root(ctx, rev, []string{render.ConfigFile, "clusters"})
	if err != nil {
		return target{}, err
	}
	rel, err := filepath.Rel(root, s.Path)
	if err != nil {
		return target{}, err
	}
	p := target{settings: s, scope: scope.Scope(filepath.ToSlash(rel)), source: source}
	if p.settings.Path = root; root == "." {
		p.settings.Path = ""
	}
	tree, err := source.Fetch(ctx, rev)
	if err != nil {
		return target{}, err
	}
	if _, err := fs.Stat(tree, string(p.scope)); errors.Is(err, fs.ErrNotExist) {
		return target{}, fleet.Errorf(fleet.NotFound, "find the fleet", "there is no folder or file %q in the source at %s, which --path names", s.Path, rev)
	}
	return p, nil
}

func rootOf(folder string) string {
	for d := folder; ; d = filepath.Dir(d) {
		for _, mark := range []string{render.ConfigFile, "clusters", ".git"} {
			if _, err := os.Stat(filepath.Join(d, mark)); err == nil {
				return d
			}
		}
		if d == filepath.Dir(d) {
			return folder
		}
	}
}

// open returns the newest content of the fleet.
func (p target) open(ctx context.Context) (fleet.Revision, sources.Tree, error) {
	source := p.source
	if source == nil {
		var err error
		if source, err = p.settings.OpenSource(); err != nil {
			return fleet.Revision{}, nil, err
		}
	}
	rev, err := source.Resolve(ctx)
	if err != nil {
		return rev, nil, err
	}
	tree, err := source.Fetch(ctx, rev)
	return rev, tree, err
}

// load renders the fleet and keeps what lies in the part.
func (p target) load(ctx context.Context, o wiring.RenderOptions) (fleet.Fleet, error) {
	f, err := p.loadAll(ctx, o)
	return p.scope.Fleet(f), err
}

// loadFolder renders the kustomization in the part, which the fleet does not select. The
// error is of kind NotFound where there is none.
func (p target) loadFolder(ctx context.Context, o wiring.RenderOptions) (fleet.Fleet, error) {
	rev, tree, err := p.open(ctx)
	if err != nil {
		return fleet.Fleet{}, err
	}
	renderer, err := p.settings.NewRenderer(o)
	if err != nil {
		return fleet.Fleet{}, err
	}
	if _, err := renderer.Render(ctx, rev, tree); err != nil { // for its classes
		return fleet.Fleet{}, err
	}
	return renderer.Folder(ctx, rev, tree, string(p.scope))
}

// loadAll renders the fleet that the part lies in.
func (p target) loadAll(ctx context.Context, o wiring.RenderOptions) (fleet.Fleet, error) {
	rev, tree, err := p.open(ctx)
	if err != nil {
		return fleet.Fleet{}, err
	}
	renderer, err := p.settings.NewRenderer(o)
	if err != nil {
		return fleet.Fleet{}, err
	}
	f, err := renderer.Render(ctx, rev, tree)
	if c, ok := errors.AsType[*render.ConfigError](err); ok {
		return fleet.Fleet{Revision: rev, Problems: c.Problems}, nil
	}
	return f, err
}

// isClone reports whether the part is files of a Git repository whose status
// branch nobody named.
func (p target) isClone() bool {
	if !wiring.IsFolder(p.settings.Source) || p.settings.StatusRepository != "" {
		return false
	}
	_, err := os.Stat(filepath.Join(p.settings.Source, ".git"))
	return err == nil
}

// empty says that no cluster was found in the part.
func (p target) empty() error {
	where := redacted(p.settings.Source)
	if p.scope != scope.All {
		where = string(p.scope) + " of " + where
	}
	return fmt.Errorf("there is no cluster in %s: is it the right place? Clusters are folders with a kustomization.yaml below clusters/, or below what fleet.yaml names", where)
}
