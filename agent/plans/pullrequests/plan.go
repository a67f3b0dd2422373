package pullrequests

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/agent/plans/preview"
	"fairlead.dev/agent/plans/scope"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// facts identifies what is known of clusters.
func (q *PullRequests) facts(clusters []fleet.Key) string { return factsOf(clusters, q.fact) }

// fact identifies what is known of a cluster.
func (q *PullRequests) fact(k fleet.Key) string {
	r, passed := q.p.Fleet.Report(k)
	return fleet.DigestOf(k, passed, r.Phase, r.Machines, r.Failure, r.Waiting)
}

func factsOf(clusters []fleet.Key, fact func(fleet.Key) string) string {
	var all []any
	for _, c := range clusters {
		all = append(all, fact(c))
	}
	return fleet.DigestOf(all...)
}

// make plans p, by its merge and why there is none. An error may pass; what is wrong with the merge is in the
// plan. It is safe for concurrent use.
func (q *PullRequests) make(ctx context.Context, t *poll, p proposal, merged sources.Merged, err error) (made, error) {
	out := status.Plan{Number: p.Number, Ref: p.ref, Head: p.Head, Base: t.base.String()}
	switch {
	case fleet.KindOf(err) == fleet.Invalid:
		return q.unplannable(out, "it cannot be merged here", []string{fleet.OneLine(err)}), nil
	case err != nil:
		return made{}, err
	case merged.Contained && p.ref != "":
		out.Verdict = verdictMerged
		return made{Plan: out}, nil
	case len(merged.Conflicts) > 0:
		return q.unplannable(out, "it conflicts with "+t.base.Ref+": update the branch", merged.Conflicts), nil
	}
	out.Tree = merged.Digest
	before, err := q.bases.of(ctx, q.p, t.base)
	if err != nil {
		return made{}, err
	}
	after, err := q.p.Renderer.Render(ctx, headOf(p), merged.Tree)
	if fleet.KindOf(err) == fleet.Invalid {
		return q.unplannable(out, "the merge cannot be used", strings.Split(err.Error(), "; ")), nil
	}
	if err != nil {
		return made{}, err
	}
	if late := later(before, after); len(late) > 0 {
		return made{}, fleet.Errorf(fleet.Unavailable, "render the merge", "the pinned sources of these are not available yet: %s", strings.Join(late, ", "))
	}
	recorded, err := q.p.Recorded(ctx)
	if err != nil {
		return made{}, err
	}
	return q.compare(ctx, t, p, out, before, after, recorded)
}

// later returns the overlays whose sources cannot be got yet after a merge, and could before it.
func later(before, after fleet.Fleet) []string {
	return slices.DeleteFunc(slices.Clone(after.Unavailable), func(o string) bool { return slices.Contains(before.Unavailable, o) })
}

// unplannable returns the plan of what cannot be planned, because of the pull request itself.
func (q *PullRequests) unplannable(out status.Plan, why string, details []string) made {
	out.Verdict, out.Summary, out.Headline, out.Fleet = string(forge.Failure), why, why, q.fleetName()
	out.Failures, out.Remarks = []string{why}, details
	return made{out.Bounded(), q.facts(nil)}
}

// compare says what the fleet after a merge changes that the fleet before it does not.
func (q *PullRequests) compare(ctx context.Context, t *poll, p proposal, out status.Plan, before, after fleet.Fleet, recorded status.Status) (made, error) {
	looks := &looks{q: q, seen: make(map[fleet.Key]*look)}
	plans := [2]*preview.Plan{}
	skip := func(c *fleet.Cluster) bool { return preview.Alike(plans[0], plans[1], c.Key) }
	for i, f := range []fleet.Fleet{before, after} {
		plans[i] = preview.New(preview.Options{Fleet: f, Status: recorded, Scope: scope.All, Skip: skip})
	}
	known := make(map[fleet.Key]string) // before anything is looked at: what changes then is planned with again
	for _, c := range slices.Concat(before.Clusters, after.Clusters) {
		known[c.Key] = ""
	}
	for k := range known {
		known[k] = q.fact(k)
	}
	for _, p := range plans {
		if err := p.Look(ctx, looks); err != nil {
			return made{}, err
		}
	}
	plans[1].Compare(before, plans[0])
	for _, u := range plans[1].Unseen {
		q.p.Log.Warn("cannot look at a cluster for a plan", "proposal", p.name(), "cluster", u.Cluster, "error", u.Err)
	}
	out.Look = looks.digest()
	out.Clusters = differing(before, after, skip)
	out.Fleet = q.fleetName()
	out = compared(out, plans[0], plans[1], q.p.Apart, t.stands)
	out.Failures = failures(ctx, t.config.Fail, out, before, after)
	out.Verdict, out.Summary = string(forge.Success), out.Headline
	switch a, accepted := t.approved(p, fleet.ApproveChanges); {
	case len(out.Errors) > 0:
		out.Verdict = string(forge.Error)
	case len(out.Failures) > 0 && accepted:
		out.Accepted = "accepted for this head by " + a.By
		if a.Reason != "" {
			out.Accepted += ": " + a.Reason
		}
	case len(out.Failures) > 0:
		out.Verdict, out.Summary = string(forge.Failure), "fails: "+strings.Join(out.Failures, "; ")
		if t.stands != "" {
			out.Summary = t.stands + "; " + out.Summary
		}
	}
	return made{out.Bounded(), factsOf(out.Clusters, func(k fleet.Key) string { return known[k] })}, nil
}

