package pullrequests

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// A Fleet is what pull requests would change.
type Fleet interface {
	// Now returns what was decided so far.
	Now() rollout.State
	// Report returns the newest report of a cluster.
	Report(k fleet.Key) (r fleet.Report, passed bool)
}

// A Looker looks at clusters, and has nothing to change them with.
type Looker interface {
	// Look looks at the cluster by its present definition, and makes requests only to the places that
	// definition names. Where that is nil nothing of the cluster next is there, and no request
	// is made.
	Look(ctx context.Context, now, next *fleet.Cluster) (fleet.Observed, error)
	// As returns what an agent with the target next would have observed. It makes no request.
	As(next *fleet.Cluster, seen fleet.Observed) fleet.Observed
}

// A Renderer renders untrusted content: it decrypts nothing.
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
// Beside, Polled, Limited and Done are required.
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
	// Apart says that the status branch is in another repository, which others may read: what
	// clouds and API servers answer is not told to those who read pull requests.
	Apart bool
	// Interval returns how long to wait until the next poll.
	Interval func() time.Duration
	// Unreviewed is called at each poll with why reviews count for nothing though fleet.yaml wants
	// them; empty: they do.
	Unreviewed func(why string)
	// Beside is called with another fleet whose statuses have the same names on the same heads; empty: there is none
	// any more.
	Beside func(fleet.ID)
	// Polled is called after each poll, with why it saw nothing.
	Polled func(err error)
	// Limited is called at each poll with whether the forge limits requests, so that plans are late.
	Limited func(is bool)
	// Done is called with each plan: how it ended, and how long it took.
	Done func(verdict string, took time.Duration)
	Log  *slog.Logger
}

const (
	// lookGap passes between two plans of the same merge, of which only what was seen
	// differs: a cluster that is worked on looks different every second.
	lookGap = 2 * time.Minute
	// maxOpen is how many pull requests are planned, the newest, and how many refs.
	maxOpen = 200
)

// PullRequests are those of one repository. Poll and Run are of one goroutine.
type PullRequests struct {
	p    Parts
	wake chan struct{}
	// merging holds an element while something is merged.
	merging chan struct{}

	known  map[string]*known // by the name of a proposal
	jobs   map[string]*job   // that are under way, by the name of a proposal
	told   published         // status of the last revision that one was set of
	ending []*job            // that are of no use any more, and have not ended
	bases  baseFleet
	asked  map[string]string // of stages that reviews approved of: the digest of what
	until  time.Time         // the forge is not asked before
}

// A proposal is a pull request, or a ref without one.
type proposal struct {
	forge.PullRequest

	ref string // its full name; empty: it is a pull request
}

// headOf returns the revision that p proposes.
func headOf(p proposal) fleet.Revision {
	return fleet.Revision{Ref: p.name(), Digest: "sha1:" + p.Head}
}

// name returns what p is called.
func (p proposal) name() string { return status.Plan{Number: p.Number, Ref: p.ref}.Name() }

// known is what was done for one proposal.
type known struct {
	key      string      // of the plan; empty: it has to be made
	facts    string      // what was known of its clusters
	at       time.Time   // when it was made
	plan     status.Plan // the newest
	shown    status.Plan // what is said: it differs from plan in what that was planned onto, at most
	recorded bool        // shown is on the status branch
	status   published   // the last that was set
	comment  string      // text that the comment has; empty: not known
	id       string      // of the comment, as this process wrote or found it; empty: not known
	doubtful bool        // a comment was written, and may be there twice or not at all
	merged   bool        // the base has all of it

	failed     failure            // why the head cannot be planned
	authors    []string           // of a merged one; nil: not known
	ended      *forge.PullRequest // it was merged, which is final; nil: not known
	planning   retry
	commenting retry
}

// failure is why a head cannot be planned.
type failure struct {
	head, text string
	key        string // of what could not be planned
	at         time.Time
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
	if p.Beside == nil {
		p.Beside = func(fleet.ID) {}
	}
	if p.Polled == nil {
		p.Polled = func(error) {}
	}
	if p.Limited == nil {
		p.Limited = func(bool) {}
	}
	return &PullRequests{p: p, wake: make(chan struct{}, 1), merging: make(chan struct{}, 1), known: make(map[string]*known), jobs: make(map[string]*job), asked: make(map[string]string)}
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
	defer q.wait()
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
// made up for by the next Poll. While the forge limits requests, Poll does nothing.
func (q *PullRequests) Poll(ctx context.Context) {
	owner, owned := q.p.Owner()
	config := q.p.Fleet.Now().Config().PullRequests
	if !owned || !config.Planned {
		q.p.Limited(false)
		return
	}
	if time.Now().Before(q.until) {
		return
	}
	t, err := q.begin(ctx, owner, config)
	if ctx.Err() != nil {
		return
	}
	if q.p.Polled(err); q.limited(err) {
		return
	}
	if err != nil {
		q.p.Log.Warn("cannot list pull requests, retrying", "error", err)
		return
	}
	q.p.Unreviewed(q.unreviewed())
	for _, step := range []struct {
		cannot string
		do     func(context.Context, *poll) error
	}{
		{"cannot read reviews for an approval, retrying", q.approve},
		{"cannot set the status of a revision, retrying", q.tell},
		{"", q.conclude},
		{"", q.plan},
		{"cannot write plans to the status branch, retrying", q.record},
		{"", q.publish},
		{"", q.leave},
	} {
		err := step.do(ctx, t)
		if ctx.Err() != nil || q.limited(err) {
			return
		}
		if err != nil {
			q.p.Log.Warn(step.cannot, "error", err)
		}
	}
	q.p.Limited(false)
}

// limited reports whether err is that the forge limits requests. Then it is not asked again before the
// time that it names.
func (q *PullRequests) limited(err error) bool {
	l, is := errors.AsType[*forge.Limited](err)
	if is {
		q.until = l.Until
		q.p.Log.Warn("the Git provider limits requests, waiting", "until", l.Until.UTC(), "error", err)
		q.p.Limited(true)
	}
	return is
}

// isLimit reports whether err is that the forge limits requests.
func isLimit(err error) bool {
	_, is := errors.AsType[*forge.Limited](err)
	return is
}

// each does something for each proposal of list. What fails is logged, but for a limit of the forge, which
// ends it.
func (q *PullRequests) each(ctx context.Context, list []proposal, cannot string, do func(proposal) error) error {
	for _, p := range list {
		if ctx.Err() != nil {
			return nil
		}
		err := do(p)
		if isLimit(err) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			q.p.Log.Warn(cannot, "proposal", p.name(), "head", p.Head, "error", err)
		}
	}
	return nil
}
