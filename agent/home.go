package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fairlead.dev/agent/pivot"
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

	mu    sync.Mutex
	state sources.HomeStatus
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
			File: "fleet.yaml", Field: "spec.home", Message: fmt.Sprintf("the fleet does not get to its home %s: %s", s.Cluster, oneLine(err)),
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

// keepHome brings the fleet to the home that fleet.yaml names, while it is ours.
func (a *Agent) keepHome(ctx context.Context) error {
	select {
	case <-a.applied:
	case <-ctx.Done():
		return nil
	}
	for ctx.Err() == nil {
		id, home, _ := a.housed()
		m, done := a.mover(id, home), make(chan struct{})
		moving, stop := context.WithCancel(ctx)
		go func() {
			defer close(done)
			a.moves(moving, m, home)
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
		if ctx.Err() == nil && m != nil && next.Cluster != home.Cluster {
			a.withdraw(ctx, m, home)
		}
	}
	return nil
}

// housed returns what fleet.yaml says of a home, and all clusters that are known.
func (a *Agent) housed() (fleet.ID, fleet.Home, []fleet.Key) {
	id, _, keys := a.escrowed()
	a.mu.Lock()
	defer a.mu.Unlock()
	return id, a.desired.home, keys
}

// mover returns what is to be done for the fleet to be at home; nil for nothing.
func (a *Agent) mover(id fleet.ID, home fleet.Home) Mover {
	here, inside := pivot.HomeOf(a.o.Name)
	state := sources.HomeStatus{Cluster: home.Cluster}
	left := a.homing.status().Left
	switch {
	case !home.Declared():
		if inside {
			state.Message = fmt.Sprintf("fleet.yaml names no home: the agent stays in %s", here)
		}
		a.homing.says(state, nil)
		return nil
	case inside && here == home.Cluster && (left == "" || left == a.o.Name):
		a.homing.says(state, nil)
		return nil
	case a.p.Mover == nil:
		state.Message = fmt.Sprintf("this agent stays until it is asked: fairlead pivot --to %s", home.Cluster)
		a.homing.says(state, nil)
		return nil
	}
	m := Move{
		Self: a.o.Name, Fleet: id, Home: home, Ledger: a.ledger, Idle: a.o.Interval,
		Clusters: func(context.Context) ([]fleet.Key, error) {
			_, _, keys := a.housed()
			return keys, nil
		},
	}
	if inside && here == home.Cluster {
		m.Left, _ = pivot.HomeOf(left)
	}
	mover, err := a.p.Mover(m)
	if err != nil {
		a.p.Log.Error("cannot move the fleet to its home", "home", home.Cluster, "error", err)
		state.Step = "begin"
		a.homing.says(state, err)
		return nil
	}
	return mover
}

// moves takes the steps of m until they are done or ctx ends.
func (a *Agent) moves(ctx context.Context, m Mover, home fleet.Home) {
	if m == nil {
		return
	}
	state := sources.HomeStatus{Cluster: home.Cluster, Step: "begin", Left: a.homing.status().Left}
	if here, inside := pivot.HomeOf(a.o.Name); inside && here != home.Cluster {
		state.Left = ""
		if !home.Keep {
			state.Left = a.o.Name
		}
	}
	for wait := moveAgain; ; wait = min(2*wait, moveLast) {
		err := m.Run(ctx, func(step, why string) {
			if state.Step != step {
				a.p.Log.Info("moving the fleet to its home", "home", home.Cluster, "step", step, "why", why)
				wait = moveAgain
			}
			state.Step, state.Message = step, why
			a.homing.says(state, nil)
		})
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			if a.owner.Load() != nil { // only the cleaning was left
				a.homing.says(sources.HomeStatus{Cluster: home.Cluster}, nil)
			}
			return
		}
		a.p.Log.Error("cannot move the fleet to its home, trying again", "home", home.Cluster, "error", err, "after", wait)
		state.Message = ""
		a.homing.says(state, err)
		if !pause(ctx, jitter(wait)) {
			return
		}
	}
}

// withdraw takes back a move to a home that fleet.yaml does not name any more.
func (a *Agent) withdraw(ctx context.Context, m Mover, home fleet.Home) {
	a.p.Log.Info("taking back the move to a home that fleet.yaml does not name any more", "home", home.Cluster)
	if err := m.Undo(ctx); err != nil && ctx.Err() == nil {
		a.p.Log.Warn("the move was not taken back to its end", "home", home.Cluster, "error", err)
	}
}

// leave ends the move of a fleet whose home owns it by now: what this agent has
// of it goes. An agent in a home has no part in that: the new owner clears it.
func (a *Agent) leave(ctx context.Context, err error) {
	lost, ok := errors.AsType[*NotOwnerError](err)
	if _, inside := pivot.HomeOf(a.o.Name); !ok || inside || a.p.Mover == nil || ctx.Err() != nil {
		return
	}
	if _, homely := pivot.HomeOf(lost.Owner.Agent); !homely {
		return
	}
	rev, err := a.p.Source.Resolve(ctx)
	if err != nil {
		return
	}
	f, err := a.render(ctx, rev)
	if home := f.Config.Home; err != nil || home.Keep || pivot.AgentOf(home.Cluster) != lost.Owner.Agent {
		return
	}
	m, err := a.p.Mover(Move{
		Self: a.o.Name, Fleet: f.ID, Home: f.Config.Home, Ledger: a.ledger, Idle: a.o.Interval,
		Clusters: func(ctx context.Context) ([]fleet.Key, error) { return a.everyCluster(ctx, f) },
	})
	if err == nil {
		a.p.Log.Info("the fleet is at home, clearing what is left here", "home", f.Config.Home.Cluster)
		err = m.Run(ctx, func(step, why string) {
			a.p.Log.Info("clearing what is left here", "step", step, "why", why)
		})
	}
	if err != nil && ctx.Err() == nil {
		a.p.Log.Warn("what the fleet has here was not cleared, start the agent again to try again", "error", err)
	}
}

// everyCluster returns the clusters of f and those that the status branch tells of.
func (a *Agent) everyCluster(ctx context.Context, f fleet.Fleet) ([]fleet.Key, error) {
	s, err := a.ledger.Read(ctx)
	if err != nil {
		return nil, err
	}
	var keys []fleet.Key
	for i := range f.Clusters {
		keys = append(keys, f.Clusters[i].Key)
	}
	for _, c := range s.Clusters {
		keys = append(keys, c.Report.Cluster)
	}
	slices.SortFunc(keys, fleet.Key.Compare)
	return slices.Compact(keys), nil
}
