package plan_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan"
)

// drawCluster draws a cluster with health checks for all of its machines.
func drawCluster(t *rapid.T) *fleet.Cluster {
	c := cluster(rapid.SampledFrom([]int{1, 3, 5}).Draw(t, "control planes"))
	c.ControlPlane.MaxSurge = rapid.IntRange(0, 1).Draw(t, "control plane surge")
	for i := range rapid.IntRange(0, 2).Draw(t, "pools") {
		c.Workers = append(c.Workers, drawPool(t, i))
	}
	timeout := int32(120)
	c.HealthChecks = []clusterv1.MachineHealthCheck{{
		ObjectMeta: metav1.ObjectMeta{Name: "all"},
		Spec: clusterv1.MachineHealthCheckSpec{Checks: clusterv1.MachineHealthCheckChecks{
			UnhealthyNodeConditions: []clusterv1.UnhealthyNodeCondition{{Type: "Ready", Status: "False", TimeoutSeconds: &timeout}},
		}},
	}}
	return c
}

func drawPool(t *rapid.T, i int) fleet.Pool {
	p := cluster(1, 1).Workers[0]
	p.Name = fleet.PoolName(fmt.Sprintf("eu-1-md-%d", i))
	p.Replicas = rapid.IntRange(0, 5).Draw(t, "replicas")
	p.MaxSurge = rapid.IntRange(0, 3).Draw(t, "surge")
	p.MaxUnavailable = rapid.IntRange(0, 2).Draw(t, "unavailable")
	if p.MaxSurge == 0 {
		p.MaxUnavailable = max(p.MaxUnavailable, 1)
	}
	p.MaxRemediations = rapid.SampledFrom([]int{-1, 1, 2}).Draw(t, "remediations")
	p.MinReadySeconds = rapid.SampledFrom([]int{0, 30}).Draw(t, "minReadySeconds")
	p.DeletionOrder = rapid.SampledFrom([]fleet.DeletionOrder{fleet.DeleteRandom, fleet.DeleteNewest, fleet.DeleteOldest}).Draw(t, "order")
	return p
}

// mutate draws a change of what Git asks for.
func mutate(t *rapid.T, c *fleet.Cluster) *fleet.Cluster {
	return change(c, func(c *fleet.Cluster) {
		switch rapid.SampledFrom([]string{"scale", "template", "upgrade", "control plane", "vanish", "appear", "surge"}).Draw(t, "change") {
		case "scale":
			if n := len(c.Workers); n > 0 {
				c.Workers[rapid.IntRange(0, n-1).Draw(t, "pool")].Replicas = rapid.IntRange(0, 6).Draw(t, "replicas")
			}
		case "template":
			variant := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "variant")
			if n := len(c.Workers); n > 0 && rapid.Bool().Draw(t, "worker") {
				p := &c.Workers[rapid.IntRange(0, n-1).Draw(t, "pool")]
				p.Template = template(p.Version, variant)
				return
			}
			c.ControlPlane.Template = template(c.ControlPlane.Version, variant)
		case "upgrade":
			upgrade(rapid.SampledFrom([]string{"v1.34.2", "v1.35.0", "v1.36.1"}).Draw(t, "version"))(c)
		case "control plane":
			c.ControlPlane.Replicas = rapid.SampledFrom([]int{1, 3, 5}).Draw(t, "control planes")
		case "vanish":
			if len(c.Workers) > 0 {
				c.Workers = c.Workers[:len(c.Workers)-1]
			}
		case "appear":
			p := drawPool(t, len(c.Workers))
			p.Version, p.Template = c.ControlPlane.Version, template(c.ControlPlane.Version, "")
			c.Workers = append(c.Workers, p)
		case "surge":
			c.ControlPlane.MaxSurge = 1 - c.ControlPlane.MaxSurge
		}
	})
}

// A chaos drives a world with faults, and judges every plan.
type chaos struct {
	*world
	t     *rapid.T
	twins map[fleet.MachineName]bool // names that the provider gave twice
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
			c.queue = append(c.queue, queued{c.now.Add(c.settle / 2), a})
		default:
			c.carryOut(a)
		}
	}
}

// crash loses the agent's memory.
func (c *chaos) crash() {
	c.attempts, c.since, c.answered = nil, c.now, false
	c.logf("crash")
}

