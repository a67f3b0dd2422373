package agent

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/oklog/run"

	"fairlead.dev/agent/history"
	"fairlead.dev/agent/home"
	"fairlead.dev/agent/requests"
	"fairlead.dev/agent/scales"
	"fairlead.dev/agent/secrets/escrow"
	"fairlead.dev/agent/survey"
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
	status     sources.StatusWriter
	reconciler reconcile.Passes
	applied    chan struct{} // closed once a first revision is applied

	requests *requests.Requests // nil: nobody can ask
	scales   *scales.Scales     // nil: Git says all
	escrow   *escrow.Upkeep
	history  *history.Keeper
	home     *home.Home
	survey   *survey.Survey

	statusMu sync.Mutex // held while the status of the fleet is made and given away, so that the last is the newest
}

// newSession returns the session of an agent that owns the fleet.
func newSession(a *Agent, b *branch) *session {
	owner, _ := a.claim.Owner()
	s := &session{Agent: a, branch: b, status: b.Writer(owner), applied: make(chan struct{})}
	if b.Requests != nil {
		s.requests = requests.New(requests.Parts{Branch: b.Requests, Fleet: decisions{a}, Recorded: s.recordOf, Notify: s.putStatus, Log: a.p.Log})
	}
	if b.Scales != nil {
		s.scales = scales.New(scales.Parts{Branch: b.Scales, Fleet: decisions{a}, Signed: b.Signed, Notify: s.putStatus, Log: a.p.Log})
	}
	s.history = history.New(history.Parts{
		Bound: func() fleet.HistoryBound { return a.targets.decided().Config().StatusHistory },
		May:   func() bool { return a.claim.May(fleet.Key{}) == nil },
		Count: a.p.Metrics.SetStatusHistory, Notify: s.putStatus, Log: a.p.Log,
	})
	s.survey = survey.New(survey.Parts{
		Providers: func() []string { return a.targets.decided().Providers() }, Fleet: func() fleet.ID { return a.targets.decided().ID() },
		Infrastructure: func(name string) (providers.Infrastructure, error) { return a.p.Infrastructure(name) }, Found: s.found, Changed: a.queue.Add, Log: a.p.Log,
	})
	s.home = home.New(home.Options{Self: a.o.Name, Interval: a.o.Interval}, home.Parts{
		Fleet: s.declaredHome, Newest: a.newestFleet, Mover: a.p.Mover, LivesIn: a.p.Inhabits,
		Notify: s.putStatus, Publish: s.publishFleet, Log: a.p.Log,
	})
	s.escrow = escrow.NewUpkeep(escrow.UpkeepParts{
		Wanted: s.wantedEscrow, Open: a.p.Escrow, May: func() error { return a.claim.May(fleet.Key{}) },
		Notify: s.putStatus, Metrics: a.p.Metrics, Log: a.p.Log,
	})
	a.targets.reports.Follow(s.publishReport)
	s.reconciler = a.p.Reconciler(a.claim.May, a.queue.Add)
	a.session.Store(s)
	return s
}

// run works until ctx ends, or until the fleet is another agent's.
func (a *session) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var g run.Group
	for _, f := range []func(context.Context) error{
		a.follow, a.writeStatus, a.reconciler.Attend, a.survey.Run,
		a.onceApplied(a.escrow.Run), a.onceApplied(a.keepHistory),
		a.onceApplied(func(ctx context.Context) error { return a.home.Run(ctx, a.branch.ownership()) }),
		a.passes,
	} {
		g.Add(func() error { return f(ctx) }, func(error) { cancel() })
	}
	err := g.Run()
	a.reconciler.Close()
	return err
}

// passes makes passes over clusters once a first revision is applied.
func (a *session) passes(ctx context.Context) error {
	select {
	case <-a.applied:
	case <-ctx.Done(): // then the queue is only closed
	}
	a.queue.Run(ctx, a.o.Workers, a.work)
	return nil
}

// onceApplied returns f for when a first revision is applied.
func (a *session) onceApplied(f func(context.Context) error) func(context.Context) error {
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
func (a *session) keepHistory(ctx context.Context) error {
	if b, ok := a.status.(history.Branch); ok {
		return a.history.Run(ctx, b)
	}
	<-ctx.Done()
	return nil
}

// found takes in which clusters with tags of the fleet a provider has.
func (a *session) found(provider string, clusters []fleet.Key) {
	a.decide(rollout.Input{Tagged: map[string][]fleet.Key{provider: clusters}}, a.queue.AddBulk)
}

// declaredHome returns what fleet.yaml says of a home, and all clusters that are known.
func (a *session) declaredHome() (fleet.ID, fleet.Home, []fleet.Key) {
	now := a.targets.decided()
	return now.ID(), now.Config().Home, now.Keys()
}

// wantedEscrow returns what is to be kept in escrow.
func (a *session) wantedEscrow() escrow.Wanted {
	now := a.targets.decided()
	return escrow.Wanted{Fleet: now.ID(), Escrow: now.Config().Escrow, Clusters: now.Keys(), Secrets: now.StoredSecrets()}
}

// publishFleet writes the status of the fleet as a whole.
func (a *session) publishFleet(ctx context.Context) error {
	a.putStatus()
	return a.flush(ctx)
}

// flush writes the status that waits.
func (a *session) flush(ctx context.Context) error {
	_, err := a.status.Flush(ctx)
	return err
}

// writeStatus runs the status writer.
func (a *session) writeStatus(ctx context.Context) error {
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

// putStatus gives the status of the fleet as a whole to the status writer and the metrics.
func (a *session) putStatus() {
	a.statusMu.Lock()
	defer a.statusMu.Unlock()
	now := a.targets.decided().Status()
	problems := slices.Clone(now.Problems)
	add := func(p fleet.Problem, ok bool) {
		if ok {
			problems = append(problems, p)
		}
	}
	add(a.escrow.Problem())
	add(a.history.Problem())
	add(a.home.Problem())
	if a.requests != nil {
		add(a.requests.Problem())
	}
	if a.scales != nil {
		add(a.scales.Problem())
	}
	s := sources.FleetStatus{
		Fleet: now.Fleet, Revision: now.Revision, Applied: now.Applied, Broken: now.Broken, Behind: now.Behind,
		Problems: slices.Concat(problems, now.Damaged), Orphans: now.Orphans, Home: a.home.Status(), Sources: now.Sources,
	}
	a.p.Metrics.SetFleet(s, now.Clusters, now.Blocked)
	a.status.PutFleet(s)
}
