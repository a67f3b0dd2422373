package render

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/render/kustomize"
	"fairlead.dev/render/sops"
)

// maxGlobs is the maximum number of patterns.
const maxGlobs = 1000

// globs select folders. A pattern is a path of segments; * and ? and [a-z] are
// within one segment, ** is any number of segments.
type globs struct{ include, exclude [][]string }

func newGlobs(include, exclude []string) (globs, error) {
	if len(include) == 0 {
		include = []string{defaultClusters}
	}
	if n := len(include) + len(exclude); n > maxGlobs {
		return globs{}, fmt.Errorf("there are %d patterns, more than %d", n, maxGlobs)
	}
	var g globs
	for _, list := range []struct {
		patterns []string
		to       *[][]string
	}{{include, &g.include}, {exclude, &g.exclude}} {
		for _, p := range list.patterns {
			segments, err := parseGlob(p)
			if err != nil {
				return globs{}, err
			}
			*list.to = append(*list.to, segments)
		}
	}
	return g, nil
}

// parseGlob splits a pattern. The name of a kustomization file at its end is
// left out.
func parseGlob(pattern string) ([]string, error) {
	clean := path.Clean(pattern)
	if slices.Contains(kustomize.FileNames(), path.Base(clean)) {
		clean = path.Dir(clean)
	}
	if pattern == "" || path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") {
		return nil, fmt.Errorf("the pattern %q is not within the repository", pattern)
	}
	if clean == "." {
		return nil, nil
	}
	segments := strings.Split(clean, "/")
	for _, s := range segments {
		if _, err := path.Match(s, ""); err != nil {
			return nil, fmt.Errorf("the pattern %q is not valid", pattern)
		}
	}
	if len(segments) > 32 {
		return nil, fmt.Errorf("the pattern %q has more than 32 segments", pattern)
	}
	return segments, nil
}

// match reports whether dir is selected.
func (g globs) match(dir string) bool {
	var segments []string
	if dir != "." {
		segments = strings.Split(dir, "/")
	}
	matches := func(p []string) bool { return matchGlob(p, segments) }
	return slices.ContainsFunc(g.include, matches) && !slices.ContainsFunc(g.exclude, matches)
}

// matchGlob reads the pattern once. After each segment it knows which beginnings of the
// path match so far. Backtracking would take exponential time with many **. The patterns of
// doublestar have alternatives as well, which fleet.yaml does not promise.
func matchGlob(pattern, segments []string) bool {
	matched := make([]bool, len(segments)+1) // by how many segments of the path
	matched[0] = true
	for _, p := range pattern {
		next, some := make([]bool, len(matched)), false
		for i, ok := range matched {
			switch {
			case p == "**":
				some = some || ok
				next[i] = some
			case ok && i < len(segments):
				next[i+1], _ = path.Match(p, segments[i])
				some = some || next[i+1]
			}
		}
		if !some {
			return false
		}
		matched = next
	}
	return matched[len(segments)]
}

