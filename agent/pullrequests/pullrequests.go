package pullrequests

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"fairlead.dev/agent/forge"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// StatusName is what the status of a planned commit is called.
const StatusName = "fairlead/plan"

// A Fleet is what pull requests would change.
type Fleet interface {
	// Now returns what was decided so far.
	Now() rollout.State
	// Report returns the newest report of a cluster.
	Report(k fleet.Key) (r fleet.Report, passed bool)
}

// A Looker looks at clusters, and has nothing to change them with.
type Looker interface {
	// Look looks at the cluster as it is defined now, and asks nobody else than that
	// definition names. Where that is nil nothing of the cluster next is there, and nobody
	// is asked.
	Look(ctx context.Context, now, next *fleet.Cluster) (fleet.Observed, error)
	// As returns what was seen as one who holds the cluster to next sees it. It asks nobody.
	As(next *fleet.Cluster, seen fleet.Observed) fleet.Observed
}

// A Renderer renders what nobody vouched for: it decrypts nothing.
type Renderer interface {
	Render(ctx context.Context, rev fleet.Revision, tree sources.Tree) (fleet.Fleet, error)
}

// Plans are on the status branch. See sources/status.Plans.
type Plans interface {
	List(ctx context.Context) ([]status.Plan, error)
	Write(ctx context.Context, of fleet.Owner, put, gone []status.Plan) error
}

// Approvals are what people approve. See sources/status.Approvals.
type Approvals interface {
	List(ctx context.Context) ([]fleet.Approval, error)
}

// Source is what is followed.
type Source interface {
	sources.Merger
	Fetch(ctx context.Context, rev fleet.Revision) (sources.Tree, error)
}

// Parts are what PullRequests are put together from. All but Forge, Requests, Unreviewed,
// Polled and Done are required.
type Parts struct {
	Forge     forge.Forge // nil: the server has no API, so refs alone are planned
	Source    Source
	Renderer  Renderer
	Fleet     Fleet
	Looker    Looker
	Plans     Plans
	Approvals Approvals
	Requests  Requests // nil: no review approves of a stage
	// Recorded returns what the status branch says.
	Recorded func(ctx context.Context) (status.Status, error)
	// Owner returns the owner of the fleet, and whether that is this agent, which may act.
	Owner func() (fleet.Owner, bool)
	// Interval returns how long to wait until the next poll.
	Interval func() time.Duration
	// Unreviewed is told with each poll why reviews count for nothing though fleet.yaml wants
	// them; empty: they do.
	Unreviewed func(why string)
	// Polled is told of each poll, and why it saw nothing.
	Polled func(err error)
	// Done is told of each plan: how it ended, and how long it took.
	Done func(verdict string, took time.Duration)
	Log  *slog.Logger
}

const (
	// lookGap passes between two plans of the same merge, of which only what was seen
	// differs: a cluster that is worked on looks different every second.
	lookGap = 2 * time.Minute
	// maxOpen is how many pull requests are planned, the newest, and how many refs.
	maxOpen = 200
	// patience is how long the plan of one pull request may take.
	patience = 10 * time.Minute
)

// PullRequests are those of one repository. Poll and Run are of one goroutine.
type PullRequests struct {
	p    Parts
	wake chan struct{}

	me    string            // who the forge takes the agent for; empty: not asked yet
	known map[string]*known // by the name of a proposal
	told  published         // status of the last revision that one was set of
	bases baseFleet
	asked map[string]string // of stages that reviews approved of: the digest of what
}

// A proposal is a pull request, or a ref that nobody opened one for.
type proposal struct {
	forge.PullRequest

	ref string // its full name; empty: it is a pull request
}

// name returns what p is called.
func (p proposal) name() string { return status.Plan{Number: p.Number, Ref: p.ref}.Name() }

// known is what was done for one proposal.
type known struct {
	key      string // of the plan; empty: it has to be made
	facts    string // what was known of its clusters
	at       time.Time
	plan     status.Plan
	status   published // the last that was set
	comment  string    // text that the comment has; empty: not known
	doubtful bool      // a comment was written, and may be there twice or not at all
	recorded bool      // plan is on the status branch
	merged   bool      // the base has all of it
}

// published is a status on a commit.
type published struct {
	head   string
	status forge.Status
}

// New returns the pull requests of parts, of which nothing is known yet.
func New(p Parts) *PullRequests {
	if p.Done == nil {
		p.Done = func(string, time.Duration) {}
	}
	if p.Unreviewed == nil {
		p.Unreviewed = func(string) {}
	}
	if p.Polled == nil {
		p.Polled = func(error) {}
	}
	return &PullRequests{p: p, wake: make(chan struct{}, 1), known: make(map[string]*known), asked: make(map[string]string)}
}

// Wake has Run poll now. It does not wait; calls that come close together are one.
func (q *PullRequests) Wake() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Run polls until ctx ends, which is no error.
func (q *PullRequests) Run(ctx context.Context) error {
	for {
		q.Poll(ctx)
		timer := time.NewTimer(q.p.Interval())
		select {
		case <-timer.C:
		case <-q.wake:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return nil
		}
	}
}

