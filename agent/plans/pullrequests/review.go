package pullrequests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
	"fairlead.dev/sources/status"
)

// Requests are what people ask for. See sources/status.Requests.
type Requests interface {
	// Ask leaves r on the branch. While the same is asked for already the error is of kind
	// Conflict. It wraps status.ErrMoved if the status was moved to another branch.
	Ask(ctx context.Context, r fleet.Request) error
}

// approve asks, in the name of those who reviewed what waits, that it may come. Their word
// reaches the fleet as that of somebody who asked by hand does.
func (q *PullRequests) approve(ctx context.Context, t *poll) error {
	waiting := q.p.Fleet.Now().Reviewable()
	if q.p.Forge == nil || q.p.Requests == nil {
		return nil
	}
	var errs []error
	for _, r := range waiting {
		if q.asked[r.Stage] == r.Of {
			continue // it was refused, and would be again
		}
		by, accounts, err := q.approvers(ctx, t, r)
		if isLimit(err) {
			return err
		}
		if err != nil || by == "" || !q.owns() {
			errs = append(errs, err)
			continue
		}
		q.p.Log.Info("approving a stage by review", "stage", r.Stage, "of", r.Of, "by", by)
		err = q.p.Requests.Ask(ctx, fleet.Request{
			Kind: fleet.RequestRelease, Stage: r.Stage, Release: fleet.ReleaseApprove, Of: r.Of, By: by, Reviewers: accounts, At: time.Now().UTC().Truncate(time.Second),
		})
		// Somebody asks for it already, who may be one of several.
		conflict := fleet.KindOf(err) == fleet.Conflict && !errors.Is(err, status.ErrMoved)
		if err == nil || conflict && r.Approvals == 0 {
			q.asked[r.Stage] = r.Of
		}
		if conflict {
			err = nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// approvers says who approved of all that r waits with, and where; empty: not enough people approved
// of some of it. If the stage says how many, it returns their accounts, too.
func (q *PullRequests) approvers(ctx context.Context, t *poll, r rollout.Reviewable) (by string, accounts []string, err error) {
	var words []string
	for _, o := range r.Origins {
		of, who, err := q.approversOf(ctx, t, r.Reviewers, o)
		if err != nil || len(who) < max(1, r.Approvals) {
			return "", nil, err
		}
		who = who[:max(1, r.Approvals)]
		words, accounts = append(words, fmt.Sprintf("%s, reviewing pull request %d", strings.Join(who, " and "), of)), append(accounts, who...)
	}
	if r.Approvals == 0 {
		accounts = nil
	}
	slices.Sort(words)
	slices.Sort(accounts)
	return strings.Join(slices.Compact(words), "; "), slices.Compact(accounts), nil
}

// approversOf returns the pull request that was the step o, and those of reviewers who approved of it
// and wrote no part of it.
func (q *PullRequests) approversOf(ctx context.Context, t *poll, reviewers []string, o fleet.WaveOrigin) (number int, who []string, err error) {
	named := func(r forge.Review) bool { return containsFold(reviewers, r.Author) }
	for _, old := range slices.Backward(t.plans) {
		if old.Number == 0 || t.isOpen(old) {
			continue
		}
		p, err := q.ended(ctx, old.Number)
		if fleet.KindOf(err) == fleet.NotFound {
			continue
		}
		if err != nil {
			return 0, nil, err
		}
		if is, err := q.brought(ctx, t, p, o); err != nil || !is {
			if err != nil {
				return 0, nil, err
			}
			continue
		}
		list, err := q.p.Forge.Reviews(ctx, p)
		if err != nil {
			return 0, nil, err
		}
		if slices.ContainsFunc(list, func(r forge.Review) bool { return named(r) && !r.Approves }) {
			return 0, nil, nil
		}
		for _, r := range list {
			if named(r) && r.Commit == p.Head {
				who = append(who, r.Author)
			}
		}
		if len(who) == 0 {
			return 0, nil, nil
		}
		authors, err := q.authors(ctx, p)
		return p.Number, slices.DeleteFunc(who, func(a string) bool { return containsFold(authors, a) }), err
	}
	return 0, nil, nil
}

// authors returns the accounts that wrote p, which is merged: who opened it, and who wrote its
// commits, as far as the forge knows. That is final, and is asked for once.
func (q *PullRequests) authors(ctx context.Context, p forge.PullRequest) ([]string, error) {
	k := q.of(proposal{PullRequest: p})
	if k.authors == nil {
		list, err := q.p.Forge.Authors(ctx, p)
		if err != nil {
			return nil, err
		}
		k.authors = append(list, p.Author)
	}
	return k.authors, nil
}

// containsFold reports whether list has an account, in any case.
func containsFold(list []string, account string) bool {
	return slices.ContainsFunc(list, func(one string) bool { return strings.EqualFold(one, account) })
}

// brought reports whether p was the step o and nothing besides: what was followed before, merged
// with the head of p, is what was followed then. However the forge merged it, that is what those
// who reviewed the head could see.
func (q *PullRequests) brought(ctx context.Context, t *poll, p forge.PullRequest, o fleet.WaveOrigin) (bool, error) {
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
