// Package dir follows a fleet in a local folder, for laptops and tests: `fairlead agent
// --source ./fleet`. Saved files are applied without a commit. The status is in
// .fairlead/status in the same folder, with the same compare-and-swap as a Git branch.
package dir

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/tree"
)

// Options describe a folder.
type Options struct {
	Path   string
	Budget tree.Budget
	// Quiet is how long nothing must change before Notify reports a change; default 200 ms.
	// So an editor that saves many files causes one call.
	Quiet time.Duration
	Log   *slog.Logger // nil discards
}

// A Folder follows a local folder. Files called .git or .fairlead are not part of the
// fleet.
type Folder struct {
	path    string
	options Options

	mu   sync.Mutex
	scan *scanner
	kept []snapshot // the newest is last
}

// A snapshot is the content of the folder at one time.
type snapshot struct {
	rev  fleet.Revision
	tree *tree.Tree
}

// maxKept is how many snapshots Fetch can return.
const maxKept = 4

var (
	_ sources.Source   = (*Folder)(nil)
	_ sources.Notifier = (*Folder)(nil)
)

// New returns the folder that o describes.
func New(o Options) (*Folder, error) {
	op := "follow folder " + o.Path
	path, err := filepath.Abs(o.Path)
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, classify(op, err)
	}
	if !info.IsDir() {
		return nil, fleet.Errorf(fleet.Invalid, op, "it is not a folder")
	}
	o.Budget = o.Budget.WithDefaults()
	o.Quiet = cmp.Or(o.Quiet, 200*time.Millisecond)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Folder{path: path, options: o, scan: newScanner(path, o.Budget)}, nil
}

// Resolve implements sources.Source. It reads only files that changed since
// the last call.
func (f *Folder) Resolve(ctx context.Context) (fleet.Revision, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.look(ctx)
	return s.rev, err
}

// Fetch implements sources.Source. It returns one of the last snapshots of Resolve. An
// older one is an error of kind NotFound.
func (f *Folder) Fetch(ctx context.Context, rev fleet.Revision) (sources.Tree, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	has := func(s snapshot) bool { return s.rev.Digest == rev.Digest }
	i := slices.IndexFunc(f.kept, has)
	if i < 0 {
		if s, err := f.look(ctx); err != nil || has(s) {
			return s.tree, err
		}
		return nil, fleet.Errorf(fleet.NotFound, "fetch "+rev.Short()+" of folder "+f.path, "the folder has changed since")
	}
	return f.kept[i].tree, nil
}

// look takes a snapshot. The caller holds the lock.
func (f *Folder) look(ctx context.Context) (snapshot, error) {
	op := "read folder " + f.path
	id, objects, err := f.scan.scan(ctx)
	if err != nil {
		return snapshot{}, classify(op, err)
	}
	s := snapshot{rev: fleet.Revision{Ref: f.path, Digest: id}}
	if n := len(f.kept); n > 0 && f.kept[n-1].rev == s.rev {
		return f.kept[n-1], nil
	}
	s.tree = tree.NewIndex(objects, f.options.Budget).Lazy(id)
	f.kept = append(f.kept, s)
	f.kept = f.kept[max(0, len(f.kept)-maxKept):]
	return s, nil
}

// classify gives an error of the filesystem its kind.
func classify(op string, err error) error {
	kind := fleet.KindOf(err)
	var inner *fleet.Error
	switch {
	case errors.As(err, &inner):
		err = inner.Err
	case errors.Is(err, fs.ErrNotExist):
		kind = fleet.NotFound
	case errors.Is(err, fs.ErrPermission):
		kind = fleet.Unauthorized
	}
	return &fleet.Error{Kind: kind, Op: op, Err: err}
}
