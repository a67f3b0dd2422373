package plan_test

import (
	"slices"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan"
)

// TestClocksAreTold: clocks that differ are told while they do, in words that stay the
// same, and nothing waits for that.
func TestClocksAreTold(t *testing.T) {
	const server, infrastructure = "The clock of the API server is more than a minute ", "The clock of the infrastructure is more than "
	for name, c := range map[string]struct {
		skew func(*world)
		want string
	}{
		"agree":                 {func(*world) {}, ""},
		"within a minute":       {func(w *world) { w.nodesAhead, w.infraAhead = 50*time.Second, -50*time.Second }, ""},
		"API server ahead":      {func(w *world) { w.nodesAhead = time.Hour }, server + "ahead of the agent's. Have them synchronised"},
		"API server behind":     {func(w *world) { w.nodesAhead = -2 * time.Minute }, server + "behind the agent's. Have them synchronised"},
		"infrastructure behind": {func(w *world) { w.infraAhead = -2 * time.Minute }, infrastructure + "a minute behind the agent's. Have them synchronised"},
		"infrastructure slow":   {func(w *world) { w.infraAhead = 20 * time.Minute }, ""},
		"infrastructure ahead":  {func(w *world) { w.infraAhead = time.Hour }, infrastructure + "half an hour ahead of the agent's. Have them synchronised"},
		"agent ahead": {
			func(w *world) { w.ahead = time.Hour },
			server + "behind the agent's. " + infrastructure + "a minute behind the agent's. Have them synchronised",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(cluster(1, 1))
			c.skew(w)
			w.since = w.clock()
			if err := w.rest(200); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				got := ""
				for _, cond := range w.pass().Conditions {
					if cond.Type == "ClocksAgree" {
						got = cond.Message
					}
				}
				if got != c.want {
					t.Errorf("it is told %q, want %q", got, c.want)
				}
				w.advance(10 * time.Minute)
				w.nodesAhead += 7 * time.Second * (w.nodesAhead / time.Minute)
			}
		})
	}
}

// hour passes every ten seconds for an hour.
func hour(w *world) {
	for range 360 {
		w.pass()
		w.advance(10 * time.Second)
	}
}

// TestWhatNodesSayIsWaitedOut: a Node is not ready for as long as agents saw it so
// in one piece: one that was ready in between, unseen, begins anew, and an API
// server that does not answer ends nothing.
func TestWhatNodesSayIsWaitedOut(t *testing.T) {
	for name, c := range map[string]struct {
		between func(w *world, n *fleet.Node, minute int)
		after   int // minutes, when it is condemned
	}{
		"all the time":     {func(*world, *fleet.Node, int) {}, 6},
		"ready in between": {func(w *world, n *fleet.Node, minute int) { w.blink(n, minute == 4) }, 10},
		"an agent that crashed": {func(w *world, _ *fleet.Node, minute int) {
			if minute == 3 {
				w.attempts, w.since = nil, w.clock().Add(-w.settle)
			}
		}, 6},
		"an API server that does not answer": {func(w *world, _ *fleet.Node, minute int) { w.outage = minute > 1 && minute < 4 }, 6},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := rested(change(cluster(1, 2), func(c *fleet.Cluster) { c.HealthChecks = checkAll(300) }))
			if err != nil {
				t.Fatal(err)
			}
			w.nodesAhead = -time.Hour
			m := w.machines[1]
			w.kill(m)
			n := w.nodes[w.nodeName(m)]
			for minute := range 20 {
				c.between(w, n, minute)
				if w.pass(); n.Draining {
					if minute != c.after {
						t.Errorf("condemned after %d minutes, want %d", minute, c.after)
					}
					return
				}
				w.advance(time.Minute)
			}
			t.Error("never condemned")
		})
	}
}

// blink makes n ready for a moment in which nobody looks, if it does.
func (w *world) blink(n *fleet.Node, does bool) {
	if does {
		w.setReady(n, true)
		w.setReady(n, false)
	}
}

// TestClocksOnTheBorder: a clock that is about as far off as people are told of does
// not change what they are told, back and forth.
func TestClocksOnTheBorder(t *testing.T) {
	c := &fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "eu-1"}, ControlPlane: fleet.Pool{Name: "cp", Role: fleet.RoleControlPlane}}
	var memory fleet.Memory
	for _, step := range []struct {
		ahead time.Duration
		told  bool
	}{
		{59 * time.Second, false},
		{61 * time.Second, true},
		{59 * time.Second, true},
		{61 * time.Second, true},
		{29 * time.Second, false},
		{61 * time.Second, false},
		{91 * time.Second, true},
		{40 * time.Second, true},
		{0, false},
		{-61 * time.Second, true},
		{-59 * time.Second, true},
		{-29 * time.Second, false},
	} {
		in := plan.Input{Desired: c, Memory: memory, Now: time.Now()}
		in.Observed.Workload = fleet.Workload{Reachable: true, Ahead: step.ahead}
		p := plan.Compute(in)
		i := slices.IndexFunc(p.Conditions, func(c fleet.Condition) bool { return c.Type == "ClocksAgree" })
		if told := i >= 0; told != step.told {
			t.Errorf("%s ahead: told %t, want %t; remembered %s", step.ahead, told, step.told, p.Clock.Ahead)
		}
		memory = p.Memory
	}
}
