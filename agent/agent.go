// Package agent puts together what follows a source, what makes passes
// over clusters, and what brings their reports to the status branch, and runs them. It
// decides nothing itself: reconcile/rollout decides the target of each cluster, and
// agent/ownership which agent may act.
//
// An Agent becomes a session once it owns the fleet. Each job of a session is a room below
// this one.
//
//	a := agent.New(agent.Options{Name: "prod", Interval: interval, …}, agent.Parts{Source: source, …})
//	err := a.Run(ctx)
//
// What it guarantees:
//
//   - A definition that is broken never replaces a good one.
//   - A cluster that vanishes from Git is reported, and deleted only where the
//     fleet asks for that.
//   - Nothing is changed while another agent owns the fleet.
//   - An unchanged fleet costs one look at the head of a branch per poll.
package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"fairlead.dev/agent/inputs/follower"
	"fairlead.dev/agent/inputs/requests"
	"fairlead.dev/agent/inputs/revisions"
	"fairlead.dev/agent/inputs/scales"
	"fairlead.dev/agent/loop/decisions"
	"fairlead.dev/agent/loop/reports"
	"fairlead.dev/agent/observability/health"
	"fairlead.dev/agent/observability/metrics"
	"fairlead.dev/agent/observability/notify"
	"fairlead.dev/agent/observability/tracing"
	"fairlead.dev/agent/ownership"
	"fairlead.dev/agent/ownership/home"
	"fairlead.dev/agent/plans/pullrequests"
	"fairlead.dev/agent/secrets/escrow"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/reconcile"
	"fairlead.dev/reconcile/queue"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// Parts are what an agent is put together from. All but Infrastructure are
// required.
type Parts struct {
	Source   sources.Source
	Renderer revisions.Renderer
	// StatusBranch opens the status branch of that name.
	StatusBranch func(branch string) (StatusBranch, error)
	// OneStatusBranch says that there is one status branch, whatever its name, as in a folder.
	OneStatusBranch bool
	// Reconciler returns what makes the passes. It asks may before it changes
	// anything, and calls changed when nodes of a cluster change.
	Reconciler func(may func(fleet.Key) error, changed func(fleet.Key)) reconcile.Passes
	// Looker returns what an agent that the fleet is on its way to looks at clusters
	// with, before it takes them. Nil: it takes them without a look.
	Looker func() ownership.Looker
	// Infrastructure returns the provider of that name. What it returns is
	// watched where it can be.
	Infrastructure func(name string) (providers.Infrastructure, error)
	// Escrow opens the escrow of a fleet. Nil: none is kept.
	Escrow func(fleet.ID, fleet.Escrow) (escrow.Copy, error)
	// Place returns where the agent keeps secrets, which is another place for any
	// other agent: see fleet.Owner. Nil: agents differ by name alone.
	Place func(ctx context.Context) (string, error)
	// LivesIn reports whether the agent keeps its secrets in the cluster itself,
	// as one that lives there does. Nil: its name alone tells.
	LivesIn func(ctx context.Context, k fleet.Key) (bool, error)
	// Mover returns what moves the fleet to its home. Nil: this agent moves it only
	// when it is asked.
	Mover func(home.Move) (home.Mover, error)
	// NotificationTarget opens the sender to a target of notifications. Nil: no notifications.
	NotificationTarget func(fleet.NotificationTarget) (notify.Sender, error)
	// SecretFreezer, if not nil, keeps the secrets that Reconciler uses unchanged while
	// the fleet is handed over.
	SecretFreezer ownership.Secrets
	// PullRequests opens what plans pull requests, once a fleet has that done. Nil: none are.
	PullRequests func(PullRequestParts) (*pullrequests.PullRequests, error)
	Metrics      *metrics.Metrics
	// Watchdog is notified of polls and renders, and by Reconciler of passes. Nil:
	// there is none.
	Watchdog *health.Watchdog
	Tracer   *tracing.Tracer // nil: nothing is traced
	// Reports is called with each new report; it must not wait. Nil: no call.
	Reports func(reports.Change)
	Log     *slog.Logger
}

