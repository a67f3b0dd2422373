package git

import (
	"context"

	"fairlead.dev/fleet"
)

// MayPush asks the server whether the credential may push at all, and pushes nothing. What
// protects a single branch shows only in a push to it. The error is of kind Unauthorized, or
// NotFound, where the server says no.
func (r *Repository) MayPush(ctx context.Context) error {
	op := "push to " + r.name
	ctx, cancel := withTimeout(ctx, r.budget.ListTimeout)
	defer cancel()
	s, err := r.remote.open(ctx, receivePack)
	if err != nil {
		return classify(ctx, op, err)
	}
	defer s.close()
	if _, err := s.refs(ctx); err != nil && !isEmpty(err) {
		err = classify(ctx, op, err)
		if fleet.KindOf(err) == fleet.Unknown {
			return fleet.Errorf(fleet.Unauthorized, op, "%w", err)
		}
		return err
	}
	return nil
}
