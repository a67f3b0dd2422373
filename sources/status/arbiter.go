package status

import (
	"context"
	"fmt"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// An Arbiter keeps the owner of a fleet in owner.yaml on a branch. Git is the
// lock: of two that change it at once, one push lands.
type Arbiter struct {
	branch sources.Branch
}

var _ sources.Arbiter = (*Arbiter)(nil)

// NewArbiter returns the arbiter on branch.
func NewArbiter(branch sources.Branch) *Arbiter { return &Arbiter{branch: branch} }

// Owner implements sources.Arbiter.
func (a *Arbiter) Owner(ctx context.Context) (fleet.Owner, error) {
	_, t, err := a.branch.Read(ctx)
	if err != nil {
		return fleet.Owner{}, err
	}
	return readOwner(t)
}

// Claim implements sources.Arbiter.
func (a *Arbiter) Claim(ctx context.Context, self string) (fleet.Owner, error) {
	if self == "" {
		return fleet.Owner{}, fleet.Errorf(fleet.Invalid, "claim the fleet", "the agent has no name")
	}
	return a.change(ctx, "claim the fleet for "+self, func(now fleet.Owner, _ bool) (fleet.Owner, string, error) {
		if now != (fleet.Owner{}) {
			return now, "", nil
		}
		return fleet.Owner{Agent: self, Epoch: 1}, fmt.Sprintf("owner: %s (epoch 1)", self), nil
	})
}

// HandOver implements sources.Arbiter.
func (a *Arbiter) HandOver(ctx context.Context, from fleet.Owner, to string) (fleet.Owner, error) {
	op := fmt.Sprintf("hand the fleet over from %s to %s", from.Agent, to)
	if to == "" || from.Agent == "" {
		return fleet.Owner{}, fleet.Errorf(fleet.Invalid, op, "an agent has no name")
	}
	next := fleet.Owner{Agent: to, Epoch: from.Epoch + 1}
	return a.change(ctx, op, func(now fleet.Owner, mayHave bool) (fleet.Owner, string, error) {
		switch {
		case now == next && mayHave:
			return now, "", nil // the push that was not answered did land
		case now != from:
			return fleet.Owner{}, "", fleet.Errorf(fleet.Conflict, op, "the owner is %q with epoch %d", now.Agent, now.Epoch)
		}
		return next, fmt.Sprintf("owner: %s → %s (epoch %d)", from.Agent, to, next.Epoch), nil
	})
}

// change reads the owner, has decide say who is to be the owner, and commits
// that, until there is an answer. decide learns whether an earlier push of this
// change may have landed.
func (a *Arbiter) change(ctx context.Context, op string, decide func(now fleet.Owner, mayHave bool) (fleet.Owner, string, error)) (fleet.Owner, error) {
	mayHave := false
	for wait := (backoff{}); ; {
		head, t, err := a.branch.Read(ctx)
		if err != nil {
			return fleet.Owner{}, err
		}
		now, err := readOwner(t)
		if err != nil {
			return fleet.Owner{}, err
		}
		next, why, err := decide(now, mayHave)
		if err != nil || next == now {
			return next, err
		}
		b, err := encodeOwner(next)
		if err != nil {
			return fleet.Owner{}, err
		}
		_, err = a.branch.Commit(ctx, head, sources.Commit{
			Edits: map[string][]byte{ownerPath: b}, Message: why, Trailers: trailers(fleet.Revision{}, next),
		})
		switch fleet.KindOf(err) {
		case fleet.Conflict:
		case fleet.Unanswered:
			mayHave = true
		default:
			if err != nil {
				return fleet.Owner{}, err
			}
			return next, nil
		}
		if wait.sleep(ctx) != nil {
			return fleet.Owner{}, fleet.Errorf(fleet.KindOf(err), op, "%w", err)
		}
	}
}

// trailers returns the trailers of a commit.
func trailers(rev fleet.Revision, o fleet.Owner) []string {
	var t []string
	if !rev.IsZero() {
		t = append(t, "Fairlead-Revision: "+rev.String())
	}
	return append(t, "Fairlead-Agent: "+o.Agent, fmt.Sprintf("Fairlead-Epoch: %d", o.Epoch))
}
