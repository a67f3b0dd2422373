package dir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/files"
	"fairlead.dev/sources/tree"
)

// A Branch is a branch in a local folder. Each commit is a folder below generations. status
// is a link to the newest one, and replacing that link is the commit. The generation before
// it stays. Files that a commit does not edit are hard links to those of the generation
// before. Messages of commits are appended to log; a full log becomes log.old.
//
// All of a generation is on the disk before the link leads to it, so a power cut leaves the
// generation before the commit or the one after it.
//
//	.fairlead/status -> generations/<digest>
//	.fairlead/generations/<digest>/…
//	.fairlead/log
//	.fairlead/log.old
//	.fairlead/lock
//	.fairlead/followed
type Branch struct {
	path   string // of .fairlead
	budget tree.Budget
	disk   disk
}

var _ sources.Branch = (*Branch)(nil)

const (
	linkName       = "status"
	generationsDir = "generations"

	lockPoll = 10 * time.Millisecond
	mostLog  = 1 << 20 // bytes, before a log is full
)

// Branch returns the status branch of the folder. The first commit creates it.
func (f *Folder) Branch() *Branch {
	return &Branch{path: filepath.Join(f.path, ".fairlead"), budget: f.options.Budget, disk: disk{files.Create, files.Sync}}
}

// Read implements sources.Branch.
func (b *Branch) Read(ctx context.Context) (fleet.Revision, sources.Tree, error) {
	op := "read " + filepath.Join(b.path, linkName)
	unlock, err := b.lock(ctx)
	if err != nil {
		return fleet.Revision{}, nil, classify(op, err)
	}
	defer unlock()
	rev, t, err := b.read(ctx)
	if err != nil {
		return fleet.Revision{}, nil, classify(op, err)
	}
	return rev, t, nil
}

// read returns the head. The caller holds the lock.
func (b *Branch) read(ctx context.Context) (fleet.Revision, *tree.Tree, error) {
	target, err := os.Readlink(filepath.Join(b.path, linkName))
	if errors.Is(err, fs.ErrNotExist) {
		none := &objects{}
		t, err := tree.NewIndex(none, b.budget).Tree("")
		return fleet.Revision{}, t, err
	}
	if err != nil {
		return fleet.Revision{}, nil, err
	}
	id, objects, err := newScanner(filepath.Join(b.path, target), b.budget).scan(ctx)
	if err != nil {
		return fleet.Revision{}, nil, err
	}
	t, err := tree.NewIndex(objects, b.budget).Tree(id)
	return fleet.Revision{Ref: linkName, Digest: id}, t, err
}

// Commit implements sources.Branch.
func (b *Branch) Commit(ctx context.Context, base fleet.Revision, c sources.Commit) (fleet.Revision, error) {
	op := "commit to " + filepath.Join(b.path, linkName)
	if err := b.make(); err != nil {
		return fleet.Revision{}, classify(op, err)
	}
	unlock, err := b.lock(ctx)
	if err != nil {
		return fleet.Revision{}, classify(op, err)
	}
	defer unlock()
	now, t, err := b.read(ctx)
	if err != nil {
		return fleet.Revision{}, classify(op, err)
	}
	if now.Digest != base.Digest {
		return fleet.Revision{}, fleet.Errorf(fleet.Conflict, op, "it is at %s, not at %s: somebody else wrote", now, base)
	}
	rev, err := b.commit(ctx, now, t, c)
	if err != nil {
		return fleet.Revision{}, classify(op, err)
	}
	return rev, nil
}

// commit makes the next generation, and moves the link to it.
func (b *Branch) commit(ctx context.Context, now fleet.Revision, t *tree.Tree, c sources.Commit) (fleet.Revision, error) {
	former, _ := os.Readlink(filepath.Join(b.path, linkName)) // the first commit has no former one
	draft, err := os.MkdirTemp(filepath.Join(b.path, generationsDir), "draft-")
	if err != nil {
		return fleet.Revision{}, err
	}
	defer os.RemoveAll(draft)
	if err := b.write(filepath.Join(b.path, former), draft, t, c.Edits); err != nil {
		return fleet.Revision{}, err
	}
	id, objects, err := newScanner(draft, b.budget).scan(ctx)
	if err == nil {
		_, err = tree.NewIndex(objects, b.budget).Tree(id)
	}
	if err != nil {
		return fleet.Revision{}, err
	}
	if id == now.Digest || now.IsZero() && len(c.Edits) == 0 {
		return now, nil
	}
	name := strings.ReplaceAll(id, ":", "-")
	if err := b.land(draft, name); err != nil {
		return fleet.Revision{}, err
	}
	if err := b.append(c); err != nil {
		return fleet.Revision{}, err
	}
	if err := b.link(name); err != nil {
		return fleet.Revision{}, err
	}
	b.tidy(name, path.Base(former))
	return fleet.Revision{Ref: linkName, Digest: id}, nil
}

// append writes the message of c to the log.
func (b *Branch) append(c sources.Commit) error {
	name := filepath.Join(b.path, "log")
	if info, err := os.Stat(name); err == nil && info.Size() >= mostLog {
		if err := os.Rename(name, name+".old"); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s\n\n%s\n\n", strings.TrimSpace(c.Message), strings.Join(c.Trailers, "\n"))
	return errors.Join(err, f.Close())
}

// make creates the folders, with a file that makes Git ignore them.
func (b *Branch) make() error {
	if err := os.MkdirAll(filepath.Join(b.path, generationsDir), 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(filepath.Dir(b.path))
	if err != nil {
		return err
	}
	defer root.Close()
	switch err := files.Create(root, filepath.Base(b.path)+"/.gitignore", []byte("*\n"), 0o644); {
	case errors.Is(err, fs.ErrExist): // by this process or by another one that begins
		return nil
	case err != nil:
		return err
	}
	return b.disk.sync(root, ".")
}

// tidy removes all generations except for those in keep. One that cannot be removed does
// no harm, and the next commit removes it.
func (b *Branch) tidy(keep ...string) {
	dir := filepath.Join(b.path, generationsDir)
	list, _ := os.ReadDir(dir)
	for _, d := range list {
		if !slices.Contains(keep, d.Name()) {
			_ = os.RemoveAll(filepath.Join(dir, d.Name()))
		}
	}
}

// lock takes the lock of the branch, which is released when the process ends. Without a
// folder there is nothing to lock.
func (b *Branch) lock(ctx context.Context) (func(), error) {
	l := flock.New(filepath.Join(b.path, "lock"), flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o644))
	_, err := l.TryLockContext(ctx, lockPoll)
	switch {
	case err == nil:
		return func() { _ = l.Close() }, nil
	case errors.Is(err, fs.ErrNotExist):
		return func() {}, nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	_ = l.Close()
	return nil, err
}
