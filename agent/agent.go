// Package agent keeps the line: it follows a source, renders what changed,
// brings each changed cluster to the reconciler and each report to the status
// branch. It decides nothing about clusters; it decides which definition of a
// cluster is held to, and who may act.
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
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/oklog/run"

	"fairlead.dev/agent/backoff"
	"fairlead.dev/agent/health"
	"fairlead.dev/agent/history"
	"fairlead.dev/agent/home"
	"fairlead.dev/agent/metrics"
	"fairlead.dev/agent/ownership"
	"fairlead.dev/agent/reports"
	"fairlead.dev/agent/requests"
	"fairlead.dev/agent/scales"
	"fairlead.dev/agent/secrets/escrow"
	"fairlead.dev/agent/survey"
	"fairlead.dev/agent/tracing"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/reconcile"
	"fairlead.dev/reconcile/queue"
	"fairlead.dev/reconcile/rollout"
	"fairlead.dev/render"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// Parts are what an agent is put together from. All but Infrastructure are
// required.
type Parts struct {
	Source   sources.Source
	Renderer render.Renderer
	// Ledger opens the status branch of that name.
	Ledger func(branch string) (Ledger, error)
	// Reconciler returns what makes the passes. It asks may before it changes
	// anything, and calls changed when nodes of a cluster change.
	Reconciler func(may func(fleet.Key) error, changed func(fleet.Key)) Reconciler
	// Looker returns what an agent that the fleet is on its way to looks at clusters
	// with, before it takes them. Nil: it takes them without a look.
	Looker func() ownership.Looker
	// Infrastructure returns the provider of that name. What it returns is
	// watched where it can be.
	Infrastructure func(name string) (providers.Infrastructure, error)
	// Escrow opens the escrow of a fleet. Nil: none is kept.
	Escrow func(fleet.ID, fleet.Escrow) (escrow.Copy, error)
	// Place returns where the agent keeps secrets, which is another place for any
	// other agent: see fleet.Owner. Nil: agents are told apart by name alone.
	Place func(ctx context.Context) (string, error)
	// Inhabits reports whether the agent keeps its secrets in the cluster itself,
	// as one that lives there does. Nil: its name alone tells.
	Inhabits func(ctx context.Context, k fleet.Key) (bool, error)
	// Mover returns what moves the fleet to its home. Nil: this agent moves it only
	// when it is asked.
	Mover func(home.Move) (home.Mover, error)
	// Gate, if not nil, keeps the secrets that Reconciler uses as they are while
	// the fleet is handed over.
	Gate    ownership.Secrets
	Metrics *metrics.Metrics
	// Watchdog is told of polls and renders; of passes it is told by Reconciler. Nil:
	// nobody is.
	Watchdog *health.Watchdog
	Tracer   *tracing.Tracer // nil: nothing is traced
	Log      *slog.Logger
}

// A Ledger is the status branch: who owns the fleet and how its clusters are.
type Ledger struct {
	Arbiter sources.Arbiter
	// Read returns what the branch says. Clusters that cannot be read are in it, and no
	// error.
	Read func(ctx context.Context) (status.Status, error)
	// ReadCluster returns what the branch says of one cluster, and whether it says
	// anything.
	ReadCluster func(ctx context.Context, k fleet.Key) (status.Cluster, bool, error)
	// Requests are what people ask for on the branch; nil: nobody can.
	Requests requests.Branch
	// Wrote reports whether a commit of that hash was made here; nil: nobody knows.
	Wrote func(hash string) bool
	// Scales are the numbers of machines on the branch; nil: Git says all.
	Scales scales.Branch
	// Signed says that what counts on the branch is signed.
	Signed bool
	// Writer returns what writes to the branch, as long as owner owns the fleet.
	Writer func(owner fleet.Owner) sources.StatusWriter
}

// A Reconciler makes one pass over one cluster. See package reconcile. Where it
// has Attend(ctx) error, that runs while the fleet is owned; where it has Close,
// that is called after the last pass.
type Reconciler interface {
	// Pass makes a pass. A result whose Err is ErrPostponed is none: nothing was
	// seen or done, and the pass is to be made later.
	Pass(ctx context.Context, c *fleet.Cluster, known fleet.Memory) reconcile.Result
	Forget(k fleet.Key)
}

