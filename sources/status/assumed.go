package status

import (
	"context"
	"errors"
	"io/fs"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// Assume returns what Begin would for the owner of, without a push. Until Settle the branch is
// read as if it had been written, as long as it says the same owner and process as now: another
// process that begins, and another owner, are read as usual.
func (a *Arbiter) Assume(ctx context.Context, of fleet.Owner) (fleet.Owner, fleet.Succession, error) {
	_, t, err := a.branch.Read(ctx)
	if err != nil {
		return fleet.Owner{}, fleet.Succession{}, err
	}
	next, begun, err := a.next(t, of, opBegin(of))
	switch {
	case err != nil:
		return fleet.Owner{}, fleet.Succession{}, err
	case begun:
		return next.owner, next.next, nil
	}
	if before := a.newest().owner; before != of {
		return fleet.Owner{}, fleet.Succession{}, fleet.Errorf(fleet.Conflict, opBegin(of), "another process began meanwhile: the branch says process %d, and it was process %d", before.Incarnation, of.Incarnation)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.assumed, a.before = next.owner, of
	return next.owner, next.next, nil
}

// asAssumed returns now with the process that Assume returned, if the branch says what it said
// then. The caller holds a.mu.
func (a *Arbiter) asAssumed(now ownership) ownership {
	if a.assumed != (fleet.Owner{}) && now.owner == a.before {
		now.owner = a.assumed
	}
	return now
}

// Settle writes what Assume returned. It does nothing if that is written.
func (a *Arbiter) Settle(ctx context.Context) error {
	a.mu.Lock()
	assumed := a.assumed
	a.mu.Unlock()
	if assumed == (fleet.Owner{}) {
		return nil
	}
	var next ownership
	err := commit(ctx, a.branch, opBegin(assumed), func(t fs.FS, _ bool) (sources.Commit, error) {
		now, distrust, err := a.read(t)
		if err = errors.Join(err, distrust); err != nil {
			return sources.Commit{}, err
		}
		if now.owner != assumed {
			return sources.Commit{}, moved(opBegin(assumed), now)
		}
		next = now
		return a.beginning(next)
	})
	if err == nil {
		a.believe(next)
	}
	return err
}
