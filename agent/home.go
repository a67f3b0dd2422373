package agent

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fairlead.dev/agent/backoff"
	"fairlead.dev/agent/ownership"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

const (
	// A move that came to an error is tried again after moveAgain at first, and
	// after moveLast at last.
	moveAgain = 5 * time.Second
	moveLast  = 5 * time.Minute
)

// A Move is what a mover has to know of the agent that asks for it.
type Move struct {
	Self  string // name of the agent
	Fleet fleet.ID
	Home  fleet.Home
	// Left, if not zero, is the home that the fleet came from: all that is to be
	// done is to clear it.
	Left   fleet.Key
	Ledger Ledger
	// Clusters returns all clusters that the fleet has.
	Clusters func(ctx context.Context) ([]fleet.Key, error)
	// Idle is between looks while nothing is under way but what others do.
	Idle time.Duration
}

// A Mover moves a fleet to its home. See agent/pivot.
type Mover interface {
	// Run takes steps until the fleet is there, or ctx ends. show is told which
	// step is next and what it is for or waits for, whenever that changes.
	Run(ctx context.Context, show func(step, why string)) error
	// Undo takes back what Run began, where the fleet was not handed over.
	Undo(ctx context.Context) error
}

// homing is what an agent knows of the way to its home.
type homing struct {
	c       chan struct{} // fleet.yaml may say something else
	retell  chan struct{} // state or problem changed
	problem atomic.Pointer[fleet.Problem]

	mu      sync.Mutex
	state   sources.HomeStatus
	waiting chan struct{} // closed once state was given to the status writer; nil: nobody waits
}

func newHoming() homing {
	return homing{c: make(chan struct{}, 1), retell: make(chan struct{}, 1)}
}

// recall takes what the status branch says of the time before.
func (h *homing) recall(s sources.HomeStatus) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state = s
}

func (h *homing) status() sources.HomeStatus {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state
}

// with returns problems and that of the move, if there is one.
func (h *homing) with(problems []fleet.Problem) []fleet.Problem {
	if p := h.problem.Load(); p != nil {
		return append(slices.Clone(problems), *p)
	}
	return problems
}

// says makes s and err part of the status.
func (h *homing) says(s sources.HomeStatus, err error) {
	var p *fleet.Problem
	if err != nil {
		p = &fleet.Problem{
			File: "fleet.yaml", Field: "spec.home", Message: fmt.Sprintf("the fleet does not get to its home %s: %s", s.Cluster, fleet.OneLine(err)),
			Hint: "docs/pivot.md tells what a declared home needs",
		}
	}
	old := h.problem.Swap(p)
	h.mu.Lock()
	changed := h.state != s || (old == nil) != (p == nil) || p != nil && *old != *p
	h.state = s
	h.mu.Unlock()
	if changed {
		poke(h.retell)
	}
}

// told is called when s was given to the status writer.
func (h *homing) told(s sources.HomeStatus) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiting != nil && s == h.state {
		close(h.waiting)
		h.waiting = nil
	}
}

// asTold returns what is closed once the state of now was given to the status
// writer.
func (h *homing) asTold() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiting == nil {
		h.waiting = make(chan struct{})
	}
	poke(h.retell)
	return h.waiting
}

// keepHome brings the fleet to the home that fleet.yaml names, while it is ours.
func (a *Agent) keepHome(ctx context.Context) error {
	select {
	case <-a.applied:
	case <-ctx.Done():
		return nil
	}
	var before fleet.Home
	for ctx.Err() == nil {
		id, home, _ := a.housed()
		a.withdraw(ctx, id, before, home)
		done := make(chan struct{})
		moving, stop := context.WithCancel(ctx)
		go func() {
			defer close(done)
			for a.moves(moving, a.mover(id, home), home) {
			}
		}()
		next := home
		for ctx.Err() == nil && next.Equal(home) {
			select {
			case <-a.homing.c:
				_, next, _ = a.housed()
			case <-ctx.Done():
			}
		}
		stop()
		<-done
		before = home
	}
	return nil
}

// housed returns what fleet.yaml says of a home, and all clusters that are known.
func (a *Agent) housed() (fleet.ID, fleet.Home, []fleet.Key) {
	now := a.targets.now()
	return now.ID(), now.Config().Home, now.Keys()
}