// ErrPostponed is the error of a pass that nobody can make at the moment,
// because the replica that would is changing.
var ErrPostponed = errors.New("nobody works on the cluster at the moment")

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
	// fleet, with that epoch, this agent takes its place. Nobody asks it.
	TakeOver fleet.Owner
	// Guard is asked before anything is changed, the status branch included. An
	// error says why this process may not: it does not lead its replicas any
	// more. Nil permits all.
	Guard func() error
	// Only, if not zero, is the one cluster that is worked on, and of it the
	// control plane alone: its workers stay as they are.
	Only fleet.Key
	// Recreate, if not empty, says that Only is gone for good and is to be made anew,
	// as a value of fleet.RecreateAnnotation does.
	Recreate string
}

// An Agent runs one fleet.
type Agent struct {
	o Options
	p Parts

	queue      *queue.Queue
	reconciler Reconciler // set before owned is closed: nobody else begins anything from then on
	branch     string     // name of the status branch
	ledger     Ledger
	status     sources.StatusWriter // set before owned is closed
	requests   *requests.Requests   // nil: nobody can ask; set before owned is closed
	scales     *scales.Scales       // nil: Git says all; set before owned is closed
	targets    targets
	applied    chan struct{} // closed once a first revision is held to
	owned      chan struct{} // closed once the fleet is owned
	claim      *ownership.Claim
	telling    sync.Mutex     // of the fleet as a whole, so that what is told last is the newest
	untrusted  bool           // the newest revision was refused for want of a signature, which another key may be good for
	followed   fleet.Revision // newest revision that was followed, by this agent or one before; zero: none, or nobody signs

	retries   tries // of the newest revision
	restoring tries // of last good definitions

	nudge   nudges
	escrow  *escrow.Upkeep
	history *history.Keeper
	home    *home.Home
	survey  *survey.Survey
	watches sync.WaitGroup
	ready   *health.Readiness
}

// The things that must be so before the agent is ready.
const (
	readyOwner    = "owner"
	readyRevision = "revision"
)

// New returns an agent that has done nothing yet.
func New(o Options, p Parts) *Agent {
	a := &Agent{
		o: o, p: p, queue: queue.New(p.Metrics.Queue()),
		applied: make(chan struct{}), owned: make(chan struct{}),
		retries: tries{}, restoring: tries{},
		nudge: nudges{c: make(chan struct{}, 1)}, targets: targets{reports: reports.New()},
		ready: health.NewReadiness(map[string]string{
			readyOwner: "the owner of the fleet is not known yet", readyRevision: "no revision was rendered yet",
		}),
	}
	a.claim = ownership.New(ownership.Options{
		Self: o.Name, Interval: o.Interval, Wait: o.WaitForOwnership, TakeOver: o.TakeOver, Guard: o.Guard,
	}, ownership.Parts{
		Place: p.Place, Secrets: p.Gate, Newest: a.newestFleet, Looker: p.Looker, Metrics: p.Metrics, Log: p.Log,
		Ready: func(reason string) { a.ready.Set(readyOwner, reason) },
	})
	a.history = history.New(history.Parts{
		Bound: func() fleet.HistoryBound { return a.targets.decided().Config().StatusHistory },
		May:   func() bool { return a.claim.May(fleet.Key{}) == nil },
		Count: p.Metrics.SetStatusHistory, Notify: a.tell, Log: p.Log,
	})
	a.survey = survey.New(survey.Parts{
		Providers: func() []string { return a.targets.decided().Providers() }, Fleet: func() fleet.ID { return a.targets.decided().ID() },
		Infrastructure: func(name string) (providers.Infrastructure, error) { return a.p.Infrastructure(name) }, Found: a.found, Changed: a.queue.Add, Log: p.Log,
	})
	a.home = home.New(home.Options{Self: o.Name, Interval: o.Interval}, home.Parts{
		Fleet: a.declaredHome, Newest: a.newestFleet, Mover: p.Mover, Inhabits: p.Inhabits,
		Notify: a.tell, Publish: a.publishFleet, Log: p.Log,
	})
	a.escrow = escrow.NewUpkeep(escrow.UpkeepParts{
		Wanted: a.wantedEscrow, Open: p.Escrow, May: func() error { return a.claim.May(fleet.Key{}) },
		Notify: a.tell, Metrics: p.Metrics, Log: p.Log,
	})
	p.Metrics.SetQueue(a.queue.Len)
	p.Metrics.SetWorkers(o.Workers)
	a.targets.reports.Follow(p.Metrics.Changed)
	return a
}

