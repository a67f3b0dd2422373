package render

import (
	"context"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"fairlead.dev/fleet"
	"fairlead.dev/render/kustomize"
	"fairlead.dev/render/sops"
	"fairlead.dev/sources"
)

// Options are what a Builder is made with.
type Options struct {
	// Decoder makes clusters of objects; required for Render.
	Decoder Decoder
	// FleetID is the id of a fleet whose fleet.yaml has none.
	FleetID fleet.ID
	// Values take precedence over the values in the tree.
	Values map[string]string
	// AllowUnset leaves variables without a value in the text.
	AllowUnset bool
	// Decrypter decrypts files that sops encrypted. Nil: encrypted files are refused.
	Decrypter *sops.Decrypter
	// Pinned, if not nil, fetches the sources that fleets pin. Nil: pinned sources are
	// refused.
	Pinned Pinned
	// Parallelism is how many overlays are built at once; 0 means one for each processor.
	// Workers have their own limit.
	Parallelism int
	// Workers, if not nil, build overlays instead of this process.
	Workers Workers
	// Observe, if not nil, is called after each Render.
	Observe func(Stats)
	// Log, if not nil, gets debug messages.
	Log *slog.Logger
}

// Workers build overlays in other processes, with a budget. They are safe for concurrent
// use.
type Workers interface {
	// Build is as Kustomizer.BuildInput. An overlay that exceeds the budget is a
	// *kustomize.OverBudget. Any other error says that no overlay can be built now.
	Build(ctx context.Context, in kustomize.Input) ([]kustomize.Object, *fleet.Problem, error)
	// Processes is how many overlays are built at once.
	Processes() int
	// Rest is called when there is nothing to build.
	Rest()
}

// Stats say what one Render cost.
type Stats struct {
	Overlays int // overlays in the tree
	Built    int // overlays that were built
	Problems int
	Duration time.Duration
}

// A Builder is a Renderer that keeps what it built, and builds only overlays whose inputs
// changed. It is safe for concurrent use; one Render builds at a time, and none waits for the pinned
// sources of another one.
type Builder struct {
	options    Options
	kustomizer *kustomize.Kustomizer

	mu      sync.Mutex
	folders map[string]*folder  // what discovery found, by the folder where it began
	built   map[string]*overlay // by folder
	lines   map[spot]int        // of problems of the last Render
}

var _ Renderer = (*Builder)(nil)

