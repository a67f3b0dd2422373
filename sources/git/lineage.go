package git

import (
	"bytes"
	"context"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/tags"
)

// ReplacesTrailer is in the message of a commit or tag that replaces a revision without
// continuing it. Its value is the full hash of that revision's commit.
const ReplacesTrailer = "Fairlead-Replaces"

var _ sources.Lineage = (*Repository)(nil)

// Signed implements sources.Lineage.
func (r *Repository) Signed() bool { return r.verify != nil }

// Continues implements sources.Lineage. Every commit since from has to be signed, but for
// those that a merge brings in with Options.TrustMerges, and those before a signed tag that
// is followed. A signed commit or tag whose message has ReplacesTrailer with from needs to
// continue nothing: people state with it that they rewrote history. Another ref in the
// options than that of from is a new beginning.
func (r *Repository) Continues(ctx context.Context, from, to fleet.Revision) error {
	op := "follow " + to.Short() + " of " + r.name
	if r.verify == nil || from.Digest == to.Digest || !isHash(from.Hash()) || isHash(r.ref) || r.ref != "" && !tags.IsPattern(r.ref) && from.Ref != to.Ref {
		return nil
	}
	ctx, cancel := withTimeout(ctx, r.budget.Timeout)
	defer cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	return classify(ctx, op, r.continues(ctx, hashOf(from.Digest), hashOf(to.Digest)))
}

func (r *Repository) continues(ctx context.Context, from, to plumbing.Hash) error {
	c, err := r.between(ctx, from, to)
	if err != nil {
		return err
	}
	statement, ok := c.store.objects[r.tip(to)]
	tagged := r.tags[to].name != ""
	if !ok { // the commit is in the history of from
		return discontinued(from)
	}
	if err := r.statedBy(to, statement, tagged); err != nil {
		return err
	}
	if replaces(statement.data, from) {
		r.log.Info("following a commit that declares that it replaces the last one", "commit", to.String(), "replaces", from.String())
		return nil
	}
	if !c.reaching[to] {
		return discontinued(from)
	}
	if tagged {
		return nil
	}
	for _, h := range c.steps(to, r.merges) {
		if err := r.verifiedCommit(h, c.store.objects[h].data); err != nil {
			return fmt.Errorf("commit %[1]s came before it: %[2]w; to follow it anyway, push a signed commit on top whose message has the line %[3]s: %[4]s", h, err, ReplacesTrailer, from)
		}
	}
	return nil
}

// statedBy verifies the commit or tag that to is followed by.
func (r *Repository) statedBy(to plumbing.Hash, o rawObject, tagged bool) error {
	if !tagged {
		return r.verifiedCommit(to, o.data)
	}
	r.clone.store.put(o.kind, o.data)
	return r.verifiedTag(r.tags[to], to)
}

func unproved(h, at plumbing.Hash) error {
	return untrusted("commit %s is older than what was followed with keys: no trusted key signed commit %s", h, at)
}

func discontinued(from plumbing.Hash) error {
	return untrusted("it does not continue commit %[1]s, the last one that was followed: the branch was rewound or its history replaced; if that is intended, push a signed commit on top whose message has the line %[2]s: %[1]s", from, ReplacesTrailer)
}

func untrusted(format string, args ...any) error {
	return fleet.Errorf(fleet.Invalid, "trust it", "%w: %w", sources.ErrUntrusted, fmt.Errorf(format, args...))
}

// replaces reports whether the message of a signed commit or tag has ReplacesTrailer with
// h. What comes after the signature of a tag does not count.
func replaces(raw []byte, h plumbing.Hash) bool {
	content, _ := signedTag(raw)
	_, message, _ := bytes.Cut(content, []byte("\n\n"))
	for line := range bytes.Lines(message) {
		if string(bytes.TrimSpace(line)) == ReplacesTrailer+": "+h.String() {
			return true
		}
	}
	return false
}

// replaced returns the commit that the message of a signed commit says it replaces.
func replaced(raw []byte) (plumbing.Hash, bool) {
	_, message, _ := bytes.Cut(raw, []byte("\n\n"))
	for line := range bytes.Lines(message) {
		if text, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte(ReplacesTrailer+": ")); ok && isHash(string(text)) {
			return plumbing.NewHash(string(text)), true
		}
	}
	return plumbing.ZeroHash, false
}

// A chain has the commits since another commit.
type chain struct {
	store    *store
	from     plumbing.Hash
	parents  map[plumbing.Hash][]plumbing.Hash
	reaching map[plumbing.Hash]bool // commits that continue from
}

// between returns the commits of to that are not in the history of from.
func (r *Repository) between(ctx context.Context, from, to plumbing.Hash) (*chain, error) {
	st, err := r.clone.commitsSince(ctx, r.tip(to), from)
	if err != nil {
		return nil, err
	}
	c := &chain{store: st, from: from, parents: make(map[plumbing.Hash][]plumbing.Hash), reaching: make(map[plumbing.Hash]bool)}
	children := make(map[plumbing.Hash][]plumbing.Hash)
	for h, o := range st.objects {
		if o.kind != plumbing.CommitObject {
			continue
		}
		commit := &object.Commit{}
		if err := commit.Decode(o.encoded()); err != nil {
			return nil, fmt.Errorf("commit %s: %w: %w", h, errMalformed, err)
		}
		c.parents[h] = commit.ParentHashes
		for _, p := range commit.ParentHashes {
			children[p] = append(children[p], h)
		}
	}
	for todo := children[from]; len(todo) > 0; {
		h := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !c.reaching[h] {
			c.reaching[h] = true
			todo = append(todo, children[h]...)
		}
	}
	return c, nil
}

// steps returns the commits that led from c.from to h, with h. Where merges vouch for what
// they bring in, it follows of a merge only the first parent that leads to c.from.
func (c *chain) steps(h plumbing.Hash, merges bool) []plumbing.Hash {
	var out []plumbing.Hash
	seen := map[plumbing.Hash]bool{c.from: true}
	for todo := []plumbing.Hash{h}; len(todo) > 0; {
		h := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		parents, here := c.parents[h]
		if seen[h] || !here { // a commit that was not fetched is in the history of from
			continue
		}
		seen[h] = true
		out = append(out, h)
		if merges && len(parents) > 1 {
			parents = c.main(parents)
		}
		todo = append(todo, parents...)
	}
	return out
}

// main returns the first of the parents that leads to c.from.
func (c *chain) main(parents []plumbing.Hash) []plumbing.Hash {
	for i, p := range parents {
		if p == c.from || c.reaching[p] {
			return parents[i : i+1]
		}
	}
	return nil
}
