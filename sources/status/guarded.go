package status

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// Guarded returns b for a process that may lose the right to write: may is asked before each
// commit, and an error says why not. A replica that was the leader until now must not write
// over what the new one wrote. Both are the same owner to Git, which so cannot tell them
// apart. A nil may is a process that is alone.
func Guarded(b sources.Branch, may func() error) sources.Branch {
	if may == nil {
		may = func() error { return nil }
	}
	return guarded{b, may}
}

type guarded struct {
	sources.Branch
	may func() error
}

// Commit implements sources.Branch.
func (g guarded) Commit(ctx context.Context, base fleet.Revision, c sources.Commit) (fleet.Revision, error) {
	if err := g.may(); err != nil {
		return fleet.Revision{}, err
	}
	return g.Branch.Commit(ctx, base, c)
}

// Compact implements sources.Compactor. On a branch that is none it does nothing.
func (g guarded) Compact(ctx context.Context, base fleet.Revision, c sources.Compaction) (fleet.Revision, sources.History, error) {
	compactor, ok := g.Branch.(sources.Compactor)
	if !ok {
		return base, sources.History{}, nil
	}
	if err := g.may(); err != nil {
		return fleet.Revision{}, sources.History{}, err
	}
	return compactor.Compact(ctx, base, c)
}
