package git

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"fairlead.dev/fleet"
)

// MayPush asks the server whether the credential has push access, and whether the branch can
// exist beside the others. It pushes nothing: protection and locks of a branch show only in a push
// to it. The error is of kind Unauthorized, or NotFound, if the server refuses.
func (r *Repository) MayPush(ctx context.Context, branch string) error {
	op := "push to " + r.name
	ctx, cancel := withTimeout(ctx, r.budget.ListTimeout)
	defer cancel()
	s, err := r.remote.open(ctx, receivePack)
	if err != nil {
		return classify(ctx, op, err)
	}
	defer s.close()
	ar, err := s.refs(ctx)
	if isEmpty(err) {
		return nil
	}
	if err != nil {
		err = classify(ctx, op, err)
		if fleet.KindOf(err) == fleet.Unknown {
			return fleet.Errorf(fleet.Unauthorized, op, "%w", err)
		}
		return err
	}
	if err := collision(ar, plumbing.NewBranchReferenceName(branch)); err != nil {
		return fleet.Errorf(fleet.Unauthorized, op, "%w", err)
	}
	return nil
}

// collision returns an error if ref is missing and cannot be created: another branch has a name that
// is a folder of ref, or is below it.
func collision(ar *packp.AdvRefs, ref plumbing.ReferenceName) error {
	if !ar.References[ref.String()].IsZero() {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(ar.References)) {
		if strings.HasPrefix(name, ref.String()+"/") || strings.HasPrefix(ref.String(), name+"/") {
			other := plumbing.ReferenceName(name).Short()
			return fmt.Errorf("branch %s exists, so Git cannot create branch %s (delete or rename branch %s, or set --status-branch)", other, ref.Short(), other)
		}
	}
	return nil
}
