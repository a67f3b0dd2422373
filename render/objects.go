package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"golang.org/x/sync/errgroup"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/render/kustomize"
	"fairlead.dev/render/sops"
	"fairlead.dev/sources"
)

// Objects renders what is at name, for people: a folder with a kustomization, a YAML file,
// or else every overlay that the fleet selects at and below the folder. It decodes nothing
// and keeps nothing. The objects are in the order of the overlays. Overlays with problems
// may be missing. The error is as for Render.
func (b *Builder) Objects(ctx context.Context, encrypted sources.Tree, name string) ([]Object, []fleet.Problem, error) {
	defer b.rest()
	base := b.options.Decrypter.Tree(ctx, encrypted)
	cfg, err := b.config(base)
	if err != nil {
		return nil, nil, err
	}
	tree, err := b.mount(ctx, encrypted, &cfg)
	if err != nil {
		return nil, nil, err
	}
	name = path.Clean(name)
	info, err := fs.Stat(tree, name)
	if err != nil {
		kind := fleet.KindOf(err)
		if errors.Is(err, fs.ErrNotExist) {
			kind = fleet.NotFound
		}
		return nil, nil, &fleet.Error{Kind: kind, Op: "render " + name, Err: err}
	}
	if !info.IsDir() {
		o := b.file(tree, cfg, name)
		o.hideSecrets(tree, func(t *sops.Tree) *overlay { return b.file(t, cfg, name) })
		problems := bounded(o.problems)
		findLines(tree.Tree, nil, problems)
		return o.objects, problems, nil
	}
	dirs, problems, err := b.selected(ctx, tree, base, cfg, name)
	if err != nil {
		return nil, nil, err
	}
	overlays := make([]*overlay, len(dirs))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(b.options.Parallelism)
	for i, dir := range dirs {
		g.Go(func() error {
			o := b.objects(ctx, tree, cfg, dir)
			o.hideSecrets(tree, func(t *sops.Tree) *overlay { return b.objects(ctx, t, cfg, dir) })
			overlays[i] = o
			return cmp.Or(o.err, ctx.Err())
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	built := make(map[string]*overlay, len(overlays))
	for _, o := range overlays {
		built[o.dir] = o
	}
	bad := spoiled(tree, built)
	var objects []Object
	for _, o := range overlays {
		if base := func(other *overlay) bool {
			return slices.Contains(other.includes, o.dir) && !slices.Contains(o.includes, other.dir)
		}; slices.ContainsFunc(overlays, base) {
			continue
		}
		objects = append(objects, o.objects...)
		problems = append(problems, bounded(o.problems)...)
		if p, ok := bad[o.dir]; ok {
			problems = append(problems, p)
		}
	}
	findLines(tree.Tree, nil, problems)
	slices.SortStableFunc(problems, compareProblems)
	return objects, problems, nil
}

// selected returns name if it has a kustomization, else the overlays of the fleet at and
// below it. base has no pinned sources.
func (b *Builder) selected(ctx context.Context, tree, base *sops.Tree, cfg config, name string) ([]string, []fleet.Problem, error) {
	for _, file := range kustomize.FileNames() {
		if _, err := fs.Stat(tree, path.Join(name, file)); err == nil {
			return []string{name}, nil, nil
		}
	}
	if name != "." {
		below, err := newGlobs([]string{name + "/**"}, nil)
		if err != nil {
			return nil, nil, &fleet.Error{Kind: fleet.Invalid, Op: "render " + name, Err: err}
		}
		cfg.clusters.include = below.include
	}
	f := &Builder{options: b.options}
	found, err := f.discover(ctx, base, newDigests(base), cfg)
	if err != nil {
		return nil, nil, err
	}
	if len(found.dirs) == 0 {
		return nil, nil, fleet.Errorf(fleet.NotFound, "render "+name, "there is no kustomization.yaml in it or below it")
	}
	return found.dirs, found.lost, nil
}

// file renders a YAML file without a kustomization.
func (b *Builder) file(tree fs.FS, cfg config, name string) *overlay {
	o := &overlay{dir: path.Dir(name), file: name}
	data, err := kustomize.ReadFile(tree, name, documents.DefaultLimits())
	var f *documents.File
	if err == nil {
		f, err = documents.Parse(data, documents.DefaultLimits())
	}
	if err != nil {
		p := fleet.Problem{Overlay: o.dir, File: name, Message: fmt.Sprint(err)}
		if r, ok := errors.AsType[*documents.Refusal](err); ok {
			p.Hint = r.Hint
		}
		o.problems = append(o.problems, p)
		return o
	}
	var built []kustomize.Object
	for _, n := range f.Documents {
		built = append(built, kustomize.Object{File: name, Node: n})
	}
	b.substitute(tree, cfg, o, built)
	return o
}