// Poll plans what has to be planned, and says what has to be said. What fails is logged, and
// made up for by the next Poll.
func (q *PullRequests) Poll(ctx context.Context) {
	owner, owned := q.p.Owner()
	config := q.p.Fleet.Now().Config().PullRequests
	if !owned || !config.Planned {
		return
	}
	turn, err := q.begin(ctx, owner, config)
	if ctx.Err() != nil {
		return
	}
	if q.p.Polled(err); err != nil {
		q.p.Log.Warn("cannot list pull requests, retrying", "error", err)
		return
	}
	q.p.Unreviewed(q.unreviewed())
	if err := q.approve(ctx, turn); err != nil && ctx.Err() == nil {
		q.p.Log.Warn("cannot read reviews for an approval, retrying", "error", err)
	}
	if err := q.tell(ctx, turn); err != nil && ctx.Err() == nil {
		q.p.Log.Warn("cannot set the status of a revision, retrying", "error", err)
	}
	for _, p := range turn.open {
		if ctx.Err() != nil {
			return
		}
		if err := q.propose(ctx, turn, p); err != nil {
			q.p.Log.Warn("cannot plan a proposal, retrying", "proposal", p.name(), "head", p.Head, "error", err)
		}
	}
	for _, p := range turn.unplanned {
		if ctx.Err() != nil {
			return
		}
		if err := q.leave(ctx, turn, p); err != nil {
			q.p.Log.Warn("cannot set the status of a pull request that is not planned, retrying", "proposal", p.name(), "head", p.Head, "error", err)
		}
	}
	for _, old := range turn.plans {
		if ctx.Err() != nil || turn.isOpen(old) {
			continue
		}
		if err := q.conclude(ctx, turn, old); err != nil {
			q.p.Log.Warn("cannot report the result to a pull request, retrying", "proposal", old.Name(), "error", err)
		}
	}
}

// A turn is one poll.
type turn struct {
	owner     fleet.Owner
	config    fleet.PullRequests
	base      fleet.Revision
	stands    string        // why a merge brings more than the base and a head; empty: it does not
	all       []proposal    // that are open
	open      []proposal    // of those, onto the base and to be planned
	unplanned []proposal    // onto the base and not to be planned
	plans     []status.Plan // on the status branch
	approvals []fleet.Approval
}

func (t *turn) isOpen(old status.Plan) bool {
	return slices.ContainsFunc(t.all, func(p proposal) bool { return p.Number == old.Number && p.ref == old.Ref })
}

// strange reports whether p is of somebody who may not write to the repository, and nobody who may had
// it planned.
func (t *turn) strange(p proposal) bool {
	_, asked := t.approved(p, fleet.ApprovePlan)
	return p.Fork && !t.config.Forks && !asked
}

// approved reports whether somebody who may approved that of the head of p.
func (t *turn) approved(p proposal, kind fleet.ApprovalKind) (fleet.Approval, bool) {
	i := slices.IndexFunc(t.approvals, func(a fleet.Approval) bool {
		return a.PullRequest == p.Number && a.Kind == kind && a.Head == p.Head && a.Distrusted == ""
	})
	if i < 0 {
		return fleet.Approval{}, false
	}
	return t.approvals[i], true
}

// plan returns what the status branch says of the proposal of that name.
func (t *turn) plan(name string) (status.Plan, bool) {
	i := slices.IndexFunc(t.plans, func(p status.Plan) bool { return p.Name() == name })
	if i < 0 {
		return status.Plan{}, false
	}
	return t.plans[i], true
}

// begin asks for all that a poll begins with.
func (q *PullRequests) begin(ctx context.Context, owner fleet.Owner, config fleet.PullRequests) (*turn, error) {
	t := &turn{owner: owner, config: config, base: q.p.Fleet.Now().Revision(), stands: standing(q.p.Fleet.Now())}
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
func (q *PullRequests) opened(ctx context.Context, t *turn) error {
	var err error
	if q.me == "" {
		if q.me, err = q.p.Forge.Self(ctx); err != nil {
			q.me = ""
			return err
		}
	}
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
// order of their numbers. Those that are not to be planned take no place.
func (q *PullRequests) choose(t *turn) {
	var pulls []proposal
	for _, p := range t.all {
		switch {
		case p.ref != "" || p.Base != t.base.Ref || p.State != forge.Open:
		case t.strange(p):
			t.unplanned = append(t.unplanned, p)
		default:
			pulls = append(pulls, p)
		}
	}
	if n := len(pulls) - maxOpen; n > 0 {
		q.p.Log.Warn("too many open pull requests, planning the newest", "open", len(pulls), "planned", maxOpen)
		t.unplanned = append(pulls[:n:n], t.unplanned...)
		pulls = pulls[n:]
	}
	t.open = append(pulls, t.open...)
}
