package pullrequests

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlead.dev/agent/forge"
	"fairlead.dev/agent/preview"
	"fairlead.dev/agent/scope"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// of returns what was done for p.
func (q *PullRequests) of(p proposal) *known {
	k := q.known[p.name()]
	if k == nil {
		k = &known{}
		q.known[p.name()] = k
	}
	return k
}

// leave says on the head of p why it is not planned.
func (q *PullRequests) leave(ctx context.Context, t *turn, p proposal) error {
	why := fmt.Sprintf("not planned: more than %d pull requests are open, and newer ones are planned", maxOpen)
	if t.strange(p) {
		why = fmt.Sprintf("not planned, its head is no branch of this repository: fairlead approve %d --plan --head %s", p.Number, p.Head)
	}
	k := q.of(p)
	k.key = ""
	return q.setStatus(ctx, k, p, forge.Status{Name: StatusName, Verdict: forge.Pending, Text: why})
}

// propose plans p where that has to be done, and publishes what was planned.
func (q *PullRequests) propose(ctx context.Context, t *turn, p proposal) error {
	k := q.of(p)
	_, accepted := t.approved(p, fleet.ApproveChanges)
	key := fleet.DigestOf(p.Head, t.base, t.config, accepted, t.stands)
	facts := q.facts(k.plan.Clusters)
	if k.merged && key == k.key {
		return q.concludeRef(ctx, t, p)
	}
	if key != k.key || facts != k.facts && time.Since(k.at) >= lookGap {
		ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("planning took more than %s", patience))
		defer cancel()
		q.p.Log.Info("planning a proposal", "proposal", p.name(), "head", p.Head, "base", t.base)
		began := time.Now()
		plan, err := q.make(ctx, t, p)
		if err != nil {
			q.p.Done("error", time.Since(began))
			k.key = ""
			text := short("cannot be planned, trying again: "+fleet.StableText(err.Error()), forge.MaxText)
			return joinErrors(err, q.setStatus(ctx, k, p, forge.Status{Name: StatusName, Verdict: forge.Error, Text: text}))
		}
		if k.merged = plan.Verdict == verdictMerged; k.merged {
			k.key, k.facts = key, facts
			return q.concludeRef(ctx, t, p)
		}
		q.p.Done(plan.Verdict, time.Since(began))
		k.recorded = k.recorded && plan.Text == k.plan.Text
		k.key, k.at, k.plan, k.facts = key, time.Now(), plan, q.facts(plan.Clusters)
	}
	return q.publish(ctx, t, k, p)
}

// facts identifies what is known of clusters.
func (q *PullRequests) facts(clusters []fleet.Key) string {
	var all []any
	for _, c := range clusters {
		r, passed := q.p.Fleet.Report(c)
		all = append(all, c, passed, r.Phase, r.Machines, r.Failure, r.Waiting)
	}
	return fleet.DigestOf(all...)
}

// make plans p. An error may pass; what is wrong with the merge is in the plan.
func (q *PullRequests) make(ctx context.Context, t *turn, p proposal) (status.Plan, error) {
	head := fleet.Revision{Ref: p.name(), Digest: "sha1:" + p.Head}
	out := status.Plan{Number: p.Number, Ref: p.ref, Head: p.Head, Base: t.base.String()}
	merged, err := q.p.Source.Merge(ctx, t.base, head)
	switch {
	case fleet.KindOf(err) == fleet.Invalid:
		return q.unplannable(out, "it cannot be merged here", []string{fleet.OneLine(err)}), nil
	case err != nil:
		return out, err
	case merged.Contained && p.ref != "":
		out.Verdict = verdictMerged
		return out, nil
	case len(merged.Conflicts) > 0:
		return q.unplannable(out, "it conflicts with "+t.base.Ref+": update the branch", merged.Conflicts), nil
	}
	out.Tree = merged.Digest
	before, err := q.bases.of(ctx, q.p, t.base)
	if err != nil {
		return out, err
	}
	after, err := q.p.Renderer.Render(ctx, head, merged.Tree)
	if fleet.KindOf(err) == fleet.Invalid {
		return q.unplannable(out, "the merge cannot be used", strings.Split(err.Error(), "; ")), nil
	}
	if err != nil {
		return out, err
	}
	recorded, err := q.p.Recorded(ctx)
	if err != nil {
		return out, err
	}
	return q.compare(ctx, t, p, out, before, after, recorded)
}

// unplannable returns the plan of what cannot be planned, because of the pull request itself.
func (q *PullRequests) unplannable(out status.Plan, why string, details []string) status.Plan {
	out.Verdict, out.Summary = string(forge.Failure), why
	out.Text = q.text(out, document{failures: []string{why}, remarks: details})
	return out
}

// compare says what the fleet after a merge changes that the fleet before it does not.
func (q *PullRequests) compare(ctx context.Context, t *turn, p proposal, out status.Plan, before, after fleet.Fleet, recorded status.Status) (status.Plan, error) {
	looks := &looks{q: q, seen: make(map[fleet.Key]*look)}
	plans := [2]*preview.Plan{}
	skip := func(c *fleet.Cluster) bool { return preview.Alike(plans[0], plans[1], c.Key) }
	for i, f := range []fleet.Fleet{before, after} {
		plans[i] = preview.New(preview.Options{Fleet: f, Status: recorded, Scope: scope.All, Skip: skip})
	}
	for _, p := range plans {
		if err := p.Look(ctx, looks); err != nil {
			return out, err
		}
	}
	plans[1].Compare(before, plans[0])
	out.Look = looks.digest()
	out.Clusters = differing(before, after, skip)
	d := documentOf(plans[0], plans[1])
	d.stands = t.stands
	out.Changes = d.changes
	d.failures = failures(ctx, t.config.Fail, d, out.Clusters, before, after)
	out.Verdict = string(forge.Success)
	out.Summary = d.headline(out)
	switch a, accepted := t.approved(p, fleet.ApproveChanges); {
	case len(d.errors) > 0:
		out.Verdict = string(forge.Error)
	case len(d.failures) > 0 && accepted:
		d.accepted = "accepted for this head by " + a.By
		if a.Reason != "" {
			d.accepted += ": " + a.Reason
		}
	case len(d.failures) > 0:
		out.Verdict = string(forge.Failure)
		out.Summary = strings.Join(append(slices.DeleteFunc([]string{d.stands}, func(s string) bool { return s == "" }), "fails: "+strings.Join(d.failures, "; ")), "; ")
	}
	out.Text = q.text(out, d)
	return out, nil
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
		return fleet.Observed{}, fmt.Errorf("cannot look at %s before the merge: no definition of it can be used now (%s)", c.Key, target.Why)
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
	rev fleet.Revision
	is  fleet.Fleet
}

func (b *baseFleet) of(ctx context.Context, p Parts, rev fleet.Revision) (fleet.Fleet, error) {
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
