package pullrequests

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/agent/plans/document"
	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/forecast"
	"fairlead.dev/sources/status"
)

// maxTries is how often the result is offered to a pull request that takes no comment.
const maxTries = 5

// conclude tells the pull requests that were planned and are not open any more what became of them, until all
// of it is as merged. Then nothing of them stays on the status branch.
func (q *PullRequests) conclude(ctx context.Context, t *poll) error {
	var ended []proposal
	for _, old := range t.plans {
		if !t.isOpen(old) {
			ended = append(ended, proposal{forge.PullRequest{Number: old.Number, Head: old.Head}, old.Ref})
		}
	}
	return q.each(ctx, ended, "cannot report the result to a pull request, retrying", func(p proposal) error {
		old, _ := t.plan(p.name())
		done, err := q.report(ctx, t, old)
		if done {
			t.gone = append(t.gone, old)
		}
		return err
	})
}

// report tells a pull request what became of it, and reports whether nothing more is to be told.
func (q *PullRequests) report(ctx context.Context, t *poll, old status.Plan) (done bool, err error) {
	switch {
	case old.Ref != "":
		return true, nil
	case q.p.Forge == nil:
		return true, nil // nothing says any more what becomes of it
	}
	p, err := q.ended(ctx, old.Number)
	switch {
	case fleet.KindOf(err) == fleet.NotFound, err == nil && p.State == forge.Closed:
		return true, nil
	case err != nil:
		return false, err
	case p.State == forge.Open:
		return false, nil // it was opened again, or the list was old
	}
	k := q.of(proposal{PullRequest: p})
	if k.shown.Head == "" {
		k.plan, k.shown, k.recorded = old, old, true
	}
	o, err := q.outcome(ctx, t, p, k.plan)
	if err == nil && !o.Done {
		err = q.keepBase(ctx, t, k)
	}
	if err != nil {
		return false, err
	}
	merged := k.plan
	merged.Result, merged.Fleet = &o, q.fleetName()
	err = q.comment(ctx, t, k, old.Number, mark(q.p.Fleet.Now().ID())+document.Markdown(merged))
	unheard := k.commenting.failures >= maxTries
	return o.Done && (unheard || err == nil && k.commenting.failures == 0 && !k.doubtful), err
}

// keepBase writes to the status branch what a plan that was merged was last made onto: the next process
// compares the merge with it. While the pull request is open that is not written with each commit to the base.
func (q *PullRequests) keepBase(ctx context.Context, t *poll, k *known) error {
	if k.plan.Tree == k.shown.Tree || k.plan.Head != k.shown.Head {
		return nil
	}
	next := k.shown
	next.Base, next.Tree = k.plan.Base, k.plan.Tree
	next.Text = document.Markdown(next)
	err := q.p.Plans.Write(ctx, t.owner, []status.Plan{next}, nil)
	if err == nil {
		k.shown, k.recorded = next, true
	}
	return err
}

// ended returns a pull request that is not open any more. One that was merged stays so, and is asked for once.
func (q *PullRequests) ended(ctx context.Context, number int) (forge.PullRequest, error) {
	k := q.known[status.Plan{Number: number}.Name()]
	if k != nil && k.ended != nil {
		return *k.ended, nil
	}
	p, err := q.p.Forge.PullRequest(ctx, number)
	if err == nil && p.State == forge.Merged {
		q.of(proposal{PullRequest: p}).ended = &p
	}
	return p, err
}