// Ready answers whether the agent is ready, and if not why.
func (a *Agent) Ready() http.Handler { return a.ready }

// Run works until ctx ends, which is no error, or until it cannot go on. The
// error is a *ownership.NotOwnerError where another agent owns the fleet.
func (a *Agent) Run(ctx context.Context) error {
	err := a.run(ctx)
	a.home.Clear(ctx, a.ownerBranch(), err)
	return err
}

func (a *Agent) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var g run.Group
	add := func(f func(context.Context) error) {
		g.Add(func() error { return f(ctx) }, func(error) { cancel() })
	}
	add(a.follow)
	add(a.publish)
	add(a.onceApplied(a.escrow.Run))
	add(a.onceApplied(a.keepHistory))
	add(a.survey.Run)
	add(a.onceApplied(func(ctx context.Context) error { return a.home.Run(ctx, a.ownerBranch()) }))
	add(a.support)
	add(func(ctx context.Context) error {
		select {
		case <-a.applied:
		case <-ctx.Done(): // then the queue is only put away
		}
		a.queue.Run(ctx, a.o.Workers, a.work)
		return nil
	})
	err := g.Run()
	a.watches.Wait()
	for _, part := range []any{a.reconciler, a.p.Renderer} {
		if c, ok := part.(interface{ Close() }); ok {
			c.Close()
		}
	}
	return err
}

// onceApplied returns f for when a first revision is applied.
func (a *Agent) onceApplied(f func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-a.applied:
			return f(ctx)
		case <-ctx.Done():
			return nil
		}
	}
}

// keepHistory keeps the history of the status branch within its bound.
func (a *Agent) keepHistory(ctx context.Context) error {
	if b, ok := a.status.(history.Branch); ok {
		return a.history.Run(ctx, b)
	}
	<-ctx.Done()
	return nil
}

// found takes in which clusters with tags of the fleet a provider has.
func (a *Agent) found(provider string, clusters []fleet.Key) {
	a.decide(rollout.Input{Tagged: map[string][]fleet.Key{provider: clusters}}, a.queue.AddBulk)
}

// ownerBranch is what ownership needs of the status branch.
func (a *Agent) ownerBranch() ownership.Branch {
	return ownership.Branch{Arbiter: a.ledger.Arbiter, Read: a.ledger.Read}
}

// declaredHome returns what fleet.yaml says of a home, and all clusters that are known.
func (a *Agent) declaredHome() (fleet.ID, fleet.Home, []fleet.Key) {
	now := a.targets.decided()
	return now.ID(), now.Config().Home, now.Keys()
}

// wantedEscrow returns what is to be kept in escrow.
func (a *Agent) wantedEscrow() escrow.Wanted {
	now := a.targets.decided()
	return escrow.Wanted{Fleet: now.ID(), Escrow: now.Config().Escrow, Clusters: now.Keys(), Secrets: now.StoredSecrets()}
}

// publishFleet writes the status of the fleet as a whole.
func (a *Agent) publishFleet(ctx context.Context) error {
	a.tell()
	return a.flush(ctx)
}

// support attends to the reconciler, where it needs that.
func (a *Agent) support(ctx context.Context) error {
	select {
	case <-a.owned:
	case <-ctx.Done():
		return nil
	}
	if r, ok := a.reconciler.(interface{ Attend(context.Context) error }); ok {
		return r.Attend(ctx)
	}
	<-ctx.Done()
	return nil
}

