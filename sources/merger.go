package sources

import (
	"context"

	"fairlead.dev/fleet"
)

// A Merger is a Source that says what a merge of one commit into another would be. It
// changes nothing, here or on the server.
type Merger interface {
	// Merge returns the tree of head merged onto base, by what both changed since they
	// parted. Neither is verified. Errors are as Fetch's; Invalid also says that the two
	// have no common history, or one that no single commit stands for.
	Merge(ctx context.Context, base, head fleet.Revision) (Merged, error)
	// Refs returns the refs whose full names match one of patterns, sorted by name. In a
	// pattern * and ? are within a segment.
	Refs(ctx context.Context, patterns []string) ([]fleet.Revision, error)
}

// Merged is what a merge would be.
type Merged struct {
	Tree   Tree   // nil where there are Conflicts
	Digest string // of the root of the repository: equal digests mean equal content
	Since  string // the commit that both continue, in hex
	// Conflicts are the paths that both sides changed in different ways, sorted, not more
	// than a hundred.
	Conflicts []string
	// Contained says that base continues head already: there is nothing to merge.
	Contained bool
}
