package agent

import (
	"context"
	"sync"

	"github.com/oklog/run"

	"fairlead.dev/agent/inputs/follower"
	"fairlead.dev/agent/inputs/requests"
	"fairlead.dev/agent/inputs/scales"
	"fairlead.dev/agent/loop/history"
	"fairlead.dev/agent/loop/passes"
	"fairlead.dev/agent/loop/publish"
	"fairlead.dev/agent/loop/survey"
	"fairlead.dev/agent/observability/notify"
	"fairlead.dev/agent/ownership/home"
	"fairlead.dev/agent/secrets/escrow"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/reconcile"
	"fairlead.dev/reconcile/rollout"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// A session is an agent from when it owns the fleet: all that works on it, which does not
// change any more.
type session struct {
	*Agent

	branch     *branch
	notifier   *notify.Notifier // nil: no notifications
	writer     sources.StatusWriter
	publisher  *publish.Publisher
	reconciler reconcile.Passes
	passes     *passes.Maker

	applied     chan struct{} // closed once a first revision is applied
	markApplied func()        // closes applied, and says that the agent is ready, once

	requests *requests.Requests // nil: there are no requests
	scales   *scales.Scales     // nil: Git says all
	escrow   *escrow.Upkeep
	history  *history.Keeper
	home     *home.Home
	trusted  *trusted

	ownerProblem fleet.Problem // as last told; of the follower's goroutine
	signpost     signpost      // of the follower's goroutine
	survey       *survey.Survey
	pulls        *pulls
}

// newSession returns the session of an agent that owns the fleet.
func newSession(a *Agent, b *branch) *session {
	owner, _ := a.claim.Owner()
	s := &session{Agent: a, branch: b, applied: make(chan struct{})}
	s.writer = b.Writer(owner, s.notifications())
	s.markApplied = sync.OnceFunc(func() {
		close(s.applied)
		a.ready.Set(readyRevision, "")
	})
	s.join()
	problems := []func() (fleet.Problem, bool){s.escrow.Problem, s.history.Problem, s.home.Problem, s.pulls.Problem, s.trusted.Problem, a.claim.Problem}
	if s.notifier != nil {
		problems = append(problems, s.notifier.Problem)
	}
	if s.requests != nil {
		problems = append(problems, s.requests.Problem)
	}
	if s.scales != nil {
		problems = append(problems, s.scales.Problem)
	}
	s.publisher = publish.New(publish.Parts{
		Writer: s.writer, Fleet: a.decisions, Home: s.home.Status, Made: a.revisions().Made, Problems: problems, Owned: s.owned, Metrics: a.p.Metrics, Log: a.p.Log,
	})
	a.reports.Follow(s.publisher.Report)
	s.reconciler = a.p.Reconciler(a.claim.MayAct, a.queue.Add)
	s.passes = passes.New(passes.Options{Resync: a.o.Resync, Only: a.o.Only, Recreate: a.o.Recreate}, passes.Parts{
		Reconciler: s.reconciler, Fleet: a.decisions, Queue: a.queue, Claim: a.claim, Protect: s.home.Protect, Recorded: s.recorded,
		Did: s.did, Sized: s.sized, Metrics: a.p.Metrics, Tracer: a.p.Tracer, Log: a.p.Log,
	})
	a.decisions.Follow(s.act)
	a.session.Store(s)
	return s
}

// join makes the rooms that work beside the passes.
func (s *session) join() {
	a, notify := s.Agent, func() { s.publisher.PutFleet() }
	write := func(ctx context.Context) error { return s.publisher.WriteFleet(ctx) }
	if s.branch.Requests != nil {
		s.requests = requests.New(requests.Parts{
			Branch: s.branch.Requests, Fleet: a.decisions, Recorded: s.recorded,
			Publish: write, Notify: notify, Log: a.p.Log,
		})
	}
	if s.branch.Scales != nil {
		s.scales = scales.New(scales.Parts{Branch: s.branch.Scales, Fleet: a.decisions, Signed: s.branch.Signed, Notify: notify, Log: a.p.Log})
	}
	s.trusted = &trusted{
		vouched: a.revisions().Vouched, applied: func() fleet.Revision { return a.decisions.Now().Revision() }, notify: notify, log: a.p.Log,
	}
	s.pulls = &pulls{wake: make(chan struct{}, 1), notify: notify}
	s.history = history.New(history.Parts{
		Bound: func() fleet.HistoryBound { return a.decisions.Now().Config().StatusHistory },
		May:   func() bool { return a.claim.May(fleet.Key{}) == nil },
		Count: a.p.Metrics.SetStatusHistory, Notify: notify, Log: a.p.Log,
	})
	s.survey = survey.New(survey.Parts{
		Providers: func() []string { return a.decisions.Now().Providers() }, Fleet: func() fleet.ID { return a.decisions.Now().ID() },
		Infrastructure: func(name string) (providers.Infrastructure, error) { return a.p.Infrastructure(name) },
		Found: func(provider string, clusters []fleet.Key) {
			a.decisions.DecideBulk(rollout.Input{Tagged: map[string][]fleet.Key{provider: clusters}})
		},
		Changed: a.queue.Add, Log: a.p.Log,
	})
	s.home = home.New(home.Options{Self: a.o.Name, Interval: a.o.Interval}, home.Parts{
		Fleet: s.declaredHome, Newest: a.newestFleet, Mover: a.p.Mover, LivesIn: a.p.LivesIn,
		Notify: notify, Publish: write, Log: a.p.Log,
	})
	s.escrow = escrow.NewUpkeep(escrow.UpkeepParts{
		Wanted: s.wantedEscrow, Open: a.p.Escrow, May: func() error { return a.claim.May(fleet.Key{}) },
		Notify: notify, Metrics: a.p.Metrics, Log: a.p.Log,
	})
}

// run works until ctx ends, or until the fleet is another agent's.
func (s *session) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var g run.Group
	for _, f := range []func(context.Context) error{
		s.follow, s.publisher.Run, s.survey.Run,
		s.onceApplied(s.escrow.Run), s.onceApplied(s.keepHistory), s.onceApplied(s.notify),
		s.onceApplied(func(ctx context.Context) error { return s.home.Run(ctx, s.branch.ownership()) }),
		s.onceApplied(s.planPullRequests), s.makePasses,
	} {
		g.Add(func() error { return f(ctx) }, func(error) { cancel() })
	}
	err := g.Run()
	s.reconciler.Close()
	return err
}

