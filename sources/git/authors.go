package git

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// coAuthor names the others who wrote a commit, in its message: Git providers write it when they squash.
const coAuthor = "Co-authored-by"

var _ sources.Authored = (*Repository)(nil)

// mostJoins bounds the merges of one revision that are compared with what they join. Who made others is an
// author.
const mostJoins = 50

// mostJoined bounds the results that are kept.
const mostJoined = 10_000

// A joinAt is a merge, compared at a folder.
type joinAt struct {
	hash plumbing.Hash
	path string
}

// A join is a merge, with who wrote it if it changes more than it joins.
type join struct {
	hash    plumbing.Hash
	parents []plumbing.Hash
	people  map[string]bool
}

// Authors implements sources.Authored. Of a history that was rewritten it returns who wrote the
// commits that from does not have.
func (r *Repository) Authors(ctx context.Context, from, to fleet.Revision) ([]string, error) {
	if from.Digest == to.Digest || !isHash(from.Hash()) || !isHash(to.Hash()) {
		return nil, nil
	}
	op := "find out who wrote " + to.Short() + " of " + r.name
	ctx, cancel := withTimeout(ctx, r.budget.Timeout)
	defer cancel()
	people, joins, err := r.wrote(ctx, hashOf(from.Digest), hashOf(to.Digest))
	if err != nil {
		return nil, classify(ctx, op, err)
	}
	for i, j := range joins {
		only := false
		if i < mostJoins {
			if only, err = r.joinsOnlyOnce(ctx, j); err != nil {
				return nil, err // what is known of the merges before it stays
			}
		}
		if !only {
			maps.Copy(people, j.people)
		}
	}
	delete(people, "")
	return slices.Sorted(maps.Keys(people)), nil
}

// wrote returns who wrote the commits of to that are not in the history of from, and the merges among them,
// sorted.
func (r *Repository) wrote(ctx context.Context, from, to plumbing.Hash) (people map[string]bool, joins []join, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, err := r.between(ctx, from, to)
	if err != nil {
		return nil, nil, err
	}
	people = make(map[string]bool)
	for h, parents := range c.parents {
		who := people
		if len(parents) > 1 {
			who = make(map[string]bool)
			joins = append(joins, join{h, parents, who})
		}
		if err := r.authorsOf(h, c.store.objects[h], who); err != nil {
			return nil, nil, err
		}
	}
	slices.SortFunc(joins, func(a, b join) int { return slices.Compare(a.hash[:], b.hash[:]) })
	if len(joins) > 0 && r.joins == nil {
		r.joins = r.Merges()
	}
	return people, joins, nil
}

// joinsOnlyOnce does what joinsOnly does, and keeps the result: each comparison costs several requests.
func (r *Repository) joinsOnlyOnce(ctx context.Context, j join) (bool, error) {
	r.mu.Lock()
	at := joinAt{j.hash, r.clone.reach.path}
	only, ok := r.joined[at]
	r.mu.Unlock()
	if ok {
		return only, nil
	}
	only, err := r.joinsOnly(ctx, j)
	if err != nil {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.joined == nil || len(r.joined) >= mostJoined {
		r.joined = make(map[joinAt]bool)
	}
	r.joined[at] = only
	return only, nil
}

// joinsOnly reports whether a merge has what its two parents have, file by file, and nothing else. A
// conflict has no digest: the person who settled it changed more.
func (r *Repository) joinsOnly(ctx context.Context, j join) (bool, error) {
	if len(j.parents) != 2 {
		return false, nil
	}
	at := func(h plumbing.Hash) fleet.Revision { return fleet.Revision{Digest: digestOf(h)} }
	both, err := r.joins.Merge(ctx, at(j.parents[0]), at(j.parents[1]))
	if k := fleet.KindOf(err); k == fleet.Invalid || k == fleet.Exhausted {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	is, err := r.joins.Merge(ctx, at(j.hash), at(j.hash))
	return is.Digest == both.Digest, err
}

// authorsOf adds to people those of a commit.
func (r *Repository) authorsOf(h plumbing.Hash, raw rawObject, people map[string]bool) error {
	commit := &object.Commit{}
	if err := commit.Decode(raw.encoded()); err != nil {
		return fmt.Errorf("commit %s: %w: %w", h, errMalformed, err)
	}
	people[fleet.Person(commit.Author.Email)] = true
	people[fleet.Person(commit.Committer.Email)] = true
	for line := range strings.Lines(commit.Message) {
		if name, who, ok := strings.Cut(line, ":"); ok && strings.EqualFold(name, coAuthor) {
			people[fleet.Person(who)] = true
		}
	}
	if r.verify == nil {
		return nil
	}
	content, signature, err := signed(raw.data)
	if err != nil {
		return nil // whether it has to be signed is for Continues
	}
	if who, err := r.verify(content, signature); err == nil {
		people[fleet.Person(who)] = true
	}
	return nil
}