// publish runs the status writer once the fleet is ours.
func (a *Agent) publish(ctx context.Context) error {
	select {
	case <-a.owned:
	case <-ctx.Done():
		return nil
	}
	err := a.status.Run(ctx)
	if errors.Is(err, status.ErrDeposed) {
		if lost := a.claim.Check(ctx, a.flush); lost != nil {
			return lost
		}
	}
	if ctx.Err() != nil && err != nil {
		a.p.Log.Warn("the last status was not written", "error", err)
		return nil
	}
	return err
}

// follow finds the status branch, takes ownership, reads the record and then
// follows the source.
func (a *Agent) follow(ctx context.Context) error {
	if err := a.locate(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	if owned, err := a.claim.Acquire(ctx, a.ownerBranch()); err != nil || !owned {
		return err
	}
	owner, _ := a.claim.Owner()
	a.status = a.ledger.Writer(owner)
	a.targets.reports.Follow(a.publishReport)
	a.reconciler = a.p.Reconciler(a.claim.May, a.queue.Add)
	close(a.owned)
	if !a.remember(ctx) {
		return nil
	}
	changed := make(chan struct{}, 1)
	if n, ok := a.p.Source.(sources.Notifier); ok {
		a.watches.Go(func() { a.notify(ctx, n, changed) })
	}
	for {
		if err := a.poll(ctx); err != nil {
			return err
		}
		if !a.await(ctx, changed) {
			return nil
		}
	}
}

// flush writes the status that waits.
func (a *Agent) flush(ctx context.Context) error {
	_, err := a.status.Flush(ctx)
	return err
}

func (a *Agent) notify(ctx context.Context, n sources.Notifier, changed chan<- struct{}) {
	err := n.Notify(ctx, func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	if err != nil && ctx.Err() == nil {
		a.p.Log.Warn("cannot watch the source, polling alone", "error", err)
	}
}

// locate opens the status branch. Its name is in fleet.yaml, so without a first
// revision that can be read nothing begins.
func (a *Agent) locate(ctx context.Context) error {
	name := a.o.StatusBranch
	for failures := backoff.New(time.Second, a.o.Interval); name == ""; {
		rev, err := a.resolve(ctx)
		if err == nil {
			var f fleet.Fleet
			if f, err = a.render(ctx, rev); err == nil {
				name = f.Config.StatusBranch
				continue
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		wait := failures.Step()
		a.ready.Set(readyRevision, "no revision can be used: "+err.Error())
		a.p.Log.Error("cannot read the fleet, trying again", "error", err, "after", wait)
		if !backoff.Sleep(ctx, wait) {
			return nil
		}
	}
	var err error
	a.branch = name
	if a.ledger, err = a.p.Ledger(name); err != nil {
		return err
	}
	if a.ledger.Requests != nil {
		a.requests = requests.New(requests.Parts{Branch: a.ledger.Requests, Fleet: decisions{a}, Recorded: a.recordOf, Notify: a.tell, Log: a.p.Log})
	}
	if a.ledger.Scales != nil {
		a.scales = scales.New(scales.Parts{Branch: a.ledger.Scales, Fleet: decisions{a}, Signed: a.ledger.Signed, Notify: a.tell, Log: a.p.Log})
	}
	return nil
}

// remember reads the status branch, until it can be read: without it the agent
// would take clusters for new that it only does not know any more. Single clusters
// that cannot be read are left alone: see rereadDamaged.
func (a *Agent) remember(ctx context.Context) bool {
	for failures := backoff.New(time.Second, time.Minute); ; {
		s, err := a.ledger.Read(ctx)
		var before rollout.State
		if err == nil {
			before, err = a.initialState(ctx, s)
		}
		if err == nil {
			list := make([]fleet.Report, len(s.Clusters))
			for i, c := range s.Clusters {
				list[i] = c.Report
			}
			a.targets.reports.Recall(list)
			a.p.Metrics.Restore(s.Clusters)
			a.home.Restore(s.Fleet.Home)
			if a.lineage() != nil {
				a.followed = s.Fleet.Applied
			}
			a.targets.set(before)
			return true
		}
		wait := failures.Step()
		a.ready.Set(readyRevision, "the status branch cannot be read: "+err.Error())
		a.p.Log.Error("cannot read the status branch, trying again", "error", err, "after", wait)
		if !backoff.Sleep(ctx, wait) {
			return false
		}
	}
}
