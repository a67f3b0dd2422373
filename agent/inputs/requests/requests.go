package requests

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
)

// A Branch has what people ask for. See sources/status.Requests.
type Branch interface {
	// List returns all requests. Where single files cannot be read the error is of kind
	// Invalid, and the list has all the others.
	List(ctx context.Context) ([]fleet.Request, error)
	// Answer writes the answers of list, and drops gone, as the owner of the fleet.
	Answer(ctx context.Context, of fleet.Owner, list, gone []fleet.Request) error
}

// A Fleet is what requests are about.
type Fleet interface {
	// Now returns what was decided so far.
	Now() rollout.State
	// Decide decides on in, after what was decided so far, and updates the targets of the fleet.
	Decide(in rollout.Input) rollout.Decision
	// Report returns the newest report of a cluster.
	Report(k fleet.Key) (r fleet.Report, passed bool)
}

// Parts are what Requests are put together from. All are required.
type Parts struct {
	Branch Branch
	Fleet  Fleet
	// Recorded returns what the status branch says of a cluster; zero where it says
	// nothing.
	Recorded func(ctx context.Context, k fleet.Key) (fleet.Report, error)
	// Publish writes to the status branch what was decided so far.
	Publish func(ctx context.Context) error
	// Notify is called when Problem changes.
	Notify func()
	Log    *slog.Logger
}

// Requests are what people ask for. They are safe for concurrent use.
type Requests struct {
	p Parts

	mu     sync.Mutex
	broken string // requests that cannot be read, and why
}

// New returns the requests of parts.
func New(p Parts) *Requests { return &Requests{p: p} }

// Read returns the requests before the first pass: a cluster that is
// suspended stays so when an agent starts. Of files that cannot be read suspensions
// stand, and nothing else.
func (q *Requests) Read(ctx context.Context) (rollout.Requests, error) {
	list, err := q.p.Branch.List(ctx)
	if fleet.KindOf(err) == fleet.Invalid {
		err = nil
	}
	return rollout.Requests{List: list}, err
}

// Poll answers what people ask for, and says what of it is done.
func (q *Requests) Poll(ctx context.Context, owner fleet.Owner) {
	list, err := q.p.Branch.List(ctx)
	if ctx.Err() != nil {
		return
	}
	q.complain(err)
	if err != nil && fleet.KindOf(err) != fleet.Invalid {
		return
	}
	in := rollout.Input{
		Before: q.p.Fleet.Now(), Now: time.Now(), Reports: q.reports(list),
		Requests: &rollout.Requests{List: list, Recorded: q.recorded(ctx, list)},
	}
	d := rollout.Decide(in) // of which nothing holds before the answers are written
	if len(d.Answers)+len(d.Expired) > 0 {
		if err := q.write(ctx, owner, d); err != nil {
			if ctx.Err() == nil {
				q.p.Log.Warn("cannot record the results of requests, retrying", "error", err)
			}
			return
		}
		for _, r := range d.Answers {
			q.p.Log.Info("request processed", "request", r.String(), "by", r.By, "state", r.Answer.State, "message", r.Answer.Message)
		}
	}
	in.Requests.List = answered(list, d.Answers)
	q.p.Fleet.Decide(in)
}

// write writes the answers of d. What came of a request is on the branch before it is called done:
// of one that is done the next agent knows nothing else.
func (q *Requests) write(ctx context.Context, owner fleet.Owner, d rollout.Decision) error {
	if slices.ContainsFunc(d.Answers, func(r fleet.Request) bool { return r.Answer.State == fleet.RequestDone }) {
		if err := q.p.Publish(ctx); err != nil {
			return err
		}
	}
	return q.p.Branch.Answer(ctx, owner, d.Answers, d.Expired)
}

// answered returns list with answers, which are to requests of list.
func answered(list, answers []fleet.Request) []fleet.Request {
	list = slices.Clone(list)
	for _, r := range answers {
		if i := slices.IndexFunc(list, r.Identical); i >= 0 {
			list[i] = r
		}
	}
	return list
}

// reports returns the newest reports of the clusters that list names.
func (q *Requests) reports(list []fleet.Request) map[fleet.Key]fleet.Report {
	out := make(map[fleet.Key]fleet.Report)
	for _, r := range list {
		out[r.Cluster], _ = q.p.Fleet.Report(r.Cluster)
	}
	return out
}

// recorded returns what the status branch says of the clusters that unanswered requests
// of list name and that an answer depends on. What cannot be read is left out.
func (q *Requests) recorded(ctx context.Context, list []fleet.Request) map[fleet.Key]fleet.Report {
	out := make(map[fleet.Key]fleet.Report)
	for _, r := range list {
		if _, read := out[r.Cluster]; read || r.Answer.State != "" {
			continue
		}
		switch r.Kind {
		case fleet.RequestReplace, fleet.RequestRemediate, fleet.RequestAbandon:
			if there, err := q.p.Recorded(ctx, r.Cluster); err == nil {
				out[r.Cluster] = there
			}
		}
	}
	return out
}

// Problem tells of requests that cannot be read; false: there are none.
func (q *Requests) Problem() (fleet.Problem, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return fleet.Problem{
		Message: "what people ask for cannot be read: " + q.broken, Hint: "repair or delete the file on the status branch",
	}, q.broken != ""
}

// complain notes requests that cannot be read.
func (q *Requests) complain(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	q.mu.Lock()
	changed := q.broken != text
	q.broken = text
	q.mu.Unlock()
	if !changed {
		return
	}
	if err != nil {
		q.p.Log.Warn("cannot read requests", "error", err)
	}
	q.p.Notify()
}
