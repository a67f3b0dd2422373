package dir

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"fairlead.dev/fleet"
)

// Notify implements sources.Notifier. It watches folders that are created later as well.
// Until ctx ends the folder counts as followed: see Branch.Followed.
func (f *Folder) Notify(ctx context.Context, changed func()) error {
	release := f.Branch().follow(ctx)
	err := f.notify(ctx, changed)
	if err == nil {
		release()
		return nil
	}
	context.AfterFunc(ctx, release) // polls go on without the watch
	return err
}

func (f *Folder) notify(ctx context.Context, changed func()) error {
	op := "watch folder " + f.path
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fleet.Errorf(fleet.Exhausted, op, "%w", err)
	}
	defer w.Close()
	if err := f.watch(w, f.path); err != nil {
		return classifyWatch(op, err)
	}
	quiet := newDebounce(f.options.Quiet)
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-w.Events:
			if f.ignores(e) {
				continue
			}
			if e.Has(fsnotify.Create) {
				if err := f.watch(w, e.Name); err != nil {
					return classifyWatch(op, err)
				}
			}
			quiet.event()
		case err := <-w.Errors:
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				return classifyWatch(op, err)
			}
			// Events were lost: new folders may be among them.
			if err := f.watch(w, f.path); err != nil {
				return classifyWatch(op, err)
			}
			quiet.event()
		case <-quiet.C:
			quiet.first = time.Time{}
			f.options.Log.Debug("folder changed", "folder", f.path)
			changed()
		}
	}
}

// maxQuiets bounds how long changes are gathered, as a multiple of Quiet. A file that
// changes all the time must not hide the others.
const maxQuiets = 10

// A debounce fires when no event has come for a while, or when events have come for too
// long.
type debounce struct {
	*time.Timer
	quiet time.Duration
	first time.Time // of the first event since it fired; zero: there was none
}

func newDebounce(quiet time.Duration) *debounce {
	d := &debounce{Timer: time.NewTimer(0), quiet: quiet}
	d.Stop()
	return d
}

func (d *debounce) event() {
	if d.first.IsZero() {
		d.first = time.Now()
	}
	d.Reset(min(d.quiet, max(0, time.Until(d.first.Add(maxQuiets*d.quiet)))))
}

// watch adds path and the folders below it. A path that vanishes meanwhile, or that is no
// folder, is no error.
func (f *Folder) watch(w *fsnotify.Watcher, path string) error {
	return filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			if ignored(d.Name()) && p != f.path {
				return filepath.SkipDir
			}
			err = w.Add(p)
		}
		if errors.Is(err, fs.ErrNotExist) && p != f.path {
			return nil
		}
		return err
	})
}

// ignores reports whether e is about a file outside the fleet.
func (f *Folder) ignores(e fsnotify.Event) bool {
	if e.Op == fsnotify.Chmod {
		return true
	}
	rel, err := filepath.Rel(f.path, e.Name)
	return err == nil && ignored(filepath.Base(rel))
}

func classifyWatch(op string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EMFILE) {
		return fleet.Errorf(fleet.Exhausted, op, "%w: too many folders for inotify; raise fs.inotify.max_user_watches", err)
	}
	return classify(op, err)
}
