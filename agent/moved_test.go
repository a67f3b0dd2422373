package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// A movedWorld is a world whose status branches say where the status is.
type movedWorld struct {
	*world

	mu     sync.Mutex
	places map[string]status.Location
	errs   map[string]error // of Locate
	moves  []string
	moved  error // of MoveTo
	lacks  bool  // the place of the agent cannot be found

	oneBranch bool
}

func newMovedWorld(places map[string]status.Location) *movedWorld {
	return &movedWorld{world: newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x"))), places: places, errs: map[string]error{}}
}

func (m *movedWorld) set(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}

// run runs an agent beside do.
func (m *movedWorld) run(t *testing.T, o Options, do func()) {
	t.Helper()
	p := m.parts()
	p.OneStatusBranch = m.oneBranch
	p.Place = func(context.Context) (string, error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.lacks {
			return "", errors.New("the API server does not answer")
		}
		return "here", nil
	}
	open := p.StatusBranch
	p.StatusBranch = func(name string) (StatusBranch, error) {
		b, err := open("status")
		b.Locate = func(context.Context) (status.Location, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.places[name], m.errs[name]
		}
		b.MoveTo = func(_ context.Context, to string) error {
			m.mu.Lock()
			defer m.mu.Unlock()
			if m.moves = append(m.moves, name+" to "+to); len(m.moves) > 1000 {
				panic("the move is repeated without a wait")
			}
			if m.moved != nil && !errors.Is(m.moved, status.ErrUnmarked) {
				return m.moved
			}
			here := m.places[name]
			here.Arrived, here.MovedTo = here.Arrived+1, ""
			m.places[to] = here
			return m.moved
		}
		return b, err
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- New(m.options(o), p).Run(ctx) }()
		synctest.Wait()
		do()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// mine is a status of the fleet that this agent owns.
func mine() status.Location {
	return status.Location{Owner: fleet.Owner{Agent: "me", Place: "here", Epoch: 2}, Fleet: "f"}
}

// TestPlaceComesLate: an agent whose place is found late completes the move that it began.
func TestPlaceComesLate(t *testing.T) {
	half := mine()
	half.MovedTo, half.Move = "status", 1
	m := newMovedWorld(map[string]status.Location{"fairlead/status": half, "status": {Reserved: true}})
	m.owner, m.lacks = half.Owner, true
	m.run(t, Options{}, func() {
		time.Sleep(time.Minute)
		expect(t, "the passes without a place", m.took(), []string(nil))
		m.set(func() { m.lacks = false })
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		expect(t, "the moves", m.moves, []string{"fairlead/status to status"})
		expect(t, "the passes", m.took(), []string{"prod/a 1"})
	})
}

// TestUnmarkedMoveIsAMove: a status that was moved from a branch that accepts no push is not moved again.
func TestUnmarkedMoveIsAMove(t *testing.T) {
	m := newMovedWorld(map[string]status.Location{"fairlead/status": mine()})
	m.owner, m.moved = mine().Owner, fmt.Errorf("%w: protected", status.ErrUnmarked)
	m.run(t, Options{}, func() {
		time.Sleep(500 * time.Millisecond) // before anything is tried again
		synctest.Wait()
		expect(t, "the moves", m.moves, []string{"fairlead/status to status"})
		expect(t, "the passes", m.took(), []string{"prod/a 1"})
	})
}

// TestStandbyFollowsMove: an agent that waits for the fleet follows its status to another branch, and waits while
// nobody knows where it is.
func TestStandbyFollowsMove(t *testing.T) {
	other := mine()
	other.Owner = fleet.Owner{Agent: "other", Place: "there", Epoch: 2}
	m := newMovedWorld(map[string]status.Location{"status": other})
	m.owner = other.Owner
	m.run(t, Options{WaitForOwnership: true}, func() {
		time.Sleep(time.Minute)
		m.set(func() { m.errs["status"] = fmt.Errorf("damaged: %w", status.ErrMovedUnknown) })
		m.world.mu.Lock()
		m.owner = mine().Owner
		m.world.mu.Unlock()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		expect(t, "the passes while nobody knows where the status is", m.took(), []string(nil))
		m.set(func() {
			delete(m.errs, "status")
			former := other
			former.MovedTo, former.Move = "a", 1
			at := mine()
			at.Arrived, at.Reserved = 1, true
			m.places["status"], m.places["a"] = former, at
		})
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		expect(t, "the passes", m.took(), []string{"prod/a 1"})
		expect(t, "the moves", m.moves, []string{"a to status"})
	})
}

// TestBranchThatTakesNoPush: a commit names a status branch that accepts no push. The agent that starts goes on
// at the former one.
func TestBranchThatTakesNoPush(t *testing.T) {
	m := newMovedWorld(map[string]status.Location{"fairlead/status": mine()})
	m.owner, m.moved = mine().Owner, fmt.Errorf("%w: protected", status.ErrStays)
	m.run(t, Options{}, func() {
		time.Sleep(time.Minute)
		synctest.Wait()
		expect(t, "the moves", m.moves, []string{"fairlead/status to status"})
		expect(t, "the passes", m.took(), []string{"prod/a 1"})
	})
}

// TestMoveWhileNoPushIsAnswered: a commit names another status branch, and the server can be read and answers no
// push. The agent that starts goes on at the former branch, as it does without such a commit.
func TestMoveWhileNoPushIsAnswered(t *testing.T) {
	m := newMovedWorld(map[string]status.Location{"fairlead/status": mine()})
	m.owner, m.moved = mine().Owner, fmt.Errorf("%w: 502 Bad Gateway", status.ErrUndecided)
	m.run(t, Options{}, func() {
		time.Sleep(4 * time.Minute)
		synctest.Wait()
		expect(t, "the passes while the move is tried", m.took(), []string(nil))
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		expect(t, "the passes", m.took(), []string{"prod/a 1"})
	})
}

// TestDecidedMoveWaitsForItsBranch: a move that is decided is not given up, and is tried again with waits.
func TestDecidedMoveWaitsForItsBranch(t *testing.T) {
	half := mine()
	half.MovedTo, half.Move = "status", 1
	for _, why := range []error{status.ErrUndecided, status.ErrStays} {
		m := newMovedWorld(map[string]status.Location{"fairlead/status": half, "status": {Reserved: true}})
		m.owner, m.moved = half.Owner, fmt.Errorf("%w: no answer", why)
		m.run(t, Options{}, func() {
			time.Sleep(20 * time.Minute)
			synctest.Wait()
			expect(t, "the passes", m.took(), []string(nil))
		})
	}
}

// TestOneBranchOfManyNames: a folder has one status branch. Git and a flag may name it otherwise: an agent that starts moves
// nothing, and says nothing of it.
func TestOneBranchOfManyNames(t *testing.T) {
	for _, flag := range []string{"", "other"} {
		m := newMovedWorld(map[string]status.Location{})
		m.owner = mine().Owner
		for _, name := range []string{"fairlead/status", "status", "other"} {
			m.places[name] = mine()
		}
		m.oneBranch = true
		m.run(t, Options{StatusBranch: flag}, func() {
			time.Sleep(time.Minute)
			synctest.Wait()
			expect(t, "the moves", m.moves, []string(nil))
			expect(t, "the passes", m.took(), []string{"prod/a 1"})
			expect(t, "the problems", m.whole().Problems, []fleet.Problem(nil))
		})
	}
}
