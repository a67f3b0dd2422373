package agent

import (
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
)

// triggering runs an agent whose next poll is far away.
func triggering(t *testing.T, do func(t *testing.T, a *Agent, w *world)) {
	w := newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x")), fleetOf("2", fleet.Prune{}, clusterOf(keyA, "2", "y")))
	bubble(t, w, Options{Interval: 100 * time.Hour}, func(t *testing.T, a *Agent) {
		w.took()
		w.polls.Store(0)
		do(t, a, w)
	})
}

func (w *world) move(rev string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.head = revision(rev)
}

func TestPollNow(t *testing.T) {
	triggering(t, func(t *testing.T, a *Agent, w *world) {
		w.move("2")
		a.Poll()
		synctest.Wait()
		expect(t, "a push that the agent is told of is acted on at once", w.took(), []string{"prod/a 2"})
	})
}

func TestManyTriggersAreOnePollASecond(t *testing.T) {
	triggering(t, func(t *testing.T, a *Agent, w *world) {
		for range 10_000 {
			a.Poll()
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := w.polls.Load(); got < 5 || got > 13 {
			t.Errorf("%d polls in 10 s of triggers, want about one a second", got)
		}
		w.move("2")
		a.Poll()
		time.Sleep(time.Second)
		synctest.Wait()
		expect(t, "the last trigger is not lost", w.took(), []string{"prod/a 2"})
	})
}

func TestTriggerBeforeTheForgeShowsThePush(t *testing.T) {
	triggering(t, func(t *testing.T, a *Agent, w *world) {
		a.Poll()
		synctest.Wait()
		w.move("2")
		time.Sleep(3 * time.Second)
		synctest.Wait()
		expect(t, "it looks again when it finds nothing", w.took(), []string{"prod/a 2"})
		time.Sleep(time.Hour)
		expect(t, "and not any more once it found something", w.polls.Load(), int64(2))
		a.Poll()
		time.Sleep(time.Hour)
		expect(t, "it looks three times when nothing comes", w.polls.Load(), int64(5))
	})
}

func TestWrites(t *testing.T) {
	w := newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x")))
	if a := w.agent(Options{StatusBranch: "mine"}); !a.Writes("mine") || a.Writes("status") || a.Writes("") {
		t.Error("before it owns the fleet an agent knows the branch that it was given")
	}
	bubble(t, w, Options{}, func(t *testing.T, a *Agent) {
		if !a.Writes("status") || a.Writes("main") {
			t.Error("the branch that fleet.yaml names is the agent's own")
		}
		a.session.Load().branch.Wrote = func(hash string) bool { return hash == "ours" }
		if !a.Wrote("status", "ours") || a.Wrote("status", "theirs") || a.Wrote("status", "") {
			t.Error("a push to the status branch is the agent's own where it made the commit")
		}
	})
}
