package git

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

var _ sources.Compactor = (*Branch)(nil)

// Compact implements sources.Compactor.
//
// The new history has, from its newest commit on: a commit that says what was done, with
// the content of base; the newest old commits, as many as the bound allows; a commit with
// the content before them; and below it, merged in groups of fifty, the last commit of each
// file of that content, with what it changed last only. So git log of a file shows the
// newest commits and the last one before them. The work grows with the number of files plus
// that of commits, not with their product.
//
// Signatures are of the old commits, and are left out. All commits and folders are fetched.
// Where they exceed the budget only the newest are, and files whose last commit is older
// have none.
func (b *Branch) Compact(ctx context.Context, base fleet.Revision, c sources.Compaction) (fleet.Revision, sources.History, error) {
	op := "compact the history of branch " + b.name + " of " + b.repo
	ctx, cancel := withTimeout(ctx, maxCompaction)
	defer cancel()
	tip := hashOf(base.Digest)
	// Commits alone say whether there is something to do. Where the server knows filters,
	// folders are fetched only then.
	k, h, err := b.history(ctx, tip, c, packp.FilterTreeDepth(0))
	if err != nil {
		return fleet.Revision{}, sources.History{}, classify(ctx, op, err)
	}
	if c.Keeps(h.times()) == len(h) {
		return base, h.length(), nil
	}
	if k.filtered {
		if k, h, err = b.history(ctx, tip, c, packp.FilterBlobNone()); err != nil {
			return fleet.Revision{}, sources.History{}, classify(ctx, op, err)
		}
	}
	kept := c.Keeps(h.times())
	w := &rewriter{graph: k, editor: newEditor(&store{objects: map[plumbing.Hash]rawObject{}}), who: b.signature()}
	last, err := w.rewrite(h, kept)
	if err != nil {
		return fleet.Revision{}, sources.History{}, classify(ctx, op, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	head, err := b.object(w.editor, last, h[0].tree, sources.Commit{Message: c.Message, Trailers: c.Trailers})
	if err != nil {
		return fleet.Revision{}, sources.History{}, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	if err := b.push(ctx, op, tip, head, w.editor); err != nil {
		return fleet.Revision{}, sources.History{}, err
	}
	if top, ok := w.editor.store.get(head); ok {
		if _, held := b.clone.store.get(h[0].tree); held {
			b.clone.store.put(top.kind, top.data)
			b.clone.has(head)
		}
	}
	return b.revision(head), append(history{{when: w.who.When.Unix()}}, h[:kept]...).length(), nil
}

// maxCompaction bounds the time of a compaction.
const maxCompaction = 10 * time.Minute

// history returns what filter leaves of the history of tip, or the newest part of it where all
// is too much, and its recent commits.
func (b *Branch) history(ctx context.Context, tip plumbing.Hash, c sources.Compaction, filter packp.Filter) (*graph, history, error) {
	one := &clone{remote: b.remote, budget: b.budget}
	k, err := one.graph(ctx, tip, 0, filter)
	if errors.Is(err, errLong) || errors.Is(err, errBudget) {
		b.log.Warn("history too large to read, using the newest part", "error", err)
		k, err = one.graph(ctx, tip, cmp.Or(2*c.Bound.Commits, 10_000), filter)
	}
	if err != nil {
		return nil, nil, err
	}
	h, err := k.recent(tip)
	return k, h, err
}

// A history is a line of commits, the newest first. Each is the only parent of the one
// before.
type history []*step

// recent returns the commits from tip to the first one that ends the line: one with several
// parents, or none, or one that was not fetched. That one is the last.
func (k *graph) recent(tip plumbing.Hash) (history, error) {
	var out history
	for h := tip; ; {
		c, err := k.commit(h)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
		if len(c.parents) != 1 || k.objects[c.parents[0]] == nil {
			return out, nil
		}
		h = c.parents[0]
	}
}

func (h history) times() []time.Time {
	out := make([]time.Time, len(h))
	for i, c := range h {
		out[i] = time.Unix(c.when, 0)
	}
	return out
}

func (h history) length() sources.History {
	return sources.History{Commits: len(h), Oldest: time.Unix(h[len(h)-1].when, 0).UTC()}
}
