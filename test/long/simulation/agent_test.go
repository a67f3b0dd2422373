package simulation

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fairlead.dev/agent"
	"fairlead.dev/agent/observability/metrics"
	"fairlead.dev/agent/ownership"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/all"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/providers/workload"
	"fairlead.dev/reconcile"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// forever is an interval that never comes: the life itself makes the agent poll
// and look, so that chance in the agent changes nothing.
const forever = 10000 * time.Hour

// An incarnation is one agent, from a start with an empty disk to its crash.
type incarnation struct {
	life      *life
	name      string
	number    int
	startedAt time.Time
	skew      atomic.Int64 // of its clock, a duration
	ctx       context.Context
	agent     *agent.Agent
	workload  *workload.Client
	cancel    context.CancelFunc
	done      chan error
	dead      atomic.Bool

	mu       sync.Mutex
	changed  func(fleet.Key) // has it look at a cluster
	turns    map[fleet.Key]turn
	tokens   map[string]string // machines by the id of their token
	doomed   map[string]bool   // those that it wanted to delete with the whole cluster
	rendered fleet.Revision
	since    time.Time // that rendered is held to
	failedAt time.Time // that a call to the status branch failed
	readAt   time.Time // that it read what people ask for
}

func (in *incarnation) now() time.Time { return time.Now().Add(in.off()) }

func (in *incarnation) off() time.Duration { return time.Duration(in.skew.Load()) }

// mostSkew is how far the clock of an agent is off from those of the agents before
// it: less than health checks wait, since what another agent saw counts.
const mostSkew = 4 * time.Minute

// start starts the agent that owns the fleet; while nobody does, with a rival
// where the life has one.
func (l *life) start() {
	if owner := l.owner(); owner != "" {
		l.agent = l.newAgent(owner)
		return
	}
	l.agent = l.newAgent("sim")
	if l.rivalry {
		l.rival = l.newAgent("rival")
	}
}

// owner returns which agent owns the fleet, as the status branch says.
func (l *life) owner() string {
	o, err := status.NewArbiter(&l.branch).Owner(context.Background())
	if err != nil {
		l.violate("the owner cannot be read: %v", err)
	}
	return o.Agent
}

// duel takes in which of two agents went because the other owns the fleet.
func (l *life) duel() {
	if l.rival == nil {
		return
	}
	select {
	case err := <-l.rival.done:
		l.rival.ended(err)
	case err := <-l.agent.done:
		l.agent.ended(err)
		l.agent = l.rival
	default:
		return
	}
	l.rival = nil
}

// ended takes in that the agent is not there any more.
func (in *incarnation) ended(err error) {
	in.dead.Store(true)
	var refused *ownership.NotOwnerError
	if err != nil && (!errors.As(err, &refused) || in.life.owner() == in.name) {
		in.life.violate("AgentsGoOn: agent %d ended with an error: %v", in.number, err)
	}
	in.workload.Close()
	in.life.logf("agent %d, %s, is gone: %v", in.number, in.name, err)
}