// outcome compares what is with what was planned.
func (q *PullRequests) outcome(ctx context.Context, t *poll, p forge.PullRequest, plan status.Plan) (status.PlanResult, error) {
	var o status.PlanResult
	if o.Waits = q.refused(); len(o.Waits) > 0 {
		return o, nil
	}
	if p.Result == "" {
		o.Differs = append(o.Differs, "the forge does not report the merge commit")
	} else {
		result := fleet.Revision{Ref: t.base.Ref, Digest: "sha1:" + p.Result}
		m, err := q.merge(ctx, t, t.base, result)
		if err != nil && fleet.KindOf(err) != fleet.Invalid {
			return o, err
		}
		if err != nil || !m.Contained {
			o.Waits = append(o.Waits, "the agent does not follow the merge yet")
			return o, nil
		}
		if m, err = q.merge(ctx, t, result, result); err != nil {
			return o, err
		}
		if m.Digest != plan.Tree || plan.Head != p.Head {
			o.Differs = append(o.Differs, "the merge differs from the last plan: it has other changes, or a later head")
		}
	}
	became := q.became(plan)
	became.Differs = append(o.Differs, became.Differs...)
	return became, nil
}

// became says what became of the clusters of a plan that the base has.
func (q *PullRequests) became(plan status.Plan) status.PlanResult {
	var o status.PlanResult
	behind := q.p.Fleet.Now().Status().Behind
	if o.Waits = q.refused(); len(o.Waits) > 0 {
		return o
	}
	for _, c := range plan.Clusters {
		if why := q.waits(c, behind); why != "" {
			o.Waits = append(o.Waits, c.String()+": "+why)
			continue
		}
		o.AsMerged = append(o.AsMerged, c.String())
		o.Differs = append(o.Differs, q.differs(c, plan.Changes)...)
	}
	o.Done = len(o.Waits) == 0
	return o
}

// refused says why the newest revision cannot be used; nothing: it can.
func (q *PullRequests) refused() []string {
	now := q.p.Fleet.Now()
	refused := now.Refused()
	if refused.IsZero() || refused != now.Newest() {
		return nil
	}
	var out []string
	for _, problem := range now.Problems() {
		out = append(out, "the newest revision is refused: "+problem.String())
	}
	return out
}

// waits says why cluster k is not as merged; empty: it is.
func (q *PullRequests) waits(k fleet.Key, behind []fleet.Key) string {
	target, known := q.p.Fleet.Now().Target(k)
	r, passed := q.p.Fleet.Report(k)
	switch {
	case !known:
		return "" // it is gone
	case len(target.Problems) > 0:
		return target.Problems[0].String()
	case !target.InGit && target.Pruned && r.Phase != fleet.PhaseDeleted:
		return "it is being deleted"
	case !target.InGit:
		return ""
	case r.Failure != "":
		return "failed: " + q.failureOf(r)
	case !passed || slices.Contains(behind, k):
		if len(r.Waiting) > 0 && q.p.Apart {
			return "it waits: fairlead status has the reason"
		}
		if len(r.Waiting) > 0 {
			return "it waits: " + fleet.StableText(strings.Join(r.Waiting, "; "))
		}
		return "it is on its way, in phase " + string(r.Phase)
	}
	return ""
}

// failureOf returns the words of a failure, or who has them.
func (q *PullRequests) failureOf(r fleet.Report) string {
	if q.p.Apart {
		return "fairlead status has the reason"
	}
	return fleet.StableText(r.Failure)
}

// differs says what of the machines of a cluster that is as merged is not as planned.
func (q *PullRequests) differs(k fleet.Key, changes []status.PlannedChange) []string {
	r, _ := q.p.Fleet.Report(k)
	there := make(map[string]bool, len(r.Machines))
	for _, m := range r.Machines {
		there[string(m.Machine.Name)] = true
	}
	var out []string
	for _, c := range changes {
		if c.Cluster != k.String() || c.Machine == "" {
			continue
		}
		switch forecast.ChangeKind(c.Change) {
		case forecast.CreateMachine:
			if !there[c.Machine] {
				out = append(out, fmt.Sprintf("%s: machine %s was to be created, and is not there", k, c.Machine))
			}
		case forecast.DeleteMachine:
			if there[c.Machine] {
				out = append(out, fmt.Sprintf("%s: machine %s was to be deleted, and is there", k, c.Machine))
			}
		default: // a replacement may have the name of the machine before it
		}
	}
	return out
}
