package wiring

import (
	"context"

	"fairlead.dev/agent/secrets/escrow"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// A guardedBranch asks a question before each commit: a replica that was the
// leader until now must not write over what the new one wrote. Both are the same
// owner to Git, which so cannot tell them apart. A nil guard permits all.
type guardedBranch struct {
	sources.Branch
	guard func() error
}

// Commit implements sources.Branch.
func (b guardedBranch) Commit(ctx context.Context, base fleet.Revision, c sources.Commit) (fleet.Revision, error) {
	if err := ask(b.guard); err != nil {
		return fleet.Revision{}, err
	}
	return b.Branch.Commit(ctx, base, c)
}

// Compact implements sources.Compactor. On a branch that is none it does nothing.
func (b guardedBranch) Compact(ctx context.Context, base fleet.Revision, c sources.Compaction) (fleet.Revision, sources.History, error) {
	compactor, ok := b.Branch.(sources.Compactor)
	if !ok {
		return base, sources.History{}, nil
	}
	if err := ask(b.guard); err != nil {
		return fleet.Revision{}, sources.History{}, err
	}
	return compactor.Compact(ctx, base, c)
}

// A guardedPlace asks the same before it writes to an escrow.
type guardedPlace struct {
	escrow.Place
	guard func() error
}

// Write implements escrow.Place.
func (p guardedPlace) Write(ctx context.Context, s escrow.Snapshot, edits map[string][]byte, message string) error {
	if err := ask(p.guard); err != nil {
		return err
	}
	return p.Place.Write(ctx, s, edits, message)
}

func ask(guard func() error) error {
	if guard == nil {
		return nil
	}
	return guard()
}
