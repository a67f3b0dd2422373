package pullrequests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/agent/forge"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
)

// Requests are what people ask for. See sources/status.Requests.
type Requests interface {
	// Ask leaves r on the branch. While the same is asked for already the error is of kind
	// Conflict.
	Ask(ctx context.Context, r fleet.Request) error
}

// approve asks, in the name of those who reviewed what waits, that it may come. Their word
// reaches the fleet as that of somebody who asked by hand does.
func (q *PullRequests) approve(ctx context.Context, t *turn) error {
	waiting := q.p.Fleet.Now().Reviewable()
	if q.p.Forge == nil || q.p.Requests == nil {
		return nil
	}
	var errs []error
	for _, r := range waiting {
		if q.asked[r.Stage] == r.Of {
			continue // it was refused, and would be again
		}
		by, err := q.approvers(ctx, t, r)
		if isLimit(err) {
			return err
		}
		if err != nil || by == "" || !q.owns() {
			errs = append(errs, err)
			continue
		}
		q.p.Log.Info("approving a stage by review", "stage", r.Stage, "of", r.Of, "by", by)
		err = q.p.Requests.Ask(ctx, fleet.Request{
			Kind: fleet.RequestRelease, Stage: r.Stage, Release: fleet.ReleaseApprove, Of: r.Of, By: by, At: time.Now().UTC().Truncate(time.Second),
		})
		if err == nil || fleet.KindOf(err) == fleet.Conflict { // somebody asks for it already
			q.asked[r.Stage], err = r.Of, nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// approvers says who approved of all that r waits with, and where; empty: nobody did of some of it.
func (q *PullRequests) approvers(ctx context.Context, t *turn, r rollout.Reviewable) (string, error) {
	var by []string
	for _, o := range r.Origins {
		one, err := q.approver(ctx, t, r.Reviewers, o)
		if err != nil || one == "" {
			return "", err
		}
		by = append(by, one)
	}
	slices.Sort(by)
	return strings.Join(slices.Compact(by), "; "), nil
}

// approver says who of reviewers approved of the pull request that was the step o, and of which;
// empty: nobody did.
func (q *PullRequests) approver(ctx context.Context, t *turn, reviewers []string, o fleet.WaveOrigin) (string, error) {
	named := func(r forge.Review) bool {
		return slices.ContainsFunc(reviewers, func(name string) bool { return strings.EqualFold(name, r.Author) })
	}
	for _, old := range slices.Backward(t.plans) {
		if old.Number == 0 || t.isOpen(old) {
			continue
		}
		p, err := q.ended(ctx, old.Number)
		if fleet.KindOf(err) == fleet.NotFound {
			continue
		}
		if err != nil {
			return "", err
		}
		if is, err := q.brought(ctx, t, p, o); err != nil || !is {
			if err != nil {
				return "", err
			}
			continue
		}
		list, err := q.p.Forge.Reviews(ctx, p)
		if err != nil {
			return "", err
		}
		if slices.ContainsFunc(list, func(r forge.Review) bool { return named(r) && !r.Approves }) {
			return "", nil
		}
		i := slices.IndexFunc(list, func(r forge.Review) bool {
			return named(r) && r.Commit == p.Head && !strings.EqualFold(r.Author, p.Author)
		})
		if i < 0 {
			return "", nil
		}
		return fmt.Sprintf("%s, reviewing pull request %d", list[i].Author, p.Number), nil
	}
	return "", nil
}

// brought reports whether p was the step o and nothing besides: what was followed before, merged
// with the head of p, is what was followed then. However the forge merged it, that is what those
// who reviewed the head could see.
func (q *PullRequests) brought(ctx context.Context, t *turn, p forge.PullRequest, o fleet.WaveOrigin) (bool, error) {
	if p.State != forge.Merged || p.Base != t.base.Ref || p.Head == "" {
		return false, nil
	}
	merged, err := q.merge(ctx, t, o.From, headOf(proposal{PullRequest: p}))
	if fleet.KindOf(err) == fleet.Invalid {
		return false, nil
	}
	if err != nil || merged.Contained || len(merged.Conflicts) > 0 {
		return false, err
	}
	is, err := q.merge(ctx, t, o.To, o.To)
	return is.Digest == merged.Digest, err
}

// unreviewed says why the reviews that fleet.yaml wants count for nothing; empty: they do.
func (q *PullRequests) unreviewed() string {
	w := q.p.Fleet.Now().Config().Waves
	stages := slices.Clone(w.Stages)
	for _, c := range w.Classes {
		stages = append(stages, c.Stages...)
	}
	i := slices.IndexFunc(stages, func(s fleet.Stage) bool { return len(s.Reviewers) > 0 })
	if i < 0 || q.p.Forge != nil && q.p.Requests != nil {
		return ""
	}
	return fmt.Sprintf("stage %s names reviewers, and the source is on no Git provider whose reviews can be read: name one with --forge, or approve with fairlead release %s --approve", stages[i].Name, stages[i].Name)
}
