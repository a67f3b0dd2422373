package status

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// Guarded returns b for a process that may lose the right to write: may is called before
// each commit, and returns an error where the right is lost. An earlier leader of the
// replicas must not overwrite what the new one wrote. Git cannot tell them apart, since
// both are the same owner. Nil: the process is alone.
func Guarded(b sources.Branch, may func() error) sources.Branch {
	if may == nil {
		return guarded{Branch: b, may: func() error { return nil }}
	}
	return guarded{b, may, true}
}

type guarded struct {
	sources.Branch
	may     func() error
	elected bool // may says that no other process of the agent acts
}

// Commit implements sources.Branch.
func (g guarded) Commit(ctx context.Context, base fleet.Revision, c sources.Commit) (fleet.Revision, error) {
	if err := g.may(); err != nil {
		return fleet.Revision{}, err
	}
	return g.Branch.Commit(ctx, base, c)
}

// Compact implements sources.Compactor. Without one it does nothing.
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
