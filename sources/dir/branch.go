package dir

import (
	"bytes"
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
// is a link to the newest one, and replacing that link is the commit. A commit is on the disk
// before the link leads to it, and the one before stays beside it. Files that two commits have
// are one file. Messages of commits are appended to log, which keeps the newest.
//
//	.fairlead/status -> generations/<digest>
//	.fairlead/generations/<digest>/…
//	.fairlead/log
//	.fairlead/lock
//	.fairlead/followed
type Branch struct {
	path   string // of .fairlead
	budget tree.Budget
}

var _ sources.Branch = (*Branch)(nil)

const (
	linkName       = "status"
	logName        = "log"
	generationsDir = "generations"

	lockPoll = 10 * time.Millisecond
)

// Branch returns the status branch of the folder. The first commit creates it.
func (f *Folder) Branch() *Branch {
	return &Branch{path: filepath.Join(f.path, ".fairlead"), budget: f.options.Budget}
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
	draft, err := os.MkdirTemp(filepath.Join(b.path, generationsDir), "draft-")
	if err != nil {
		return fleet.Revision{}, err
	}
	defer os.RemoveAll(draft)
	former, _ := os.Readlink(filepath.Join(b.path, linkName)) // none before the first commit
	if err := b.write(draft, filepath.Join(b.path, former), t, c.Edits); err != nil {
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
	target := filepath.Join(b.path, generationsDir, name)
	if err := errors.Join(os.RemoveAll(target), os.Rename(draft, target), syncFolder(filepath.Dir(target))); err != nil {
		return fleet.Revision{}, err
	}
	if err := b.append(c); err != nil {
		return fleet.Revision{}, err
	}
	link := filepath.Join(b.path, linkName)
	if err := errors.Join(os.RemoveAll(link+".new"), os.Symlink(generationsDir+"/"+name, link+".new"), os.Rename(link+".new", link), syncFolder(b.path)); err != nil {
		return fleet.Revision{}, err
	}
	b.tidy(name, filepath.Base(former))
	return fleet.Revision{Ref: linkName, Digest: id}, nil
}

// write writes t, which is the content of the folder former, with edits to the folder to, and
// brings all of it to the disk.
func (b *Branch) write(to, former string, t *tree.Tree, edits map[string][]byte) error {
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	folders := map[string]bool{".": true}
	makeFolder := func(dir string) error {
		if folders[dir] {
			return nil
		}
		for at := dir; !folders[at]; at = path.Dir(at) {
			folders[at] = true
		}
		return root.MkdirAll(dir, 0o755)
	}
	err = fs.WalkDir(t, ".", func(name string, d fs.DirEntry, err error) error {
		if _, edited := edits[name]; edited || err != nil || d.IsDir() {
			return err
		}
		if err := makeFolder(path.Dir(name)); err != nil {
			return err
		}
		if os.Link(filepath.Join(former, filepath.FromSlash(name)), filepath.Join(to, filepath.FromSlash(name))) == nil {
			return nil
		}
		content, err := t.ReadFile(name) // not every file system has links
		if err != nil {
			return err
		}
		return files.Create(root, name, content, 0o644)
	})
	if err != nil {
		return err
	}
	for name, content := range edits {
		if name == "." || !fs.ValidPath(name) {
			return fleet.Errorf(fleet.Invalid, "write", "%q is not a path in the branch", name)
		}
		if content == nil {
			continue
		}
		if err := errors.Join(makeFolder(path.Dir(name)), files.Create(root, name, content, 0o644)); err != nil {
			return err
		}
	}
	for dir := range folders {
		if err := files.Sync(root, dir); err != nil {
			return err
		}
	}
	return nil
}

// syncFolder brings the names in a folder to the disk.
func syncFolder(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return files.Sync(root, ".")
}

// maxLog is how long the log may get, in bytes. Then its older half goes.
const maxLog = 1 << 20

// append writes the message of c to the log.
func (b *Branch) append(c sources.Commit) error {
	root, err := os.OpenRoot(b.path)
	if err != nil {
		return err
	}
	defer root.Close()
	if info, err := root.Stat(logName); err == nil && info.Size() > maxLog {
		content, err := root.ReadFile(logName)
		if err != nil {
			return err
		}
		newest := content[len(content)/2:]
		_, newest, _ = bytes.Cut(newest, []byte("\n\n"))
		if err := files.Replace(root, logName, newest, 0o644); err != nil {
			return err
		}
	}
	f, err := root.OpenFile(logName, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
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
	return os.WriteFile(filepath.Join(b.path, ".gitignore"), []byte("*\n"), 0o644)
}

// tidy removes all generations but those to keep. What cannot be removed does no harm, and is
// removed after the next commit.
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
