package status

import (
	"context"
	"fmt"
	"io/fs"
	"sync"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// A completer adds who asked, and when, to the request in the file at p, which does not say
// it, as one that was written in the editor of a forge.
type completer func(p string, r *fleet.Request) error

// asWritten leaves a request as its file has it.
func asWritten(string, *fleet.Request) error { return nil }

// authors remember which commits wrote files of requests that do not say who asks. The
// agent writes what they say into the file with its answer.
type authors struct {
	mu     sync.Mutex
	byFile map[string]sources.Entry // by path and digest
}

// asked completes requests from the history of the branch, which is at head with the tree t.
func (a *authors) asked(ctx context.Context, b sources.Branch, head fleet.Revision, t sources.Tree) completer {
	return func(p string, r *fleet.Request) error {
		file, err := fileID(t, p)
		if err != nil {
			return err
		}
		e, ok := a.of(file)
		if !ok {
			e, err = writerOf(ctx, b, head, p)
			if err != nil {
				return fmt.Errorf("it needs by and at, who asks and when, and its commit cannot be found: %w", err)
			}
			a.keep(file, e)
		}
		complete(r, e)
		return nil
	}
}

// known completes requests that were completed before. Others stay unchanged.
func (a *authors) known(t fs.FS) completer {
	return func(p string, r *fleet.Request) error {
		tree, ok := t.(sources.Tree)
		if !ok {
			return nil
		}
		file, err := fileID(tree, p)
		if e, ok := a.of(file); ok && err == nil {
			complete(r, e)
		}
		return nil
	}
}

func (a *authors) of(file string) (sources.Entry, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, ok := a.byFile[file]
	return e, ok
}

// mostAuthors bounds what is remembered: what was forgotten is asked for again.
const mostAuthors = 1000

func (a *authors) keep(file string, e sources.Entry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byFile == nil || len(a.byFile) >= mostAuthors {
		a.byFile = make(map[string]sources.Entry)
	}
	a.byFile[file] = e
}

func complete(r *fleet.Request, e sources.Entry) {
	if r.By == "" {
		r.By = e.By
	}
	if r.At.IsZero() {
		r.At = e.At
	}
}

func fileID(t sources.Tree, p string) (string, error) {
	digest, err := t.Digest(p)
	return p + " " + digest, err
}