// mover returns what is to be done next for the fleet to be at home; nil for
// nothing.
func (a *Agent) mover(id fleet.ID, home fleet.Home) Mover {
	here, inside := ownership.HomeOf(a.o.Name)
	state := sources.HomeStatus{Cluster: home.Cluster}
	left, _ := ownership.HomeOf(a.left())
	switch {
	case left != (fleet.Key{}) && a.p.Mover != nil:
	case !home.Declared():
		if inside {
			state.Message = fmt.Sprintf("fleet.yaml names no home: the agent stays in %s", here)
		}
		a.homing.says(state, nil)
		return nil
	case inside && here == home.Cluster:
		a.homing.says(state, nil)
		return nil
	case a.p.Mover == nil:
		state.Message = fmt.Sprintf("this agent stays until it is asked: fairlead pivot --to %s", home.Cluster)
		a.homing.says(state, nil)
		return nil
	}
	m := a.move(id, home)
	if m.Left = left; left != (fleet.Key{}) {
		m.Home.Cluster = here
	}
	mover, err := a.p.Mover(m)
	if err != nil {
		state.Step = "begin"
		a.homing.says(state, err)
		return nil
	}
	return mover
}

// left returns the agent that the fleet came from and that is to be cleared, if any.
func (a *Agent) left() string {
	left := a.homing.status().Left
	if _, inside := ownership.HomeOf(a.o.Name); !inside || left == a.o.Name {
		return ""
	}
	return left
}

func (a *Agent) move(id fleet.ID, home fleet.Home) Move {
	return Move{
		Self: a.o.Name, Fleet: id, Home: home, Ledger: a.ledger, Idle: a.o.Interval,
		Clusters: func(context.Context) ([]fleet.Key, error) {
			_, _, keys := a.housed()
			return keys, nil
		},
	}
}

// moves takes the steps of m until they are done or ctx ends. It reports whether
// there may be more to do.
func (a *Agent) moves(ctx context.Context, m Mover, home fleet.Home) bool {
	if m == nil {
		return false
	}
	state := sources.HomeStatus{Cluster: home.Cluster, Step: "begin", Left: a.left()}
	clearing := state.Left != ""
	if _, inside := ownership.HomeOf(a.o.Name); inside && !clearing && !home.Keep {
		state.Left = a.o.Name
	}
	for wait := moveAgain; ; wait = min(2*wait, moveLast) {
		err := a.written(ctx, state)
		if err == nil {
			err = m.Run(ctx, func(step, why string) {
				if state.Step != step {
					a.p.Log.Info("moving the fleet to its home", "home", home.Cluster, "step", step, "why", why)
					wait = moveAgain
				}
				state.Step, state.Message = step, why
				a.homing.says(state, nil)
			})
		}
		if ctx.Err() != nil {
			return false
		}
		if err == nil {
			if clearing {
				a.homing.says(sources.HomeStatus{Cluster: home.Cluster}, nil)
			}
			return clearing
		}
		a.p.Log.Error("cannot move the fleet to its home, trying again", "home", home.Cluster, "error", err, "after", wait)
		state.Message = ""
		a.homing.says(state, err)
		if !backoff.Sleep(ctx, backoff.Jitter(wait)) {
			return false
		}
	}
}

// written makes the status branch say state, before anything is changed: an agent
// after this one takes back what fleet.yaml does not ask for any more.
func (a *Agent) written(ctx context.Context, state sources.HomeStatus) error {
	a.homing.says(state, nil)
	select {
	case <-a.homing.asTold():
	case <-ctx.Done():
		return ctx.Err()
	}
	_, err := a.status.Flush(ctx)
	return err
}

// withdraw takes back a move that was begun, by this agent or one before it, to a
// home that fleet.yaml does not name any more. before is how fleet.yaml named it,
// as far as this agent knows.
func (a *Agent) withdraw(ctx context.Context, id fleet.ID, before, home fleet.Home) {
	state := a.homing.status()
	here, _ := ownership.HomeOf(a.o.Name)
	if state.Step == "" || state.Cluster == home.Cluster || state.Cluster == here || state.Cluster == (fleet.Key{}) || a.p.Mover == nil {
		return
	}
	if before.Cluster != state.Cluster {
		before = fleet.Home{Cluster: state.Cluster, Namespace: fleet.HomeNamespace, Release: fleet.HomeRelease}
	}
	a.p.Log.Info("taking back the move to a home that fleet.yaml does not name any more", "home", before.Cluster)
	m, err := a.p.Mover(a.move(id, before))
	if err != nil {
		a.p.Log.Warn("the move is not taken back", "home", before.Cluster, "error", err)
		return
	}
	err = m.Undo(ctx)
	for wait := moveAgain; err != nil && fleet.KindOf(err) != fleet.Invalid && wait < moveLast; wait *= 2 {
		a.p.Log.Warn("cannot take the move back, trying again", "home", before.Cluster, "error", err, "after", wait)
		if !backoff.Sleep(ctx, backoff.Jitter(wait)) {
			return
		}
		err = m.Undo(ctx)
	}
	if err != nil && ctx.Err() == nil {
		a.p.Log.Warn("the move was not taken back to its end", "home", before.Cluster, "error", err)
	}
}