// follow follows the source.
func (s *session) follow(ctx context.Context) error {
	return follower.Run(ctx, follower.Parts{
		Revisions: s.revisions(), Fleet: s.decisions, Trigger: s.trigger, Restore: s.restore, Recorded: s.branch.ReadCluster, Repaired: s.repaired,
		Owned: s.owned, Interval: s.claim.Interval, Notices: s.otherBranch, Applied: s.revisionApplied,
		Then:    []func(context.Context){s.pollRequests, s.pollScales, s.rollOn, s.pulls.polled, s.trusted.polled, s.ownerPolled, s.signpostPolled},
		Unready: func(reason string) { s.ready.Set(readyRevision, reason) },
		Metrics: s.p.Metrics, Watchdog: s.p.Watchdog, Tracer: s.p.Tracer, Log: s.p.Log,
	})
}

// makePasses makes passes over clusters once a first revision is applied.
func (s *session) makePasses(ctx context.Context) error {
	select {
	case <-s.applied:
	case <-ctx.Done(): // then the queue is only closed
	}
	s.queue.Run(ctx, s.o.Workers, s.passes.Make)
	return nil
}

// onceApplied returns f for when a first revision is applied.
func (s *session) onceApplied(f func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-s.applied:
			return f(ctx)
		case <-ctx.Done():
			return nil
		}
	}
}

// keepHistory keeps the history of the status branch within its bound.
func (s *session) keepHistory(ctx context.Context) error {
	if b, ok := s.writer.(history.Branch); ok {
		return s.history.Run(ctx, b)
	}
	<-ctx.Done()
	return nil
}

// notifications makes the notifier, where people can be told, and returns what the writer
// keeps for it.
func (s *session) notifications() *status.Notifications {
	if s.p.NotificationTarget == nil {
		return nil
	}
	s.notifier = notify.New(notify.Parts{
		Fleet:   func() fleet.ID { return s.decisions.Now().ID() },
		Targets: func() []fleet.NotificationTarget { return s.decisions.Now().Config().Notifications },
		Known: func() bool {
			select {
			case <-s.applied:
				return true
			default:
				return false
			}
		},
		Open: s.p.NotificationTarget, May: func() bool { return s.claim.May(fleet.Key{}) == nil },
		Count: s.p.Metrics.Notified, Changed: func() { s.publisher.PutFleet() }, Log: s.p.Log,
	})
	return s.notifier.Notifications()
}

// notify tells people what happened.
func (s *session) notify(ctx context.Context) error {
	if w, ok := s.writer.(notify.Told); ok && s.notifier != nil {
		return s.notifier.Run(ctx, w)
	}
	<-ctx.Done()
	return nil
}