// A StatusBranch is the status branch: who owns the fleet and how its clusters are.
type StatusBranch struct {
	Arbiter sources.Arbiter
	// Locate returns whose status the branch has, and where the status is; nil: the branch
	// has the status of the fleet.
	Locate func(ctx context.Context) (status.Location, error)
	// MoveTo moves the status to the branch of that name. It is called for a branch that
	// Locate was called for.
	MoveTo func(ctx context.Context, name string) error
	// Signpost says on the default status branch that this branch has the status of the fleet;
	// nil: this is that branch, or there is one branch.
	Signpost func(ctx context.Context, id fleet.ID) error
	// Post is Signpost for a fleet without an owner. The error is of kind Conflict if the signpost leads to
	// another branch than was, which may be empty, or another than owner owns the default status branch. Nil:
	// there is one branch.
	Post func(ctx context.Context, id fleet.ID, was string, owner fleet.Owner) error
	// Read returns what the branch says. Clusters that cannot be read are in it, and no
	// error.
	Read func(ctx context.Context) (status.Status, error)
	// ReadCluster returns what the branch says of one cluster, and whether it says
	// anything.
	ReadCluster func(ctx context.Context, k fleet.Key) (status.Cluster, bool, error)
	// Requests are what people ask for on the branch; nil: there are no requests.
	Requests requests.Branch
	// Wrote reports whether a commit of that hash was made here; nil: it is not known.
	Wrote func(hash string) bool
	// Scales are the numbers of machines on the branch; nil: Git says all.
	Scales scales.Branch
	// Plans are what is said of pull requests on the branch, and Approvals what people say
	// of them; nil: none are planned.
	Plans     pullrequests.Plans
	Approvals pullrequests.Approvals
	// Asks has the agent ask for what people asked for elsewhere; nil: it does not.
	Asks pullrequests.Requests
	// Signed says that what counts on the branch is signed.
	Signed bool
	// Writer returns what writes to the branch, as long as owner owns the fleet, and keeps
	// there what people are to be told.
	Writer func(owner fleet.Owner, n *status.Notifications) sources.StatusWriter
}

// Options say how an agent works.
type Options struct {
	Name     string        // of this agent, as owner.yaml knows it
	Interval time.Duration // between polls of the source
	Resync   time.Duration // between regular looks at a cluster
	Workers  int           // clusters that are worked on at once
	// StatusBranch is the name of the status branch; empty: fleet.yaml says it.
	StatusBranch string
	// WaitForOwnership makes an agent that does not own the fleet wait for it.
	WaitForOwnership bool
	// TakeOver, if not zero, is an owner that is gone: where it still owns the
	// fleet, with that epoch, this agent takes its place without asking it.
	TakeOver fleet.Owner
	// Guard is asked before anything is changed, the status branch included. An
	// error says why this process may not: it does not lead its replicas any
	// more. Nil permits all.
	Guard func() error
	// Only, if not zero, is the one cluster that is worked on, and of it the
	// control plane alone: its workers stay unchanged.
	Only fleet.Key
	// Recreate, if not empty, says that Only is permanently lost and is to be recreated,
	// as a value of fleet.RecreateAnnotation does.
	Recreate string
}

// An Agent runs one fleet. Its methods are safe for concurrent use.
type Agent struct {
	o Options
	p Parts

	queue     *queue.Queue
	claim     *ownership.Claim
	reports   *reports.Store
	decisions *decisions.Decisions
	ready     *health.Readiness
	trigger   follower.Trigger // of polls

	session atomic.Pointer[session] // nil: the fleet is not owned yet
}

// The conditions that an agent meets before it is ready.
const (
	readyOwner    = "owner"
	readyRevision = "revision"
)

// New returns an agent that has done nothing yet.
func New(o Options, p Parts) *Agent {
	a := &Agent{
		o: o, p: p, queue: queue.New(p.Metrics.Queue()), reports: reports.New(), trigger: follower.NewTrigger(),
		ready: health.NewReadiness(map[string]string{
			readyOwner: "the owner of the fleet is not known yet", readyRevision: "no revision was rendered yet",
		}),
	}
	a.decisions = decisions.New(a.queue, a.reports)
	a.claim = ownership.New(ownership.Options{
		Self: o.Name, Interval: o.Interval, Wait: o.WaitForOwnership, TakeOver: o.TakeOver, Guard: o.Guard,
	}, ownership.Parts{
		Place: p.Place, Secrets: p.SecretFreezer, Newest: a.newestFleet, Looker: p.Looker, Metrics: p.Metrics, Log: p.Log,
		Ready: func(reason string) { a.ready.Set(readyOwner, reason) },
	})
	p.Metrics.SetQueue(a.queue.Len)
	p.Metrics.SetWorkers(o.Workers)
	p.Metrics.ResyncEvery(o.Resync)
	a.reports.Follow(p.Metrics.Changed)
	if p.Reports != nil {
		a.reports.Follow(p.Reports)
	}
	return a
}

