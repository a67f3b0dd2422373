package plan_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

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

// failStart has a machine that is being made never start.
func (c *chaos) failStart() {
	for _, m := range c.machines {
		if m.State == fleet.MachinePending && !m.dead && m.goneAt.IsZero() {
			m.State, m.Message, m.dead = fleet.MachineFailed, "no valid host was found", true
			c.logf("%s does not start", m.Name)
			return
		}
	}
}

// pause has people pause the cluster or a pool, or end that.
func (c *chaos) pause() {
	c.desired = change(c.desired, func(d *fleet.Cluster) {
		switch i := rapid.IntRange(-2, len(d.Workers)-1).Draw(c.t, "paused"); i {
		case -2:
			d.Paused = !d.Paused
		case -1:
			d.ControlPlane.Paused = !d.ControlPlane.Paused
		default:
			d.Workers[i].Paused = !d.Workers[i].Paused
		}
	})
	c.logf("paused, or not")
}

// jamAny has the drain of a machine never end, of those that are ending or go next.
func (c *chaos) jamAny() {
	if len(c.machines) > 0 && c.stuck == "" {
		c.stuck = c.machines[rapid.IntRange(0, len(c.machines)-1).Draw(c.t, "stuck")].Name
		c.logf("the drain of %s never ends", c.stuck)
	}
}

func (c *chaos) drawFault() {
	switch rapid.IntRange(0, 34).Draw(c.t, "fault") {
	case 0:
		c.crash()
	case 1:
		c.outage = !c.outage
	case 4, 5, 6, 7:
		c.dieJoining()
	case 3:
		if !c.changing(nil) { // what is on its way joins with what was there
			c.kubeadm = nil
			c.logf("kubeadm-config is gone")
		}
	case 2:
		if len(c.machines) > 0 {
			m := c.machines[rapid.IntRange(0, len(c.machines)-1).Draw(c.t, "victim")]
			if m.Role == fleet.RoleWorker || c.sparesVoter(m) {
				c.kill(m)
				m.Silent = m.Silent || m.goneAt.IsZero() && rapid.Bool().Draw(c.t, "silent")
			}
		}
	case 8:
		c.returnSilent()
	case 9, 10:
		c.mark()
	case 11:
		c.tamper()
	case 12:
		c.mend()
	case 13, 14:
		c.failStart()
	case 15:
		c.pause()
	case 16:
		c.jamAny()
	case 17:
		site := rapid.SampledFrom([]string{yard, yard, ""}).Draw(c.t, "site away")
		c.away[site] = !c.away[site]
		c.logf("site %q away: %t", site, c.away[site])
	}
}

// tamper damages the tags of a machine.
func (c *chaos) tamper() {
	if len(c.machines) == 0 {
		return
	}
	m := c.machines[rapid.IntRange(0, len(c.machines)-1).Draw(c.t, "tampered")]
	what := rapid.SampledFrom([]string{"role", "role", "pool", "machine", "template", "version", "swap"}).Draw(c.t, "tag")
	if m.tampered() || what == "machine" && c.naming == byName && c.twins[m.Name] {
		return // of the latter nothing at all would be left that tells whose the Node is
	}
	switch {
	case what != "swap":
		m.lost = "fairlead.dev/" + what
	case m.Role == fleet.RoleControlPlane:
		m.changed = "worker"
	default:
		return
	}
	c.logf("%s lost %s%s", m.Name, m.lost, m.changed)
}

// mend has people do what they are asked to: put tags back, and delete the twin that
// is not in use where nothing else tells which it is.
func (c *chaos) mend() {
	kept := map[fleet.MachineName]*simMachine{}
	for _, m := range c.machines {
		m.lost, m.changed = "", ""
		if o := kept[m.Name]; o == nil || !o.joined {
			kept[m.Name] = m
		}
	}
	for _, m := range c.machines {
		if c.naming == byName && kept[m.Name] != m && m.goneAt.IsZero() {
			m.State, m.goneAt = fleet.MachineDeleting, c.now
			c.logf("somebody deleted twin %s", m.ProviderID)
		}
	}
}

// mark has people ask for machines to be remediated, one or all of a pool, though
// they work.
func (c *chaos) mark() {
	pools := c.desired.Pools()
	pool := pools[rapid.IntRange(0, len(pools)-1).Draw(c.t, "marked pool")]
	all := rapid.Bool().Draw(c.t, "mark all")
	for _, m := range c.machines {
		if n := c.nodes[c.nodeName(m)]; n != nil && m.Pool == pool.Name {
			n.Annotations[clusterv1.RemediateMachineAnnotation] = ""
			c.logf("marked %s", m.Name)
			if !all {
				return
			}
		}
	}
}

func (c *chaos) marked(m *simMachine) bool {
	n := c.nodes[c.nodeName(m)]
	if n == nil {
		return false
	}
	_, ok := n.Annotations[clusterv1.RemediateMachineAnnotation]
	return ok
}

// returnSilent has what was asked of silent machines happen.
func (c *chaos) returnSilent() {
	for _, m := range c.machines {
		if m.Silent && m.State == fleet.MachineDeleting {
			m.goneAt = c.now.Add(c.leave)
		}
		m.Silent = false
	}
}

// dieJoining breaks a control-plane machine between two steps of kubeadm join:
// etcd knows of a member that never starts.
func (c *chaos) dieJoining() {
	learner := slices.ContainsFunc(c.members, func(m fleet.Member) bool { return m.Learner })
	for _, m := range c.machines {
		if m.join != fleet.JoinControlPlane || m.joined || m.dead || !m.goneAt.IsZero() || c.now.Sub(m.born) < c.boot/2 || learner || !c.reachable() {
			continue
		}
		c.kill(m)
		c.nextMember++
		c.members = append(c.members, fleet.Member{ID: c.nextMember, Learner: true})
		return
	}
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