// newAgent starts an agent that knows nothing but the secrets.
func (l *life) newAgent(name string) *incarnation {
	l.started++
	in := &incarnation{
		life: l, name: name, number: l.started, startedAt: time.Now(),
		turns: make(map[fleet.Key]turn), tokens: make(map[string]string),
		doomed: make(map[string]bool), done: make(chan error, 1),
	}
	in.skew.Store(int64(l.offBorder(l.ahead + l.within(-l.differ, l.differ))))
	log := slog.New(slog.DiscardHandler)
	if *talk {
		log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	in.workload = workload.New(workload.Options{Log: log, Dial: l.net.DialContext, Now: in.now})
	provider := infrastructure{inmemory.NewProvider(sky{in}, l.settleTime())}
	in.agent = agent.New(agent.Options{Name: name, Interval: forever, Resync: forever, Workers: 4}, agent.Parts{
		Source: source{in},
		Renderer: notes{render.New(render.Options{
			Decoder: decode.New(theFleet, slices.Concat(inmemory.Kinds(), all.Kinds(), []fleet.Kind{rebootKind()})), FleetID: theFleet, Parallelism: 1, Log: log,
		}), in},
		StatusBranch: in.ledger,
		Reconciler: func(may func(fleet.Key) error, changed func(fleet.Key)) reconcile.Passes {
			in.mu.Lock()
			in.changed = changed
			in.mu.Unlock()
			began := time.Now()
			return watched{reconcile.New(reconcile.Options{
				Infrastructure: func(string) (providers.Infrastructure, error) { return provider, nil },
				Workload:       reach{in.workload, in}, Distributions: in.distributions(), ControlPlanes: all.ControlPlanes(providers.Options{Secret: l.secrets.GetSecret}), Secrets: safe{l.secrets, in},
				May: may, Now: in.now, Elapsed: func() time.Duration { return time.Since(began) }, Log: log,
			}), in}
		},
		Infrastructure: func(string) (providers.Infrastructure, error) { return provider, nil },
		Metrics:        metrics.New("simulation"), Log: log,
	})
	ctx, cancel := context.WithCancel(context.Background())
	in.ctx, in.cancel = ctx, cancel
	l.logf("agent %d, %s, starts, its clock %s off", in.number, in.name, in.off())
	go func() { in.done <- in.agent.Run(ctx) }()
	return in
}

// crash ends the agent as a power cut does, and its rival. Of what it had just
// sent, some is done all the same, and later.
func (l *life) crash() {
	both := []*incarnation{l.agent}
	if l.rival != nil {
		both = append(both, l.rival)
	}
	l.agent, l.rival = nil, nil
	l.unsureWaves()
	for _, in := range both {
		in.dead.Store(true)
	}
	for _, c := range l.gate.clear() {
		if c.place == theCloud && c.changes && l.chance(3) {
			l.logf("%s %s: on its way as the agent dies", c.place, c.name)
			time.AfterFunc(l.within(time.Millisecond, late), func() { c.later("landed after a crash") })
		}
	}
	for _, in := range both {
		in.cancel()
		in.ended(<-in.done)
	}
	l.startAt = time.Now().Add(l.within(time.Second, time.Minute))
	if l.chance(2) { // before all that was on its way is there
		l.startAt = time.Now().Add(l.within(time.Second, 5*time.Second))
	}
}

// offBorder returns off, or a clock beside it that is on no border: within two seconds of a minute from the right one or from
// one that an agent had, or of half a minute or a minute and a half from the right one. More than a minute is reported until
// less than half of one is left, and answers have whole seconds: on a border any later look may be the first to notice.
func (l *life) offBorder(off time.Duration) time.Duration {
	near := func(had, border time.Duration) bool { return ((off - had).Abs() - border).Abs() < 2*time.Second }
	onBorder := func() bool {
		return near(0, time.Minute/2) || near(0, 3*time.Minute/2) ||
			slices.ContainsFunc(append(l.clocks, 0), func(had time.Duration) bool { return near(had, time.Minute) })
	}
	for onBorder() {
		off += 4 * time.Second
	}
	l.clocks = append(l.clocks, off)
	return off
}

// mostLeap is how far the clock of an agent is put forward while it runs: less
// than a settle window is longer than anything takes to show.
const mostLeap = 10 * time.Second

// setClock sets the clock of the running agent, back or a little forward.
func (l *life) setClock() {
	by := l.within(-l.differ, mostLeap)
	if l.agent == nil {
		return
	}
	l.agent.skew.Store(int64(l.offBorder(max(l.agent.off()+by, l.ahead-l.differ))))
	l.logf("the agent's clock is set, and is %s off", l.agent.off())
}

// look has the agent look at its source, and at all clusters where that is true.
func (in *incarnation) look(all bool) {
	in.agent.Poll()
	in.mu.Lock()
	changed := in.changed
	in.mu.Unlock()
	if changed == nil || !all {
		return
	}
	for i := range in.life.wishes {
		changed(key(i))
	}
}

// A watched reconciler notes which passes there are.
type watched struct {
	*reconcile.Reconciler
	in *incarnation
}

// Pass implements reconcile.Passes.
func (w watched) Pass(ctx context.Context, c *fleet.Cluster, known fleet.Memory) reconcile.Result {
	w.in.mu.Lock()
	t := turn{cluster: c, began: time.Now(), clock: w.in.now(), away: w.in.life.away}
	w.in.turns[c.Key] = t
	w.in.mu.Unlock()
	w.in.passBegins(c)
	res := w.Reconciler.Pass(context.WithValue(ctx, awayKey{}, t.away), c, known)
	if !w.in.dead.Load() {
		w.in.takesTime(t, w.in.life.thaw.After(t.began))
		w.in.judgeReasons(t, res.Plan.Actions)
		w.in.passEnds(c, res)
		w.in.life.logf("pass %s: %s after %s %v", c.Key, res.Plan.Phase, res.After, slices.Concat(res.Plan.Waiting, res.Plan.Notes))
	}
	return res
}

// notes is a renderer that notes what the agent knows.
type notes struct {
	*render.Builder
	in *incarnation
}

// Close implements revisions.Renderer.
func (notes) Close() {}

// Render implements render.Renderer.
func (n notes) Render(ctx context.Context, rev fleet.Revision, t sources.Tree) (fleet.Fleet, error) {
	f, err := n.Builder.Render(ctx, rev, t)
	n.in.mu.Lock()
	defer n.in.mu.Unlock()
	if err == nil && rev.Digest > n.in.rendered.Digest { // older ones are looked up too
		n.in.rendered, n.in.since = rev, time.Now()
	}
	return f, err
}

// latest returns the newest revision that the agent knows, and since when.
func (in *incarnation) latest() (fleet.Revision, time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.rendered, in.since
}
