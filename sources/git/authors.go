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

// Authors implements sources.Authored. Of a history that was rewritten it returns who wrote the
// commits that from does not have.
func (r *Repository) Authors(ctx context.Context, from, to fleet.Revision) ([]string, error) {
	if from.Digest == to.Digest || !isHash(from.Hash()) || !isHash(to.Hash()) {
		return nil, nil
	}
	op := "find out who wrote " + to.Short() + " of " + r.name
	ctx, cancel := withTimeout(ctx, r.budget.Timeout)
	defer cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	c, err := r.between(ctx, hashOf(from.Digest), hashOf(to.Digest))
	if err != nil {
		return nil, classify(ctx, op, err)
	}
	people := make(map[string]bool)
	for h, parents := range c.parents {
		if len(parents) > 1 {
			continue
		}
		if err := r.authorsOf(h, c.store.objects[h], people); err != nil {
			return nil, classify(ctx, op, err)
		}
	}
	delete(people, "")
	return slices.Sorted(maps.Keys(people)), nil
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
