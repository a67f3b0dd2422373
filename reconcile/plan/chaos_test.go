package plan_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan"
)

// A chaos drives a world with faults, and judges every plan.
type chaos struct {
	*world
	t     *rapid.T
	twins map[fleet.MachineName]bool // names that the provider gave twice

	crashed bool
}

// step is one look, and what comes of it under drawn faults.
func (c *chaos) step() {
	t := c.t
	c.world.desired = c.drawDesired()
	c.drawFault()
	in, p := c.plan()
	if again := plan.Compute(in); !reflect.DeepEqual(p, again) {
		t.Fatalf("SameInputSamePlan: %+v\nthen %+v", p, again)
	}
	in.Unreported = true
	brief, unreported := plan.Compute(in), p
	unreported.Conditions, unreported.Pools, unreported.Machines, unreported.Addons = nil, nil, nil, nil
	if !reflect.DeepEqual(unreported, brief) {
		t.Fatalf("UnreportedIsTheSame: %+v\nthen %+v", unreported, brief)
	}
	in.Unreported = false
	c.judge(in, p)
	actions := rapid.Permutation(p.Actions).Draw(t, "order")
	for _, a := range actions {
		if rapid.IntRange(0, 30).Draw(t, "crash") == 0 {
			c.crash()
			break
		}
		c.attempt(a)
	}
	c.check()
	c.advance(time.Duration(rapid.SampledFrom([]int{1, 5, 20, 60}).Draw(t, "seconds")) * time.Second)
	c.check()
}

func (c *chaos) drawDesired() *fleet.Cluster {
	if rapid.IntRange(0, 25).Draw(c.t, "push") == 0 {
		return mutate(c.t, c.desired)
	}
	return c.desired
}

// attempt carries an action out, or loses the answer to it, or the call, or
// both; a call to the provider may happen later than it is given up.
func (c *chaos) attempt(a fleet.Action) {
	switch rapid.SampledFrom([]string{"yes", "yes", "yes", "yes", "refused", "lost", "unanswered", "late", "twice"}).Draw(c.t, "fate") {
	case "yes":
		c.remember(a, true)
		c.carryOut(a)
	case "twice":
		c.remember(a, true)
		c.carryOut(a)
		if a.Kind == fleet.CreateMachine && !c.twins[a.Machine] {
			c.logf("and once more")
			c.twins[a.Machine] = true
			c.addMachine(a)
		}
	case "lost":
		c.remember(a, false)
	case "unanswered":
		c.remember(a, false)
		c.carryOut(a)
	case "late":
		c.remember(a, false)
		switch a.Kind {
		case fleet.CreateMachine, fleet.DeleteMachine, fleet.EnsureInfrastructure:
			c.queue = append(c.queue, queued{c.now.Add(c.settle / 2), a, c.desired})
		default:
			c.carryOut(a)
		}
	}
}

// crash loses the agent's memory.
func (c *chaos) crash() {
	c.attempts, c.since, c.answered, c.crashed = nil, c.clock(), false, true
	c.logf("crash")
}

// drawClocks has clocks be wrong, by more than any timeout.
func (c *chaos) drawClocks() {
	draw := func(whose string) time.Duration {
		return time.Duration(rapid.SampledFrom([]int{0, 0, 0, -20, 20, -1500}).Draw(c.t, whose+" clock")) * time.Minute
	}
	c.ahead, c.infraAhead, c.nodesAhead = draw("agent's"), draw("infrastructure's"), draw("nodes'")
	c.since = c.clock()
}

// sparesVoter reports whether etcd keeps its quorum when m breaks: the loss of a
// quorum is beyond what a plan can heal.
func (c *chaos) sparesVoter(m *simMachine) bool {
	voting, healthy := 0, 0
	for _, o := range c.members {
		if o.Learner || !o.Healthy {
			return false
		}
		voting++
		if o.Name != c.nodeName(m) {
			healthy++
		}
	}
	return m.joined && voting >= 3 && healthy >= voting/2+1 && !c.changing(m)
}

// changing reports whether a control-plane machine other than m is coming or going.
func (c *chaos) changing(m *simMachine) bool {
	for _, o := range c.machines {
		if o.Role == fleet.RoleControlPlane && (m == nil || o.Name != m.Name) && !o.dead && (!o.joined || !o.goneAt.IsZero() || c.draining(o)) {
			return true
		}
	}
	return slices.ContainsFunc(c.queue, func(q queued) bool {
		return q.action.Kind == fleet.CreateMachine && q.action.Join != fleet.JoinWorker && c.find(q.action.Machine) == nil
	})
}

func (c *chaos) draining(m *simMachine) bool {
	n := c.nodes[c.nodeName(m)]
	return n != nil && n.Draining
}

func (c *chaos) check() {
	if len(c.violations) > 0 {
		c.t.Fatal(c.violations[0])
	}
	seen := map[fleet.MachineName]bool{}
	for _, m := range c.machines {
		if seen[m.Name] && !c.twins[m.Name] {
			c.t.Fatalf("OneMachinePerName: two are called %s\n%s", m.Name, strings.Join(c.log, "\n"))
		}
		seen[m.Name] = true
	}
}

func (c *chaos) fail(format string, args ...any) {
	c.t.Helper()
	c.t.Fatalf("%s\n%s", fmt.Sprintf(format, args...), strings.Join(tail(c.log, 60), "\n"))
}
