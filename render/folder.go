package render

import (
	"context"
	"io/fs"
	"path"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/render/kustomize"
	"fairlead.dev/render/sops"
	"fairlead.dev/sources"
)

// Folder renders the kustomization in the folder name as if the fleet had selected it, with
// the ClusterClasses that the last Render found. It keeps nothing: it is for people who
// check what clusters share. The error is of kind NotFound where there is no kustomization,
// or a Component, which cannot be rendered alone.
func (b *Builder) Folder(ctx context.Context, rev fleet.Revision, encrypted sources.Tree, name string) (fleet.Fleet, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.rest()
	cfg, err := b.config(b.options.Decrypter.Tree(ctx, encrypted))
	if err != nil {
		return fleet.Fleet{}, err
	}
	tree, err := b.mount(ctx, encrypted, &cfg)
	if err != nil {
		return fleet.Fleet{}, err
	}
	name = path.Clean(name)
	there := func(file string) bool {
		_, err := fs.Stat(tree, path.Join(name, file))
		return err == nil
	}
	if !slices.ContainsFunc(kustomize.FileNames(), there) {
		return fleet.Fleet{}, fleet.Errorf(fleet.NotFound, "render "+name, "there is no kustomization.yaml in it")
	}
	libraries := b.libraries(tree)
	build := func(tree *sops.Tree) *overlay {
		o := b.objects(ctx, tree, cfg, name)
		switch {
		case o.err != nil || o.part:
			return o
		case o.library():
			return b.readLibrary(o)
		}
		return b.decode(rev, cfg, o, libraries)
	}
	o := build(tree)
	o.hideSecrets(tree, build)
	switch {
	case o.err != nil:
		return fleet.Fleet{}, o.err
	case o.part && len(o.problems) == 0:
		return fleet.Fleet{}, fleet.Errorf(fleet.NotFound, "render "+name, "it is a Component, which is nothing by itself")
	}
	f := fleet.Fleet{ID: cfg.id, Revision: rev, Config: cfg.Config, Clusters: o.clusters, Problems: bounded(o.problems), Warnings: bounded(slices.Concat(o.warnings, o.unmatched))}
	findLines(tree.Tree, nil, f.Problems, f.Warnings)
	slices.SortStableFunc(f.Problems, compareProblems)
	return f, nil
}