// differing returns the clusters that are to be something else after a merge, or sooner or later.
func differing(before, after fleet.Fleet, skip func(*fleet.Cluster) bool) []fleet.Key {
	was := make(map[fleet.Key]string)
	for _, c := range before.Clusters {
		was[c.Key] = c.Digest
	}
	var out []fleet.Key
	for _, c := range after.Clusters {
		if was[c.Key] != c.Digest || !skip(&c) {
			out = append(out, c.Key)
		}
		delete(was, c.Key)
	}
	out = slices.AppendSeq(out, maps.Keys(was))
	slices.SortFunc(out, fleet.Key.Compare)
	return out
}

// looks looks at each cluster once, by what is followed.
type looks struct {
	q *PullRequests

	mu   sync.Mutex
	seen map[fleet.Key]*look
}

type look struct {
	once sync.Once
	seen fleet.Observed
	err  error
}

var _ preview.Looker = (*looks)(nil)

// Look implements preview.Looker.
func (l *looks) Look(ctx context.Context, c *fleet.Cluster) (fleet.Observed, error) {
	target, known := l.q.p.Fleet.Now().Target(c.Key)
	is := target.Cluster
	if known && is == nil {
		return fleet.Observed{}, fleet.Errorf(fleet.Invalid, "look at "+c.Key.String()+" before the merge", "no definition of it can be used now (%s)", target.Why)
	}
	if is != nil {
		r, _ := l.q.p.Fleet.Report(c.Key)
		is = is.WithResidence(r.Residence)
	}
	l.mu.Lock()
	one := l.seen[c.Key]
	if one == nil {
		one = &look{}
		l.seen[c.Key] = one
	}
	l.mu.Unlock()
	one.once.Do(func() { one.seen, one.err = l.q.p.Looker.Look(ctx, is, c) })
	if one.err != nil {
		return fleet.Observed{}, one.err
	}
	return l.q.p.Looker.As(c, one.seen), nil
}

// digest identifies what was seen, but for when.
func (l *looks) digest() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var keys []fleet.Key
	for k := range l.seen {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, fleet.Key.Compare)
	var all []any
	for _, k := range keys {
		o := l.seen[k].seen
		for _, m := range o.Infrastructure.Machines {
			all = append(all, k, m.Name, m.ProviderID, m.Template, m.State)
		}
		all = append(all, k, o.Infrastructure.Exists, o.Infrastructure.Ready, o.Workload.Reachable)
	}
	return fleet.DigestOf(all...)[:8]
}

// baseFleet is what is followed, rendered as pull requests are.
type baseFleet struct {
	mu  sync.Mutex
	rev fleet.Revision
	is  fleet.Fleet
}

// of returns the fleet at rev. Those who ask meanwhile wait for it.
func (b *baseFleet) of(ctx context.Context, p Parts, rev fleet.Revision) (fleet.Fleet, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rev == rev {
		return b.is, nil
	}
	tree, err := p.Source.Fetch(ctx, rev)
	if err != nil {
		return fleet.Fleet{}, err
	}
	f, err := p.Renderer.Render(ctx, rev, tree)
	if err != nil {
		return fleet.Fleet{}, err
	}
	b.rev, b.is = rev, f
	return f, nil
}

var _ sources.Merger = Source(nil)
