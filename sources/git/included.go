package git

import (
	"context"

	"github.com/go-git/go-git/v5/plumbing"

	"fairlead.dev/fleet"
)

// Includes implements sources.Lineage.
func (r *Repository) Includes(ctx context.Context, head, rev fleet.Revision) error {
	if r.verify == nil || head.Digest == rev.Digest {
		return nil
	}
	op := "look for " + rev.Short() + " in what led to " + head.Short() + " of " + r.name
	if !isHash(rev.Hash()) {
		return fleet.Errorf(fleet.Invalid, op, "%q is not a commit", rev.Digest)
	}
	ctx, cancel := withTimeout(ctx, r.budget.Timeout)
	defer cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	h := hashOf(rev.Digest)
	c, err := r.between(ctx, h, hashOf(head.Digest))
	switch {
	case err != nil:
	case c.reaching[hashOf(head.Digest)]:
		if err = r.onLine(ctx, c, hashOf(head.Digest), h); err == nil {
			r.proved[h] = true
		}
	default:
		err = untrusted("commit %s is no part of it", h)
	}
	return classify(ctx, op, err)
}

// A turn is a commit on a way from head to an older commit.
type turn struct {
	at plumbing.Hash
	// off is the first parent of the merge at which the way left the line of first parents.
	// Zero: it did not leave it.
	off plumbing.Hash
}

// onLine returns why h was not followed before head. It accepts the line of first parents of
// head, back to the first commit that was followed with keys. A commit that says that it
// replaces another one continues the line there.
//
// `git pull` makes the commit that was followed the second parent of a merge. Git does not
// tell this from the merge of a proposal. So onLine accepts also another parent of a merge,
// if h could have been followed by that way: see followable.
func (r *Repository) onLine(ctx context.Context, c *chain, head, h plumbing.Hash) error {
	tagged := r.tags[head].name != "" // then commits of the line need no signature
	why := untrusted("commit %s came in with a merge: it was not followed itself", h)
	seen := make(map[plumbing.Hash]bool)
	for todo := []turn{{at: head}}; len(todo) > 0; { // the line of first parents comes first
		t := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[t.at] {
			continue
		}
		seen[t.at] = true
		if t.at == h && t.off.IsZero() {
			return r.followed(ctx, h, tagged)
		}
		if t.at == h {
			return r.followable(ctx, head, h, t.off, why)
		}
		err := r.counted(t, c.store.objects[t.at].data, tagged)
		if err != nil && fleet.KindOf(err) != fleet.Invalid {
			return err
		}
		if err != nil && t.off.IsZero() {
			why = unproved(h, t.at)
		}
		if err != nil {
			continue
		}
		todo = append(todo, c.turns(t, h)...)
	}
	return why
}

// turns returns the parents of t that lead to h, the first one last.
func (c *chain) turns(t turn, h plumbing.Hash) []turn {
	parents := c.parents[t.at]
	if from, ok := replaced(c.store.objects[t.at].data); ok && (from == h || c.parents[from] != nil) {
		parents = []plumbing.Hash{from}
	}
	var out []turn
	for i, p := range parents {
		next := turn{at: p, off: t.off}
		if i > 0 && next.off.IsZero() {
			next.off = parents[0]
		}
		if p == h || c.reaching[p] {
			out = append([]turn{next}, out...)
		}
	}
	return out
}

// followed returns why h, on the line of first parents, was not followed with keys.
func (r *Repository) followed(ctx context.Context, h plumbing.Hash, tagged bool) error {
	if tagged {
		return nil
	}
	if _, err := r.clone.commit(ctx, h, r.tip(h), func() error { return nil }); err != nil {
		return err
	}
	raw, ok := r.clone.store.get(h)
	if !ok {
		return unproved(h, h)
	}
	return unless(r.counted(turn{at: h}, raw.data, false), unproved(h, h))
}

// followable returns the error otherwise if h cannot have been followed when it was the newest
// commit: a key that is trusted now has to have signed each commit that led to h and is not in
// the history of off. If merges vouch for what they bring in, first parents are enough.
func (r *Repository) followable(ctx context.Context, head, h, off plumbing.Hash, otherwise error) error {
	c, err := r.between(ctx, off, head)
	if err != nil {
		return err
	}
	seen := make(map[plumbing.Hash]bool)
	for todo := []plumbing.Hash{h}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		raw, ok := c.store.objects[at]
		if seen[at] || !ok { // a commit that was not fetched is in the history of off
			continue
		}
		seen[at] = true
		parents := c.parents[at]
		if len(parents) == 0 {
			return otherwise // it continues nothing that was followed
		}
		if err := r.verifiedCommit(at, raw.data); err != nil {
			return unless(err, otherwise)
		}
		if r.merges {
			parents = parents[:1]
		}
		todo = append(todo, parents...)
	}
	return nil
}

// unless returns otherwise if err says that a commit is not trusted, or else err: nil, or why
// the keys cannot be read.
func unless(err, otherwise error) error {
	if fleet.KindOf(err) == fleet.Invalid {
		return otherwise
	}
	return err
}

// counted returns why a commit on the way to h cannot have been followed with keys. On the line
// of first parents it is enough that it is signed: its key may be withdrawn since. If merges vouch
// for what they bring in, the line may lead through such commits, so a key that is trusted now has
// to have signed it. A signed tag vouches for all of the line.
func (r *Repository) counted(t turn, raw []byte, tagged bool) error {
	if !t.off.IsZero() || r.merges && !tagged {
		return r.verifiedCommit(t.at, raw)
	}
	if _, signature, err := signed(raw); !tagged && (err != nil || signature == "") {
		return untrusted("commit %s is not signed", t.at)
	}
	return nil
}