// roots returns the folders that contain everything that is selected.
func (g globs) roots() []string {
	var out []string
	for _, p := range g.include {
		n := slices.IndexFunc(p, func(s string) bool { return strings.ContainsAny(s, `*?[\`) })
		if n < 0 {
			n = len(p)
		}
		out = append(out, path.Join(append([]string{"."}, p[:n]...)...))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// A folder is what discovery found in a folder of the tree. It is valid as long as the
// digest is the same.
type folder struct {
	digest        string
	kustomization bool
	stray         stray // if it has no kustomization
	children      map[string]*folder
	lost          []lost
	entries       int // number of entries in it and below
}

// A lost folder is one that discovery cannot read: the overlays in it are not known.
type lost struct{ name, why string }

// maxEntries is how many files and folders discovery reads below one folder.
const maxEntries = 100_000

// errTooMany says that a folder has more than maxEntries.
var errTooMany = fmt.Errorf("it has more than %d files and folders", maxEntries)

// A walk is one search for overlays.
type walk struct {
	tree    *sops.Tree
	digests *digests
	looked  map[string]*folder // by digest, since equal folders are read once
	tooMany map[string]bool    // by digest as well
}

// A found is what discovery found in a tree.
type found struct {
	dirs   []string        // folders that may be overlays, sorted
	lost   []fleet.Problem // of folders that cannot be read
	strays []fleet.Problem // of folders that are no overlays, and seem to be meant as such
}

// discover returns the folders of tree that may be overlays: those that are selected and
// have a kustomization file. It skips folders whose names begin with a dot. It reads only
// folders that changed since the last time. tree is the fleet without pinned sources, which
// define no overlays.
func (b *Builder) discover(ctx context.Context, tree *sops.Tree, d *digests, cfg config) (found, error) {
	var out found
	folders := map[string]*folder{}
	w := &walk{tree: tree, digests: d, looked: map[string]*folder{}, tooMany: map[string]bool{}}
	for _, root := range cfg.clusters.roots() {
		f, err := w.look(ctx, root, b.folders[root], 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return found{}, &fleet.Error{Kind: kindOfRead(err), Op: "look for overlays in " + root, Err: err}
		}
		folders[root] = f
		if err := f.overlays(ctx, root, cfg.clusters, &out); err != nil {
			return found{}, err
		}
	}
	b.folders = folders
	out.dirs = slices.DeleteFunc(out.dirs, cfg.pinned)
	slices.Sort(out.dirs)
	out.dirs, out.lost = slices.Compact(out.dirs), bounded(out.lost)
	return out, nil
}

// look returns what is in dir, whose parents have above entries. old is the earlier result,
// or nil.
func (w *walk) look(ctx context.Context, dir string, old *folder, above int) (*folder, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f := &folder{digest: w.digests.at(dir), children: map[string]*folder{}}
	stable := f.digest != unstable && f.digest != absent
	switch {
	case stable && old != nil && old.digest == f.digest:
		return old, nil
	case stable && w.looked[f.digest] != nil:
		return w.looked[f.digest], nil
	case stable && w.tooMany[f.digest]:
		return nil, errTooMany
	}
	err := w.into(ctx, f, dir, old, above)
	switch {
	case err == nil && stable:
		w.looked[f.digest] = f
	case errors.Is(err, errTooMany):
		w.tooMany[f.digest] = true
	}
	return f, err
}

// into sets what is in the folder dir.
func (w *walk) into(ctx context.Context, f *folder, dir string, old *folder, above int) error {
	entries, err := fs.ReadDir(w.tree, dir)
	if err != nil {
		return err
	}
	f.entries = len(entries)
	if above += len(entries); above > maxEntries {
		return errTooMany
	}
	for _, bad := range w.tree.Bad(dir) {
		switch {
		case bad.Dir:
			f.lost = append(f.lost, lost{bad.Name, bad.Err.Error()})
		case slices.Contains(kustomize.FileNames(), bad.Name):
			f.kustomization = true // an overlay that cannot be read
		}
	}
	var files []string
	for _, e := range entries {
		name := e.Name()
		switch {
		case strings.HasPrefix(name, "."):
		case e.IsDir():
			var before *folder
			if old != nil {
				before = old.children[name]
			}
			child, err := w.look(ctx, path.Join(dir, name), before, above)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err == nil && f.entries+child.entries > maxEntries {
				return errTooMany
			}
			if err != nil {
				f.lost = append(f.lost, lost{name, err.Error()})
				continue
			}
			f.children[name], f.entries = child, f.entries+child.entries
		case slices.Contains(kustomize.FileNames(), name):
			f.kustomization = true
		default:
			files = append(files, name)
		}
	}
	if !f.kustomization {
		f.stray = w.stray(dir, files)
	}
	return nil
}

// overlays adds to out the selected folders at and below dir, and a problem for each folder
// that cannot be read.
func (f *folder) overlays(ctx context.Context, dir string, g globs, out *found) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if g.match(dir) {
		if f.kustomization {
			out.dirs = append(out.dirs, dir)
		} else if f.stray.file != "" {
			out.strays = append(out.strays, f.stray.problem(dir))
		}
	}
	for _, l := range f.lost {
		out.lost = append(out.lost, fleet.Problem{
			File: dir, Message: fmt.Sprintf("cannot read the folder %q: %s", l.name, l.why),
			Hint: "rename or remove it; until then no cluster counts as gone",
		})
	}
	for _, name := range slices.Sorted(maps.Keys(f.children)) {
		if err := f.children[name].overlays(ctx, path.Join(dir, name), g, out); err != nil {
			return err
		}
	}
	return nil
}
