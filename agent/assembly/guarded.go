package assembly

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// guarded returns b, with a question before each commit: a replica that was the
// leader until now must not write over what the new one wrote.
func guarded(b sources.Branch, guard func() error) sources.Branch {
	if guard == nil || b == nil {
		return b
	}
	return guardedBranch{b, guard}
}

type guardedBranch struct {
	sources.Branch
	guard func() error
}

// Commit implements sources.Branch.
func (b guardedBranch) Commit(ctx context.Context, base fleet.Revision, c sources.Commit) (fleet.Revision, error) {
	if err := b.guard(); err != nil {
		return fleet.Revision{}, err
	}
	return b.Branch.Commit(ctx, base, c)
}