func (c *chaos) drawFault() {
	switch rapid.IntRange(0, 30).Draw(c.t, "fault") {
	case 0:
		c.crash()
	case 1:
		c.outage = !c.outage
	case 2:
		if len(c.machines) > 0 {
			m := c.machines[rapid.IntRange(0, len(c.machines)-1).Draw(c.t, "victim")]
			if m.Role == fleet.RoleWorker || c.sparesVoter(m) {
				c.kill(m)
			}
		}
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
		if o.Name != string(m.Name) {
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
	n := c.nodes[string(m.Name)]
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

// judge checks a plan against the true state of the world.
func (c *chaos) judge(in plan.Input, p plan.Plan) {
	if c.desired.Delete {
		return
	}
	for _, pool := range c.desired.Workers {
		c.judgePool(pool, p)
	}
	c.judgeControlPlane(p)
	for _, a := range p.Actions {
		if n := c.nodes[a.Node]; n != nil && c.find(a.Machine) == nil && a.Kind != fleet.DeleteNode && a.Kind != fleet.RemoveMember {
			c.fail("NothingForeignTouched: %s", a)
		}
		if strings.TrimSpace(a.Reason) == "" {
			c.fail("an action without a reason: %s", a)
		}
	}
}

// judgePool checks AvailableNeverBelowMinimum and TotalNeverAboveMaximum.
func (c *chaos) judgePool(pool fleet.Pool, p plan.Plan) {
	available, removed, total, created := 0, 0, 0, 0
	for _, m := range c.machines {
		if m.Pool == pool.Name {
			total++
			if c.available(m, pool) {
				available++
			}
		}
	}
	for _, q := range c.queue {
		if q.action.Kind == fleet.CreateMachine && q.action.Pool == pool.Name && c.find(q.action.Machine) == nil {
			total++
		}
	}
	for _, a := range p.Actions {
		if a.Pool != pool.Name {
			continue
		}
		switch a.Kind {
		case fleet.CreateMachine:
			created++
		case fleet.DrainNode, fleet.DeleteMachine:
			if m := c.subject(a); m != nil && c.available(m, pool) {
				removed++
			}
		}
	}
	if removed > 0 && available-removed < pool.Replicas-pool.MaxUnavailable {
		c.fail("AvailableNeverBelowMinimum: pool %s has %d available, the plan takes %d, %d must stay: %v",
			pool.Name, available, removed, pool.Replicas-pool.MaxUnavailable, p.Actions)
	}
	if created > 0 && total+created > pool.Replicas+pool.MaxSurge {
		c.fail("TotalNeverAboveMaximum: pool %s has %d, the plan adds %d, %d may be: %v",
			pool.Name, total, created, pool.Replicas+pool.MaxSurge, p.Actions)
	}
}

func (c *chaos) available(m *simMachine, pool fleet.Pool) bool {
	n := c.nodes[string(m.Name)]
	if n == nil || !m.joined || !n.Ready || n.Draining || !m.goneAt.IsZero() {
		return false
	}
	return c.now.Sub(n.Conditions[0].LastTransitionTime.Time) >= time.Duration(pool.MinReadySeconds)*time.Second
}

// judgeControlPlane checks EtcdQuorumKept, OneControlPlaneChangeAtATime and
// NoAddWhileLearner.
func (c *chaos) judgeControlPlane(p plan.Plan) {
	changes := 0
	for _, a := range p.Actions {
		m := c.subject(a)
		switch {
		case a.Kind == fleet.CreateMachine && a.Join != fleet.JoinWorker:
			changes++
			c.judgeJoin(a)
		case a.Kind == fleet.RemoveMember:
			changes++
			c.judgeMember(a)
		case m != nil && m.Role == fleet.RoleControlPlane && (a.Kind == fleet.DrainNode || a.Kind == fleet.DeleteMachine):
			changes++
			if !c.draining(m) && c.changing(m) && !m.dead {
				c.fail("OneControlPlaneChangeAtATime: %s while another is coming or going", a)
			}
			if a.Kind == fleet.DeleteMachine && m.joined && slices.ContainsFunc(c.members, func(e fleet.Member) bool { return e.Name == string(m.Name) }) {
				c.fail("EtcdQuorumKept: %s while it is a member of etcd", a)
			}
		}
	}
	if changes > 1 {
		c.fail("OneControlPlaneChangeAtATime: %v", p.Actions)
	}
}

func (c *chaos) judgeJoin(a fleet.Action) {
	if slices.ContainsFunc(c.members, func(m fleet.Member) bool { return m.Learner }) {
		c.fail("NoAddWhileLearner: %s", a)
	}
	if c.changing(nil) {
		c.fail("OneControlPlaneChangeAtATime: %s while another is coming or going", a)
	}
	if a.Join == fleet.JoinInit && len(c.members) > 0 {
		c.fail("a second cluster: %s while etcd has members", a)
	}
}

func (c *chaos) judgeMember(a fleet.Action) {
	voting, healthy := 0, 0
	for _, m := range c.members {
		if m.ID == a.Member {
			continue
		}
		if m.Learner {
			c.fail("EtcdQuorumKept: %s while a learner is joining", a)
		}
		voting++
		if m.Healthy {
			healthy++
		}
	}
	if healthy < voting/2+1 {
		c.fail("EtcdQuorumKept: %s leaves %d healthy of %d", a, healthy, voting)
	}
}

// TestNothingBreaksAndEverythingConverges runs a cluster under faults, pushes
// and restarts; every plan on the way is safe, and in the end Git has its way.
func TestNothingBreaksAndEverythingConverges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &chaos{world: newWorld(drawCluster(t)), t: t, twins: map[fleet.MachineName]bool{}}
		c.pods = rapid.IntRange(0, 2).Draw(t, "pods")
		if rapid.Bool().Draw(t, "provisioned") {
			if err := c.rest(1000); err != nil {
				t.Fatal(err)
			}
		}
		c.foreign()
		for range rapid.IntRange(20, 150).Draw(t, "steps") {
			c.step()
		}
		c.calm()
		if err := c.rest(3000); err != nil {
			t.Fatalf("ConvergesToDesired: %v", err)
		}
		c.check()
		c.inspect()
		c.desired = change(c.desired, func(d *fleet.Cluster) { d.Delete = true })
		for range rapid.IntRange(0, 20).Draw(t, "steps of deletion") {
			c.step()
		}
		c.calm()
		c.desired = change(c.desired, func(d *fleet.Cluster) { d.Delete = true })
		if err := c.rest(1000); err != nil {
			t.Fatalf("ConvergesToDesired: %v", err)
		}
		c.check()
		if len(c.machines) > 0 || c.infra.Exists || len(c.secrets.Missing) != 4 || c.secrets.Kubeconfig.Exists {
			c.fail("a deletion left something over: %v %v %v", c.machines, c.infra, c.secrets)
		}
	})
}

