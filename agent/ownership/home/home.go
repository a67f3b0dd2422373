package home

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"fairlead.dev/agent/loop/backoff"
	"fairlead.dev/agent/ownership"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

const (
	// firstRetry is the wait before a failed move is first tried again, and lastRetry the
	// longest wait.
	firstRetry = 5 * time.Second
	lastRetry  = 5 * time.Minute
)

// A Move is what a Mover has to know of the agent that moves the fleet.
type Move struct {
	Self  string // name of the agent
	Fleet fleet.ID
	Home  fleet.Home
	// Left, if not zero, is the home that the fleet came from. The move then only removes
	// what is left there.
	Left   fleet.Key
	Branch ownership.Branch
	// Clusters returns all clusters of the fleet.
	Clusters func(ctx context.Context) ([]fleet.Key, error)
	// Idle is the time between two looks while only other agents have something to do.
	Idle time.Duration
}

// A Mover moves a fleet to its home. See agent/ownership/pivot.
type Mover interface {
	// Run does steps until the fleet is there, or ctx ends. It calls show with the next
	// step, and its purpose or what it waits for, whenever one of them changes.
	Run(ctx context.Context, show func(step, why string)) error
	// Undo reverts what Run began, unless the fleet was handed over.
	Undo(ctx context.Context) error
}

// Options say which agent this is.
type Options struct {
	Self     string        // its name
	Interval time.Duration // between its polls
}

// Parts are what a Home works with.
type Parts struct {
	// Fleet returns the id of the fleet, its home in fleet.yaml, and all known clusters.
	Fleet func() (fleet.ID, fleet.Home, []fleet.Key)
	// Newest renders the newest revision.
	Newest func(ctx context.Context) (fleet.Fleet, error)
	// Mover returns the Mover of a move. Nil: this agent moves the fleet only when a person
	// asks for it.
	Mover func(Move) (Mover, error)
	// LivesIn reports whether the agent keeps its secrets in cluster k, as an agent that
	// runs there does. Nil: only the name of the agent says where it lives.
	LivesIn func(ctx context.Context, k fleet.Key) (bool, error)
	// Notify is called when Status or Problem changes.
	Notify func()
	// Publish writes Status and Problem to the status branch.
	Publish func(ctx context.Context) error
	Log     *slog.Logger
}

// A Home knows how far the fleet is on its way to its home, and moves it there. It is safe
// for concurrent use.
type Home struct {
	o Options
	p Parts

	changed chan struct{} // has an element after fleet.yaml may have changed

	owed    chan struct{} // has an element after toUndo changed
	undoing sync.Mutex    // held while an earlier move is taken back

	mu      sync.Mutex
	status  sources.HomeStatus // without Undo
	problem *fleet.Problem     // nil: none
	toUndo  []unreverted
}

// New returns a Home that knows nothing yet.
func New(o Options, p Parts) *Home {
	return &Home{o: o, p: p, changed: make(chan struct{}, 1), owed: make(chan struct{}, 1)}
}

// Restore takes over the status of an earlier agent's move from the status branch.
func (h *Home) Restore(s sources.HomeStatus) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.toUndo = parseUnreverted(s.Undo)
	s.Undo = ""
	h.status = s
}

// Status returns how far the move is.
func (h *Home) Status() sources.HomeStatus {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.status
	s.Undo = formatUnreverted(h.toUndo)
	return s
}

// Problem returns why the fleet cannot move to its home, or what an earlier move left, if that
// is so.
func (h *Home) Problem() (fleet.Problem, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.problem != nil:
		return *h.problem, true
	case len(h.toUndo) > 0:
		return leftProblem(h.toUndo), true
	}
	return fleet.Problem{}, false
}

