package render

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/render/kustomize"
	"fairlead.dev/sources"
)

// maxGlobs is how many patterns each folder is compared with.
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

// matchGlob walks the pattern once: after each of its segments it knows which
// beginnings of the path match so far. Trying them one after the other instead
// takes time without end where there are many **.
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

// roots returns the folders below which everything selected lies.
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

// A folder is what discovery found in a folder of the tree. It is true as long
// as the digest is.
type folder struct {
	digest        string
	kustomization bool
	children      map[string]*folder
}

// discover returns the folders of tree that may be overlays, sorted: those that
// are selected and have a kustomization file. Folders whose names begin with a
// dot are left out. It goes only into folders that changed since the last time.
func (b *Builder) discover(ctx context.Context, tree sources.Tree, d *digests, cfg config) ([]string, error) {
	var out []string
	folders := map[string]*folder{}
	for _, root := range cfg.clusters.roots() {
		f, err := look(ctx, tree, d, root, b.folders[root])
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, &fleet.Error{Kind: kindOfRead(err), Op: "look for overlays in " + root, Err: err}
		}
		folders[root] = f
		if out, err = f.overlays(ctx, root, cfg.clusters, out); err != nil {
			return nil, err
		}
	}
	b.folders = folders
	slices.Sort(out)
	return slices.Compact(out), nil
}

// look returns what is in dir; old is what was there before, or nil.
func look(ctx context.Context, tree sources.Tree, d *digests, dir string, old *folder) (*folder, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f := &folder{digest: d.at(dir), children: map[string]*folder{}}
	if old != nil && old.digest == f.digest && f.digest != unstable && f.digest != absent {
		return old, nil
	}
	entries, err := fs.ReadDir(tree, dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name := e.Name()
		switch {
		case strings.HasPrefix(name, "."):
		case e.IsDir():
			var before *folder
			if old != nil {
				before = old.children[name]
			}
			if f.children[name], err = look(ctx, tree, d, path.Join(dir, name), before); err != nil {
				return nil, err
			}
		case slices.Contains(kustomize.FileNames(), name):
			f.kustomization = true
		}
	}
	return f, nil
}

// overlays appends the selected folders at and below dir.
func (f *folder) overlays(ctx context.Context, dir string, g globs, out []string) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if f.kustomization && g.match(dir) {
		out = append(out, dir)
	}
	for name, c := range f.children {
		var err error
		if out, err = c.overlays(ctx, path.Join(dir, name), g, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}