// New returns a Builder.
func New(o Options) *Builder {
	if o.Parallelism <= 0 {
		o.Parallelism = runtime.GOMAXPROCS(0)
	}
	if o.Workers != nil {
		o.Parallelism = o.Workers.Processes()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Decrypter == nil {
		o.Decrypter = sops.Keyless()
	}
	return &Builder{
		options:    o,
		kustomizer: kustomize.New(kustomize.DefaultLimits()),
		folders:    map[string]*folder{},
		built:      map[string]*overlay{},
	}
}

// Render implements Renderer. The Revision of a cluster is the one for which
// its overlay was last built.
func (b *Builder) Render(ctx context.Context, rev fleet.Revision, encrypted sources.Tree) (fleet.Fleet, error) {
	start := time.Now()
	base := b.options.Decrypter.Tree(ctx, encrypted)
	cfg, err := b.config(base)
	if err != nil {
		return fleet.Fleet{}, err
	}
	tree, err := b.mount(ctx, encrypted, &cfg)
	if err != nil {
		return fleet.Fleet{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.rest()
	found, err := b.discover(ctx, base, newDigests(base), cfg)
	if err != nil {
		return fleet.Fleet{}, err
	}
	d := newDigests(tree)
	changed := b.changed(found.dirs, cfg.fingerprint(), d)
	built, err := b.build(ctx, rev, tree, cfg, d, changed)
	if err != nil {
		return fleet.Fleet{}, err
	}
	f := b.assemble(rev, cfg, spoiled(tree, b.built), found)
	b.lines = findLines(tree.Tree, b.lines, f.Problems, f.Warnings)
	b.report(Stats{Overlays: len(found.dirs), Built: built, Problems: len(f.Problems), Duration: time.Since(start)})
	return f, nil
}

// Stale reports whether another Render of the same tree may have another result: a file
// could not be decrypted because a service did not answer, or a pinned source could not be
// fetched.
func (b *Builder) Stale() bool {
	return b.options.Decrypter.Due() || b.options.Pinned != nil && b.options.Pinned.Due()
}

// rest releases the workers.
func (b *Builder) rest() {
	if b.options.Workers != nil {
		b.options.Workers.Rest()
	}
}

func (b *Builder) report(s Stats) {
	b.options.Log.Debug("rendered", "overlays", s.Overlays, "built", s.Built, "problems", s.Problems, "seconds", s.Duration.Seconds())
	if b.options.Observe != nil {
		b.options.Observe(s)
	}
}

// changed forgets overlays that are gone, and returns the folders of overlays to build.
func (b *Builder) changed(dirs []string, fingerprint string, d *digests) []string {
	kept := make(map[string]*overlay, len(dirs))
	var changed []string
	for _, dir := range dirs {
		o, ok := b.built[dir]
		if ok {
			kept[dir] = o
		}
		if !ok || o.fingerprint != fingerprint || !d.same(o.inputs) {
			changed = append(changed, dir)
		}
	}
	b.built = kept
	return changed
}

// build builds the overlays in dirs, then those whose clusters come from changed classes in
// other folders, and returns how many. If ctx ends first, the rest is built the next time.
func (b *Builder) build(ctx context.Context, rev fleet.Revision, tree *sops.Tree, cfg config, d *digests, dirs []string) (int, error) {
	first := func(ctx context.Context, tree *sops.Tree, dir string) *overlay {
		o := b.objects(ctx, tree, cfg, dir)
		switch {
		case o.err != nil:
			return o
		case o.library():
			return b.readLibrary(o)
		case len(o.wanted()) > 0:
			return o // later, when all libraries are known
		}
		return b.decode(rev, cfg, o, nil)
	}
	err := b.each(ctx, dirs, func(ctx context.Context, dir string) *overlay {
		o := first(ctx, tree, dir)
		o.unanswered(tree.Unanswered())
		o.hideSecrets(tree, func(t *sops.Tree) *overlay { return first(ctx, t, dir) })
		return o
	})
	b.keep(cfg, d, dirs)
	if err != nil {
		return 0, err
	}
	libraries := b.libraries(tree)
	var late []string
	for dir, o := range b.built {
		if wanted := o.wanted(); len(wanted) > 0 && (!o.decoded || o.from != fingerprints(libraries, wanted)) {
			late = append(late, dir)
		}
	}
	slices.Sort(late)
	lateLibrary := b.lateLibrary()
	err = b.each(ctx, late, func(ctx context.Context, dir string) *overlay {
		o := b.built[dir]
		if o.decoded {
			o = b.objects(ctx, tree, cfg, dir)
			o.unanswered(tree.Unanswered())
		}
		if o.err != nil {
			return o
		}
		o.from = fingerprints(libraries, o.wanted())
		o = b.decode(rev, cfg, o, libraries)
		o.unanswered(lateLibrary)
		o.hideSecrets(tree, func(t *sops.Tree) *overlay {
			return b.decode(rev, cfg, b.objects(ctx, t, cfg, dir), libraries)
		})
		return o
	})
	b.keep(cfg, d, late)
	return len(union(dirs, late)), err
}

// each builds overlays in parallel and puts them into b.built, but for those that ctx left
// out.
func (b *Builder) each(ctx context.Context, dirs []string, build func(ctx context.Context, dir string) *overlay) error {
	results := make([]*overlay, len(dirs))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(b.options.Parallelism)
	for i, dir := range dirs {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			o := build(ctx, dir)
			if o.err == nil {
				results[i] = o
			}
			return o.err
		})
	}
	err := g.Wait()
	for i, dir := range dirs {
		o, old := results[i], b.built[dir]
		if o == nil {
			delete(b.built, dir)
			continue
		}
		if old != nil && o.scanFailed {
			// The folders that it includes are still not overlays.
			o.includes = union(o.includes, old.includes)
		}
		b.built[dir] = o
	}
	return err
}

// keep stores what the overlays in dirs depend on.
func (b *Builder) keep(cfg config, d *digests, dirs []string) {
	for _, dir := range dirs {
		if o := b.built[dir]; o != nil && o.decoded {
			o.problems, o.warnings, o.unmatched = bounded(o.problems), bounded(o.warnings), bounded(o.unmatched)
			o.inputs = d.of(o.reads)
			if !o.overBudget {
				o.fingerprint = cfg.fingerprint()
			}
		}
	}
}