// foreign adds a Node that is not ours.
func (c *chaos) foreign() {
	c.nodes["somebody-elses"] = &fleet.Node{Name: "somebody-elses", ProviderID: "other://1"}
}

// calm ends all faults.
func (c *chaos) calm() {
	c.outage = false
	c.logf("calm")
}

// inspect checks ConvergesToDesired: exactly the machines that are asked for,
// no Node or etcd member too many, and nothing more to do afterwards.
func (c *chaos) inspect() {
	want := map[string]int{}
	for _, p := range c.desired.Pools() {
		want[string(p.Name)+" "+string(p.Template)] = p.Replicas
	}
	for _, m := range c.machines {
		want[string(m.Pool)+" "+string(m.Template)]--
		if c.nodes[string(m.Name)] == nil {
			c.fail("machine %s has no node", m.Name)
		}
	}
	for k, n := range want {
		if n != 0 {
			c.fail("ConvergesToDesired: %s lacks %d machines", k, n)
		}
	}
	if len(c.nodes) != len(c.machines)+1 || len(c.members) != c.desired.ControlPlane.Replicas {
		c.fail("ConvergesToDesired: %d nodes for %d machines, %d members", len(c.nodes), len(c.machines), len(c.members))
	}
	for range 20 {
		if p := c.pass(); len(p.Actions) > 0 {
			c.fail("NothingToDoAtRest: %v", p.Actions)
		}
		c.advance(time.Minute)
	}
}

// TestPreviewIsWhatHappens pushes a change to a cluster at rest and lets a
// faultless world go on: what is created and deleted is what Preview told.
func TestPreviewIsWhatHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, err := rested(drawCluster(t))
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			w.desired = mutate(t, w.desired)
		}
		if rapid.Bool().Draw(t, "delete") {
			w.desired = change(w.desired, func(c *fleet.Cluster) { c.Delete = true })
		}
		for _, m := range w.machines {
			if rapid.IntRange(0, 4).Draw(t, "mark") == 0 {
				w.nodes[string(m.Name)].Annotations[clusterv1.DeleteMachineAnnotation] = ""
			}
		}
		var told []string
		for _, ch := range plan.Preview(w.input(false)) {
			switch ch.Kind {
			case plan.CreateMachine:
				told = append(told, "create "+string(ch.Machine))
			case plan.DeleteMachine:
				told = append(told, "delete "+string(ch.Machine))
			case plan.ReplaceMachine:
				told = append(told, "delete "+string(ch.Machine), "create "+string(ch.By))
			}
		}
		var done []string
		for range 3000 {
			_, p := w.plan()
			for _, a := range p.Actions {
				switch a.Kind {
				case fleet.CreateMachine:
					done = append(done, "create "+string(a.Machine))
				case fleet.DeleteMachine:
					done = append(done, "delete "+string(a.Machine))
				}
			}
			if p = w.pass(); w.done(p) {
				break
			}
			w.advance(10 * time.Second)
		}
		slices.Sort(told)
		slices.Sort(done)
		if !slices.Equal(told, slices.Compact(done)) {
			t.Fatalf("PreviewIsWhatHappens: told\n%s\ndone\n%s\n%s", strings.Join(told, "\n"), strings.Join(done, "\n"), strings.Join(tail(w.log, 60), "\n"))
		}
		if rest := plan.Preview(w.input(false)); !w.desired.Delete && len(rest) > 0 {
			t.Fatalf("PreviewIsWhatHappens: at rest it tells %v", rest)
		}
	})
}
