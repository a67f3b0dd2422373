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

	"fairlead.dev/agent/console/statusview"
	"fairlead.dev/agent/plans/scope"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/render"
	"fairlead.dev/render/kustomize"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// valueFlags are the flags that set variables.
type valueFlags struct {
	set   map[string]string
	unset bool
	warn  func(string) // nil: what would be warned of is an error
}

func addValues(cmd *cobra.Command) *valueFlags {
	v := &valueFlags{warn: func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), "warning: "+text) }}
	cmd.Flags().StringToStringVar(&v.set, "set", nil, "value of a variable, NAME=VALUE, with precedence over the fleet")
	cmd.Flags().Lookup("set").DefValue = "" // none, which pflag shows as []
	cmd.Flags().BoolVar(&v.unset, "allow-unset", false, "keep ${VARIABLES} without a value")
	settings(cmd, "allow-unset")
	return v
}

// options returns the options to render with for people. A Secret that cannot be decrypted
// is left out, with one warning for each file: who reviews a change may have no right to
// read secrets.
func (v *valueFlags) options() wiring.RenderOptions {
	o := wiring.RenderOptions{Values: v.set, AllowUnset: v.unset}
	if v.warn == nil {
		return o
	}
	var mu sync.Mutex
	warned := map[string]bool{}
	o.Sealed = func(file, why string) {
		mu.Lock()
		defer mu.Unlock()
		if !warned[file] {
			warned[file] = true
			v.warn(file + ": " + why + "; its values are not looked at")
		}
	}
	return o
}

// modeOf returns the mode for a command that may change things, or only reads.
func modeOf(may bool) wiring.Mode {
	if may {
		return wiring.ReadWrite
	}
	return wiring.ReadOnly
}

// A selection is what a command is about: a whole fleet, or a folder or file of it.
type selection struct {
	settings wiring.Settings // with Source or Path at the root of the fleet
	scope    scope.Scope     // the part of the fleet
	source   sources.Source  // nil: not opened yet
	renderer *render.Builder // of this and other revisions; nil: none is made yet

	clusters func(fleet.Key) bool // whose status is read; nil: that of all
}

// wholeOf returns the whole fleet that s names.
func wholeOf(s wiring.Settings) selection { return selection{settings: s, scope: scope.All} }

// status returns what the status branch says of the selection.
func (p selection) status(ctx context.Context, branch string) (status.Status, error) {
	b, err := p.settings.OpenBranch(branch)
	if err != nil {
		return status.Status{}, err
	}
	return p.statusOn(ctx, b)
}

// of returns what s says of the selection, with clusters that were refused from the start.
func (p selection) of(s status.Status) status.Status {
	return p.scope.Status(statusview.WithRefused(s))
}

// locate finds the fleet that a path of this computer belongs to: the nearest folder above
// it with a fleet.yaml, a folder clusters or a .git. Without such a folder it is the folder
// itself. In a repository it starts at the path that s names.
func locate(ctx context.Context, s wiring.Settings) (selection, error) {
	if !wiring.IsFolder(s.Source) {
		return locateIn(ctx, s)
	}
	s.Source, s.Path = filepath.Join(s.Source, filepath.FromSlash(s.Path)), ""
	abs, err := filepath.Abs(s.Source)
	if err != nil {
		return selection{}, err
	}
	info, err := os.Stat(abs)
	if err != nil {
		return selection{}, noFleetAt(abs, err)
	}
	folder := abs
	if !info.IsDir() {
		folder = filepath.Dir(abs)
	}
	root := rootOf(folder)
	rel, err := filepath.Rel(root, abs)
	if err != nil {
		return selection{}, err
	}
	s.Source = root
	return selection{settings: s, scope: scope.Scope(filepath.ToSlash(rel))}, nil
}

// noFleetAt returns the error for a path that os.Stat refused with err.
func noFleetAt(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot find the fleet: folder or file %q not found. Name a folder of the fleet, or the URL of its repository", path)
	}
	return fmt.Errorf("cannot find the fleet: %w", err)
}

// locateIn finds the fleet that a path of a repository belongs to.
func locateIn(ctx context.Context, s wiring.Settings) (selection, error) {
	if s.Path == "" {
		return wholeOf(s), nil
	}
	source, err := s.OpenSource()
	if err != nil {
		return selection{}, err
	}
	rev, err := source.Resolve(ctx)
	if err != nil {
		return selection{}, err
	}
	in, ok := source.(interface {
		Root(ctx context.Context, rev fleet.Revision, marks []string) (string, error)
	})
	if !ok {
		return selection{}, fmt.Errorf("the source %s has no folders for --path", s.Source)
	}
	root, err := in.Root(ctx, rev, []string{render.ConfigFile, "clusters"})
	if err != nil {
		return selection{}, err
	}
	rel, err := filepath.Rel(root, s.Path)
	if err != nil {
		return selection{}, err
	}
	p := selection{settings: s, scope: scope.Scope(filepath.ToSlash(rel)), source: source}
	if p.settings.Path = root; root == "." {
		p.settings.Path = ""
	}
	tree, err := source.Fetch(ctx, rev)
	if err != nil {
		return selection{}, err
	}
	if _, err := fs.Stat(tree, string(p.scope)); errors.Is(err, fs.ErrNotExist) {
		return selection{}, fleet.Errorf(fleet.NotFound, "find the fleet", "--path: folder or file %q not found in the source at %s", s.Path, rev)
	}
	return p, nil
}

// rootOf returns the root of the fleet that folder is in; without one it is folder.
func rootOf(folder string) string {
	if root := markedRoot(folder); root != "" {
		return root
	}
	return folder
}

