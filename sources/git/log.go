package git

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

var _ sources.Logged = (*Branch)(nil)

// mostSearched is how many commits WriterOf looks at.
const mostSearched = 200

// Log implements sources.Logged. It costs one fetch, of the commits alone where the server
// filters, else of their folders as well.
func (b *Branch) Log(ctx context.Context, head fleet.Revision, n int) ([]sources.Entry, error) {
	op := "read the history of branch " + b.name + " of " + b.repo
	if head.IsZero() || n <= 0 {
		return nil, nil
	}
	ctx, cancel := withTimeout(ctx, b.budget.Timeout)
	defer cancel()
	one := &clone{remote: b.remote, budget: b.budget}
	k, err := one.graph(ctx, hashOf(head.Digest), n, packp.FilterTreeDepth(0))
	if err != nil {
		return nil, classify(ctx, op, err)
	}
	line, err := k.recent(hashOf(head.Digest))
	if err != nil {
		return nil, classify(ctx, op, err)
	}
	out := make([]sources.Entry, 0, min(n, len(line)))
	for _, c := range line[:min(n, len(line))] {
		e, err := c.entry()
		if err != nil {
			return nil, classify(ctx, op, err)
		}
		out = append(out, e)
	}
	return out, nil
}

// WriterOf implements sources.Logged.
func (b *Branch) WriterOf(ctx context.Context, head fleet.Revision, file string) (sources.Entry, error) {
	op := "find who wrote " + file + " on branch " + b.name + " of " + b.repo
	ctx, cancel := withTimeout(ctx, b.budget.Timeout)
	defer cancel()
	one := &clone{remote: b.remote, budget: b.budget}
	k, err := one.graph(ctx, hashOf(head.Digest), mostSearched, packp.FilterBlobNone())
	if err != nil {
		return sources.Entry{}, classify(ctx, op, err)
	}
	c, err := k.writer(hashOf(head.Digest), file)
	if err != nil {
		return sources.Entry{}, classify(ctx, op, err)
	}
	if c == nil {
		return sources.Entry{}, fleet.Errorf(fleet.NotFound, op, "none of the newest %d commits did, or a merge did", mostSearched)
	}
	return c.entry()
}

// writer returns the commit in the line of tip that gave file the content that it has
// there; nil where it is not in the line.
func (k *graph) writer(tip plumbing.Hash, file string) (*step, error) {
	line, err := k.recent(tip)
	if err != nil {
		return nil, err
	}
	now, err := k.blob(line[0].tree, file)
	if err != nil {
		return nil, err
	}
	for i, c := range line {
		if len(c.parents) == 0 {
			return c, nil
		}
		if i+1 == len(line) {
			return nil, nil //nolint:nilnil // see above
		}
		before, err := k.blob(line[i+1].tree, file)
		if err != nil {
			return nil, err
		}
		if before != now {
			return c, nil
		}
	}
	return nil, nil //nolint:nilnil // see above
}

// blob returns the hash of the file at name below the folder tree; zero where there is none.
func (k *graph) blob(tree plumbing.Hash, name string) (plumbing.Hash, error) {
	for part := range strings.SplitSeq(path.Clean(name), "/") {
		entries, err := k.entries(tree)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		next, ok := entries[part]
		if !ok {
			return plumbing.ZeroHash, nil
		}
		tree = next.hash
	}
	return tree, nil
}

// entry returns c for people.
func (c *step) entry() (sources.Entry, error) {
	o := &object.Commit{}
	if err := o.Decode(rawObject{kind: plumbing.CommitObject, data: c.raw}.encoded()); err != nil {
		return sources.Entry{}, fmt.Errorf("commit %s: %w: %w", c.hash, errMalformed, err)
	}
	return sources.Entry{
		Commit: c.hash.String(), Message: fleet.PlainLines(o.Message), At: time.Unix(c.when, 0).UTC(),
		By: fleet.PlainText(fmt.Sprintf("%s <%s>", o.Author.Name, o.Author.Email)),
	}, nil
}