// Check makes Run read fleet.yaml again.
func (h *Home) Check() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// set stores the status of the move and its error, and reports whether one of them is new.
func (h *Home) set(s sources.HomeStatus, err error) bool {
	var p *fleet.Problem
	if err != nil {
		p = &fleet.Problem{
			File: "fleet.yaml", Field: "spec.home", Message: fmt.Sprintf("the fleet does not get to its home %s: %s", s.Cluster, fleet.OneLine(err)),
			Hint: "docs/operations/pivot.md tells what a declared home needs",
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	old := h.problem
	changed := h.status != s || (old == nil) != (p == nil) || p != nil && *old != *p
	h.status, h.problem = s, p
	return changed
}

// report stores the status of the move and its error, and publishes them.
func (h *Home) report(s sources.HomeStatus, err error) {
	if h.set(s, err) {
		h.p.Notify()
	}
}

// Run moves the fleet to the home that fleet.yaml names, until ctx ends. The agent has to
// own the fleet, and to have rendered a first revision.
func (h *Home) Run(ctx context.Context, b ownership.Branch) error {
	undone := make(chan struct{})
	go func() {
		defer close(undone)
		h.undoLeft(ctx, b)
	}()
	defer func() { <-undone }()
	var before fleet.Home
	for ctx.Err() == nil {
		id, home, _ := h.p.Fleet()
		h.undo(ctx, b, id, before, home)
		h.awaitUndo(home.Cluster)
		done := make(chan struct{})
		moving, stop := context.WithCancel(ctx)
		go func() {
			defer close(done)
			for h.run(moving, h.mover(b, id, home), home) {
			}
		}()
		next := home
		for ctx.Err() == nil && next.Equal(home) {
			select {
			case <-h.changed:
				_, next, _ = h.p.Fleet()
			case <-ctx.Done():
			}
		}
		stop()
		<-done
		before = home
	}
	return nil
}

// mover returns the next move on the way to the home. Nil: there is nothing to do.
func (h *Home) mover(b ownership.Branch, id fleet.ID, home fleet.Home) Mover {
	here, inside := ownership.HomeOf(h.o.Self)
	state := sources.HomeStatus{Cluster: home.Cluster}
	left, _ := ownership.HomeOf(h.left())
	switch {
	case left != (fleet.Key{}) && h.p.Mover != nil:
	case !home.Declared():
		if inside {
			state.Message = fmt.Sprintf("fleet.yaml names no home: the agent stays in %s", here)
		}
		h.report(state, nil)
		return nil
	case inside && here == home.Cluster:
		h.report(state, nil)
		return nil
	case h.p.Mover == nil:
		state.Message = fmt.Sprintf("this agent stays until it is asked: fairlead pivot --to %s", home.Cluster)
		h.report(state, nil)
		return nil
	}
	m := h.move(b, id, home)
	if m.Left = left; left != (fleet.Key{}) {
		m.Home.Cluster = here
	}
	mover, err := h.p.Mover(m)
	if err != nil {
		state.Step = "begin"
		h.report(state, err)
		return nil
	}
	return mover
}

// left returns the agent that the fleet came from, if something of it is to be removed.
func (h *Home) left() string {
	left := h.Status().Left
	if _, inside := ownership.HomeOf(h.o.Self); !inside || left == h.o.Self {
		return ""
	}
	return left
}

func (h *Home) move(b ownership.Branch, id fleet.ID, home fleet.Home) Move {
	return Move{
		Self: h.o.Self, Fleet: id, Home: home, Branch: b, Idle: h.o.Interval,
		Clusters: func(context.Context) ([]fleet.Key, error) {
			_, _, keys := h.p.Fleet()
			return keys, nil
		},
	}
}

// run runs m until it is done or ctx ends. It reports whether there may be more to do.
func (h *Home) run(ctx context.Context, m Mover, home fleet.Home) bool {
	if m == nil {
		return false
	}
	state := sources.HomeStatus{Cluster: home.Cluster, Step: "begin", Left: h.left()}
	clearing := state.Left != ""
	if _, inside := ownership.HomeOf(h.o.Self); inside && !clearing && !home.Keep {
		state.Left = h.o.Self
	}
	for failures := backoff.New(firstRetry, lastRetry); ; {
		h.set(state, nil)
		err := h.p.Publish(ctx) // before the first step: see the guarantees of the package
		if err == nil {
			err = m.Run(ctx, func(step, why string) {
				if state.Step != step {
					h.p.Log.Info("moving the fleet to its home", "home", home.Cluster, "step", step, "why", why)
					failures = backoff.New(firstRetry, lastRetry)
				}
				state.Step, state.Message = step, why
				h.report(state, nil)
			})
		}
		if ctx.Err() != nil {
			return false
		}
		if err == nil {
			if clearing {
				h.report(sources.HomeStatus{Cluster: home.Cluster}, nil)
			}
			return clearing
		}
		wait := failures.Step()
		h.p.Log.Error("cannot move the fleet to its home, retrying", "home", home.Cluster, "error", err, "after", wait)
		state.Message = ""
		h.report(state, err)
		if !backoff.Sleep(ctx, backoff.Jitter(wait)) {
			return false
		}
	}
}

// undo reverts a move, of this agent or an earlier one, to a home that fleet.yaml does not
// name any more. before is that home in fleet.yaml, as far as this agent knows it.
func (h *Home) undo(ctx context.Context, b ownership.Branch, id fleet.ID, before, home fleet.Home) {
	state := h.Status()
	here, _ := ownership.HomeOf(h.o.Self)
	if state.Step == "" || state.Cluster == home.Cluster || state.Cluster == here || state.Cluster == (fleet.Key{}) || h.p.Mover == nil {
		return
	}
	if before.Cluster != state.Cluster {
		before = fleet.Home{Cluster: state.Cluster, Namespace: fleet.HomeNamespace, Release: fleet.HomeRelease}
	}
	h.p.Log.Info("reverting the move to a home that fleet.yaml no longer names", "home", before.Cluster)
	m, err := h.p.Mover(h.move(b, id, before))
	if err != nil {
		h.p.Log.Warn("move not reverted yet", "home", before.Cluster, "error", err)
		h.keepLeft(before, err)
		return
	}
	failures := backoff.New(firstRetry, lastRetry)
	err = m.Undo(ctx)
	for wait := failures.Step(); err != nil && fleet.KindOf(err) != fleet.Invalid && wait < lastRetry; wait = failures.Step() {
		h.p.Log.Warn("cannot revert the move, retrying", "home", before.Cluster, "error", err, "after", wait)
		if !backoff.Sleep(ctx, backoff.Jitter(wait)) {
			return
		}
		err = m.Undo(ctx)
	}
	if err != nil && ctx.Err() == nil {
		h.p.Log.Warn("move partly reverted, retrying later", "home", before.Cluster, "error", err)
		h.keepLeft(before, err)
	}
}