// markedRoot returns the nearest folder, folder or above it, that looks like the root of a fleet;
// empty: there is none.
func markedRoot(folder string) string {
	for d := folder; ; d = filepath.Dir(d) {
		for _, mark := range []string{render.ConfigFile, "clusters", ".git"} {
			if _, err := os.Stat(filepath.Join(d, mark)); err == nil {
				return d
			}
		}
		if d == filepath.Dir(d) {
			return ""
		}
	}
}

// checkHere returns an error where neither args nor flags name a source, and the current folder
// is in no fleet: not even its files are to be read then.
func (f *sourceFlags) checkHere(args []string) error {
	if len(args) > 0 || f.settings.Source != "" || f.settings.StatusRepository != "" {
		return nil
	}
	folder, err := os.Getwd()
	if err != nil || markedRoot(folder) != "" {
		return err
	}
	for _, name := range kustomize.FileNames() {
		if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%w. Change to a clone of the fleet, or set --source", noFleet(folder))
}

// noFleet returns what is wrong with a folder without markedRoot.
func noFleet(folder string) error {
	return fmt.Errorf("there is no fleet in %s: no %s, folder clusters or clone in it or above it", folder, render.ConfigFile)
}

// located returns what args select, where checkHere finds a fleet.
func (f *sourceFlags) located(cmd *cobra.Command, args []string) (selection, error) {
	if err := f.checkHere(args); err != nil {
		return selection{}, err
	}
	return locate(cmd.Context(), f.from(args, quiet(cmd.ErrOrStderr())))
}

// open returns the newest revision of the fleet, and its content.
func (p selection) open(ctx context.Context) (fleet.Revision, sources.Tree, error) {
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

// load renders the fleet, and returns what is in the selection.
func (p selection) load(ctx context.Context, o wiring.RenderOptions) (fleet.Fleet, error) {
	f, err := p.loadAll(ctx, o)
	return p.scope.Fleet(f), err
}

// openRenderer returns what renders the newest revision of the fleet, and its content. o is for a new renderer: p may have one.
func (p selection) openRenderer(ctx context.Context, o wiring.RenderOptions) (*render.Builder, fleet.Revision, sources.Tree, error) {
	rev, tree, err := p.open(ctx)
	if err != nil {
		return nil, rev, nil, err
	}
	if p.renderer != nil {
		return p.renderer, rev, tree, nil
	}
	renderer, err := p.settings.NewRenderer(o)
	return renderer, rev, tree, err
}

// withRenderer returns p with a renderer: another revision of its repository is rendered from what differs.
func (p selection) withRenderer(o wiring.RenderOptions) (selection, error) {
	var err error
	p.renderer, err = p.settings.NewRenderer(o)
	return p, err
}

// loadFolder renders the kustomization of a folder that the fleet does not select. The
// error is of kind NotFound where there is none.
func (p selection) loadFolder(ctx context.Context, o wiring.RenderOptions) (fleet.Fleet, error) {
	renderer, rev, tree, err := p.openRenderer(ctx, o)
	if err != nil {
		return fleet.Fleet{}, err
	}
	if _, err := renderer.Render(ctx, rev, tree); err != nil { // for its classes
		return fleet.Fleet{}, err
	}
	return renderer.Folder(ctx, rev, tree, string(p.scope))
}

// loadAll renders the whole fleet of the selection.
func (p selection) loadAll(ctx context.Context, o wiring.RenderOptions) (fleet.Fleet, error) {
	renderer, rev, tree, err := p.openRenderer(ctx, o)
	if err != nil {
		return fleet.Fleet{}, err
	}
	f, err := renderer.Render(ctx, rev, tree)
	if c, ok := errors.AsType[*render.ConfigError](err); ok {
		return fleet.Fleet{Revision: rev, Problems: c.Problems}, nil
	}
	return f, err
}

// isClone reports whether the selection is in a clone of a Git repository, and no status
// repository is named.
func (p selection) isClone() bool {
	if !wiring.IsFolder(p.settings.Source) || p.settings.StatusRepository != "" {
		return false
	}
	_, err := os.Stat(filepath.Join(p.settings.Source, ".git"))
	return err == nil
}

// isFleet reports whether the selection has what a fleet begins with, though no cluster yet.
func (p selection) isFleet(ctx context.Context) (bool, error) {
	_, tree, err := p.open(ctx)
	if err != nil {
		return false, err
	}
	for _, mark := range []string{render.ConfigFile, "clusters"} {
		if _, err := fs.Stat(tree, mark); !errors.Is(err, fs.ErrNotExist) {
			return true, err
		}
	}
	return false, nil
}

// empty returns the error for a selection without clusters.
func (p selection) empty() error {
	where := redacted(p.settings.Source)
	if p.scope != scope.All {
		where = string(p.scope) + " of " + where
	}
	return fmt.Errorf("there is no cluster in %s: clusters are folders with a kustomization.yaml below clusters/, or below the folders in fleet.yaml%s", where, p.withoutConfig())
}

// withoutConfig says what to do if the source is a folder without fleet.yaml, which may be no fleet.
func (p selection) withoutConfig() string {
	if !wiring.IsFolder(p.settings.Source) {
		return ""
	}
	if _, err := os.Stat(filepath.Join(p.settings.Source, filepath.FromSlash(p.settings.Path), render.ConfigFile)); err == nil {
		return ""
	}
	return ". It has no " + render.ConfigFile + ": if it is no fleet, change to a clone of one, or set --source or --context"
}
