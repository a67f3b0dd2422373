package pullrequests

import (
	"context"
	"fmt"
	"slices"

	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// A poll has what is read once: the open pull requests, the recorded plans, the approvals.
type poll struct {
	owner     fleet.Owner
	config    fleet.PullRequests
	base      fleet.Revision
	stands    string        // why a merge brings more than the base and a head; empty: it does not
	all       []proposal    // that are open
	open      []proposal    // of those, onto the base and to be planned
	unplanned []proposal    // onto the base and not to be planned
	plans     []status.Plan // on the status branch
	approvals []fleet.Approval
	me        string        // who the forge takes the agent for; empty: not asked yet
	gone      []status.Plan // whose files leave the status branch
	unmerged  error         // why this poll merges nothing more
}

func (t *poll) isOpen(old status.Plan) bool {
	return slices.ContainsFunc(t.all, func(p proposal) bool { return p.Number == old.Number && p.ref == old.Ref })
}

// strange reports whether p is of somebody without push access, and no person with push access had
// it planned.
func (t *poll) strange(p proposal) bool {
	_, asked := t.approved(p, fleet.ApprovePlan)
	return p.Fork && !asked
}

// approved reports whether somebody who may approved that of the head of p.
func (t *poll) approved(p proposal, kind fleet.ApprovalKind) (fleet.Approval, bool) {
	i := slices.IndexFunc(t.approvals, func(a fleet.Approval) bool {
		return a.PullRequest == p.Number && a.Kind == kind && a.Head == p.Head && a.Distrusted == ""
	})
	if i < 0 {
		return fleet.Approval{}, false
	}
	return t.approvals[i], true
}

// plan returns what the status branch says of the proposal of that name.
func (t *poll) plan(name string) (status.Plan, bool) {
	i := slices.IndexFunc(t.plans, func(p status.Plan) bool { return p.Name() == name })
	if i < 0 {
		return status.Plan{}, false
	}
	return t.plans[i], true
}

// merge merges head onto base for a poll, which waits no longer than pollTime for that, and once.
func (q *PullRequests) merge(ctx context.Context, t *poll, base, head fleet.Revision) (sources.Merged, error) {
	if t.unmerged != nil {
		return sources.Merged{}, t.unmerged
	}
	ctx, cancel := context.WithTimeoutCause(ctx, pollTime, fleet.Errorf(fleet.Unavailable, "merge "+head.Short(), "not merged within %s", pollTime))
	defer cancel()
	err := q.lock(ctx)
	var m sources.Merged
	if err == nil {
		m, err = q.p.Source.Merge(ctx, base, head)
		q.unlock()
	}
	if err != nil && ctx.Err() != nil {
		t.unmerged = context.Cause(ctx)
		err = t.unmerged
	}
	return m, err
}

// begin asks for all that a poll begins with.
func (q *PullRequests) begin(ctx context.Context, owner fleet.Owner, config fleet.PullRequests) (*poll, error) {
	t := &poll{owner: owner, config: config, base: q.p.Fleet.Now().Revision(), stands: standing(q.p.Fleet.Now())}
	var err error
	if q.p.Forge != nil {
		if err := q.opened(ctx, t); err != nil {
			return nil, err
		}
	}
	if len(config.Refs) > 0 {
		if err := q.refs(ctx, t); err != nil {
			return nil, err
		}
	}
	if t.plans, err = q.p.Plans.List(ctx); err != nil && fleet.KindOf(err) != fleet.Invalid {
		return nil, err
	}
	if t.approvals, err = q.p.Approvals.List(ctx); err != nil && fleet.KindOf(err) != fleet.Invalid {
		return nil, err
	}
	q.choose(t)
	open := make(map[string]bool)
	for _, p := range t.all {
		open[p.name()] = true
	}
	for name := range q.known {
		if _, recorded := t.plan(name); !recorded && !open[name] {
			delete(q.known, name)
		}
	}
	return t, nil
}

// standing says why a merge brings more than plans onto the revision that is applied have: a newer one
// is there, and comes with the merge.
func standing(now rollout.State) string {
	newest := now.Newest()
	if newest == now.Revision() {
		return ""
	}
	why := "cannot be got yet"
	if now.Refused() == newest {
		why = "is refused"
	}
	return fmt.Sprintf("not all that a merge brings: %s, the newest commit, %s, and this is planned onto %s", newest.Short(), why, now.Revision().Short())
}

// opened adds the pull requests that are open to t.
func (q *PullRequests) opened(ctx context.Context, t *poll) error {
	list, err := q.p.Forge.Open(ctx)
	if err != nil {
		return err
	}
	for _, p := range list {
		t.all = append(t.all, proposal{PullRequest: p})
	}
	return nil
}

// choose adds the pull requests onto the followed branch to those that are planned: the newest, in the
// order of their numbers. Those of strangers follow, if fleet.yaml has them planned, and take no place of others.
func (q *PullRequests) choose(t *poll) {
	var pulls, strangers []proposal
	for _, p := range t.all {
		switch {
		case p.ref != "" || p.Base != t.base.Ref || p.State != forge.Open:
		case t.strange(p):
			strangers = append(strangers, p)
		default:
			pulls = append(pulls, p)
		}
	}
	if n := len(pulls) + len(strangers); n > maxOpen && (t.config.Forks || len(pulls) > maxOpen) {
		q.p.Log.Warn("too many open pull requests, planning the newest", "open", n, "planned", maxOpen)
	}
	older, pulls := newest(pulls, maxOpen)
	if t.config.Forks {
		var planned []proposal
		strangers, planned = newest(strangers, maxOpen-len(pulls))
		pulls = append(pulls, planned...)
	}
	_, strangers = newest(strangers, maxOpen) // strangers must not use up what the forge allows
	t.unplanned = slices.Concat(older, strangers)
	t.open = append(pulls, t.open...)
}

// newest returns the last n of list, and those before.
func newest(list []proposal, n int) (older, newest []proposal) {
	i := max(0, len(list)-n)
	return list[:i:i], slices.Clone(list[i:])
}