// Ready answers whether the agent is ready, and if not why.
func (a *Agent) Ready() http.Handler { return a.ready }

// Queued returns how many clusters wait for a pass.
func (a *Agent) Queued() int { return a.queue.Len() }

// Poll makes the agent poll its source now and not with the next interval. It does not
// wait; calls that come close together are one.
func (a *Agent) Poll() { a.trigger.Fire() }

// Run works until ctx ends, which is no error, or until it cannot go on. The
// error is a *ownership.NotOwnerError where another agent owns the fleet.
func (a *Agent) Run(ctx context.Context) error {
	b, err := a.locate(ctx)
	for b != nil {
		if err = a.own(ctx, b); !errors.Is(err, status.ErrMoved) {
			break
		}
		a.p.Log.Info("finding the status branch again", "branch", b.name, "reason", err)
		b, err = a.locate(ctx)
	}
	if a.session.Load() == nil {
		a.closeQueue(ctx)
	}
	a.p.Renderer.Close()
	if b != nil {
		a.clear(ctx, b, err)
	}
	return err
}

// own works on the fleet once this agent owns it.
func (a *Agent) own(ctx context.Context, b *branch) error {
	if owned, err := a.claim.Acquire(ctx, b.ownership()); err != nil || !owned {
		return err
	}
	return newSession(a, b).run(ctx)
}

// closeQueue ends a queue that no worker reads.
func (a *Agent) closeQueue(ctx context.Context) {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	a.queue.Run(ended, 0, nil)
}

// clear removes what the fleet has here, where err says that its home owns it.
func (a *Agent) clear(ctx context.Context, b *branch, err error) {
	home.New(home.Options{Self: a.o.Name, Interval: a.o.Interval}, home.Parts{
		Newest: a.newestFleet, Mover: a.p.Mover, Log: a.p.Log,
	}).Clear(ctx, b.ownership(), err)
}

// ownership is what a claim needs of the branch.
func (b *branch) ownership() ownership.Branch {
	return ownership.Branch{Arbiter: b.Arbiter, Read: b.Read, Moved: b.moved}
}

// moved returns an error if the status was moved to another branch, or if that is not known.
func (b *branch) moved(ctx context.Context) error {
	if b.Locate == nil {
		return nil
	}
	switch l, err := b.Locate(ctx); {
	case errors.Is(err, status.ErrMovedUnknown):
		return err
	case err == nil && l.MovedTo != "":
		return fmt.Errorf("%w, %s", status.ErrMoved, l.MovedTo)
	case err == nil && l.Owner == (fleet.Owner{}) && b.posts != nil:
		// While this branch accepted no claim, another process may have begun on another one.
		post, err := b.posts(ctx)
		if err == nil && post != "" && post != b.post {
			return fmt.Errorf("%w, %s", status.ErrMoved, post)
		}
	}
	return nil // what else cannot be read is reported by the owner
}

// revisions returns those of the source.
func (a *Agent) revisions() *revisions.Revisions {
	return revisions.New(revisions.Parts{Source: a.p.Source, Renderer: a.p.Renderer, Metrics: a.p.Metrics, Watchdog: a.p.Watchdog, Tracer: a.p.Tracer})
}

// newestFleet renders the newest revision.
func (a *Agent) newestFleet(ctx context.Context) (fleet.Fleet, error) {
	return a.revisions().Newest(ctx)
}

// Writes reports whether the agent itself writes the branch of that name in the
// status repository. People write to the status branch as well: see Wrote.
func (a *Agent) Writes(branch string) bool {
	s := a.session.Load()
	if s == nil { // the name may be in fleet.yaml, which was not read yet
		return a.o.StatusBranch != "" && branch == a.o.StatusBranch
	}
	e := a.decisions.Now().Config().Escrow
	return branch == s.branch.name || len(e.Recipients) > 0 && e.Repository == "" && branch == e.Branch
}

// Wrote reports whether a push that brought a branch which the agent writes to that
// commit, in hex, was its own: then it is no news. To the escrow no other process pushes
// anything for the agent.
func (a *Agent) Wrote(branch, commit string) bool {
	s := a.session.Load()
	return s != nil && (branch != s.branch.name || commit != "" && s.branch.Wrote != nil && s.branch.Wrote(commit))
}
