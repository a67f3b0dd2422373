package plan_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan"
)

// A world is a model of a provider, a workload cluster and its etcd, as slow and
// forgetful as it is told to be. It carries out actions as the contracts of the
// providers say, and says what it thinks of them in violations.
type world struct {
	now     time.Time
	desired *fleet.Cluster
	settle  time.Duration
	lag     time.Duration // until a machine shows
	boot    time.Duration // until a machine joins
	leave   time.Duration // until a deleted machine is gone
	pods    int           // drain steps that a node needs

	infra      fleet.Infrastructure
	secrets    fleet.SecretState
	machines   []*simMachine
	nodes      map[string]*fleet.Node
	members    []fleet.Member
	learnUntil map[string]time.Time
	nextMember uint64
	ids        int
	queue      []queued      // calls without an answer that will still happen
	outage     bool          // the API server is out of reach
	ahead      time.Duration // of the agent's clock
	infraAhead time.Duration // of the infrastructure's clock
	nodesAhead time.Duration // of the clocks of the workload cluster
	kubeadm    *fleet.Applied
	serving    map[string]bool      // Nodes whose part of the control plane works
	broken     fleet.TemplateHash   // machines made of it never join
	full       bool                 // no machine that is asked for can start
	naming     naming               // of Nodes
	stuck      fleet.MachineName    // its drain never ends
	yard       fleet.Infrastructure // what is shared on the other site
	away       map[string]bool      // sites that nobody can look at
	overtaken  bool                 // a late call deleted the only control-plane machine after it had answered

	attempts []fleet.Attempt
	since    time.Time
	answered bool // the API server answered since since

	memory fleet.Memory // of the last plan, but for the fingerprint

	log        []string
	violations []string
}

type queued struct {
	at      time.Time
	action  fleet.Action
	desired *fleet.Cluster // that it was asked for by
}

func newWorld(d *fleet.Cluster) *world {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return &world{
		now: start, since: start, desired: d, settle: 5 * time.Minute,
		lag: 30 * time.Second, boot: time.Minute, leave: 30 * time.Second, pods: 1,
		nodes:      map[string]*fleet.Node{},
		serving:    map[string]bool{},
		secrets:    fleet.SecretState{Missing: fleet.Authorities()},
		learnUntil: map[string]time.Time{}, away: map[string]bool{},
	}
}

// withGuests returns d with the site that its pools are on beside the first.
func withGuests(d *fleet.Cluster) *fleet.Cluster {
	if !d.InUse(yard) {
		return d
	}
	return change(d, func(c *fleet.Cluster) { c.Guests = []fleet.Site{{Provider: yard}} })
}

// yard is the other site.
const yard = "yard"

// seeSites adds to o what is shared on the sites of d, but for those that are away.
func (w *world) seeSites(d *fleet.Cluster, o *fleet.Observed) {
	guests := d.GuestProviders()
	if o.Infrastructure = w.infra; w.away[""] && len(guests) > 0 {
		o.Infrastructure, o.Silence = fleet.Infrastructure{}, "no route to host"
	}
	for _, provider := range guests {
		g := fleet.GuestSeen{Provider: provider, Infrastructure: w.yard}
		if w.away[provider] {
			g.Infrastructure, g.Silence = fleet.Infrastructure{}, "no route to host"
		}
		o.Guests = append(o.Guests, g)
	}
}

// rested returns a world in which d has been provisioned.
func rested(d *fleet.Cluster) (*world, error) {
	w := newWorld(d)
	return w, w.rest(2000)
}

func (w *world) reachable() bool {
	if w.outage {
		return false
	}
	voting, healthy := 0, 0
	for _, m := range w.members {
		if !m.Learner {
			voting++
			if m.Healthy {
				healthy++
			}
		}
	}
	if voting == 0 || healthy < voting/2+1 {
		return false
	}
	for _, m := range w.machines {
		if m.Role == fleet.RoleControlPlane && m.joined && !m.dead && m.goneAt.IsZero() {
			return true
		}
	}
	return false
}

// input is what an agent sees now.
func (w *world) input(etcd bool) plan.Input {
	in := plan.Input{Desired: w.desired, Memory: w.memory, Attempts: slices.Clone(w.attempts), Since: w.since, Settle: w.settle, Now: w.clock(), NeverAnswered: !w.answered}
	o := &in.Observed
	o.At = w.clock()
	in.Desired = withGuests(w.desired).WithResidence(w.memory.Residence)
	w.seeSites(in.Desired, o)
	o.Secrets = w.secrets
	for _, m := range w.machines {
		if w.now.Before(m.visibleAt) || len(o.Guests) > 0 && w.away[m.Provider] {
			continue
		}
		o.Infrastructure.Machines = append(o.Infrastructure.Machines, w.shown(m))
	}
	slices.SortFunc(o.Infrastructure.Machines, func(a, b fleet.Machine) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ProviderID, b.ProviderID))
	})
	o.Workload.Reachable = w.reachable()
	if !o.Workload.Reachable {
		o.Workload.Message = "connection refused"
		o.Distribution = facts(w.desired, o)
		return in
	}
	w.answered = true
	o.Workload.Ahead = w.nodesAhead - w.ahead
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		n := *w.nodes[name]
		n.Annotations, n.Labels = maps.Clone(n.Annotations), maps.Clone(n.Labels)
		o.Workload.Nodes = append(o.Workload.Nodes, n)
		if n.ControlPlane {
			o.Workload.Servers = append(o.Workload.Servers, fleet.Server{Node: name, Ready: w.serving[name]})
		}
	}
	if w.kubeadm != nil {
		o.Workload.Applied = &fleet.Applied{Version: w.kubeadm.Version, Marks: maps.Clone(w.kubeadm.Marks)}
		o.Workload.Made = &fleet.Made{Membership: fleet.MembershipPerMachine}
	}
	o.Distribution = facts(w.desired, o)
	if etcd {
		members := slices.Clone(w.members)
		slices.SortFunc(members, func(a, b fleet.Member) int { return cmp.Compare(a.Name, b.Name) })
		o.Workload.Etcd = &fleet.Etcd{Members: members}
	}
	return in
}

// plan computes what to do, looking at etcd where that is needed.
func (w *world) plan() (plan.Input, plan.Plan) {
	in := w.input(false)
	p := plan.Compute(in)
	if p.NeedEtcd {
		in = w.input(true)
		p = plan.Compute(in)
	}
	w.memory = p.Memory
	w.memory.Fingerprint = ""
	return in, p
}

// pass is one look and all that it brings, in the order of the plan.
func (w *world) pass() plan.Plan {
	_, p := w.plan()
	for _, a := range p.Actions {
		w.remember(a, true)
		w.carryOut(a)
	}
	return p
}

func (w *world) remember(a fleet.Action, answered bool) {
	w.attempts = append(slices.DeleteFunc(w.attempts, func(o fleet.Attempt) bool {
		return o.Action.Operation == a.Operation || w.clock().Sub(o.At) > max(w.settle, plan.AttemptsLast)
	}), fleet.Attempt{Action: a, At: w.clock(), Answered: answered})
}

// clock is what the agent takes for the time.
func (w *world) clock() time.Time { return w.now.Add(w.ahead) }

// rest passes until nothing is left to do.
func (w *world) rest(most int) error {
	for range most {
		p := w.pass()
		if w.done(p) {
			return nil
		}
		w.advance(10 * time.Second)
	}
	_, p := w.plan()
	return fmt.Errorf("not at rest: phase %s, actions %v, waiting %q, notes %q\n%s", p.Phase, p.Actions, p.Waiting, p.Notes, strings.Join(tail(w.log, 40), "\n"))
}

func (w *world) done(p plan.Plan) bool {
	want := fleet.PhaseProvisioned
	if w.desired.Delete {
		want = fleet.PhaseDeleted
	}
	atRest := p.Phase == want && len(p.Notes) == 0 || heldBack(p)
	return atRest && len(p.Actions) == 0 && len(p.Waiting) == 0 && len(w.queue) == 0
}

// heldBack reports whether p has the control plane stay at a version that is not that of Git.
func heldBack(p plan.Plan) bool {
	return p.Phase == fleet.PhaseControlPlane && slices.ContainsFunc(p.Conditions, func(c fleet.Condition) bool {
		return c.Status == fleet.False && (c.Type == fleet.AcceptedCondition || c.Type == clusterv1.ClusterTopologyReconciledCondition)
	})
}

// advance lets time pass.
func (w *world) advance(d time.Duration) {
	w.now = w.now.Add(d)
	w.queue = slices.DeleteFunc(w.queue, func(q queued) bool {
		if w.now.Before(q.at) {
			return false
		}
		now := w.desired
		w.desired = q.desired // a late machine is what it was asked to be
		w.carryOut(q.action)
		if q.action.Kind == fleet.DeleteMachine && w.memory.Residence.ControlPlane == fleet.InitializedOnce && !w.hasControlPlane() {
			w.overtaken = true
		}
		w.desired = now
		return true
	})
	w.machines = slices.DeleteFunc(w.machines, func(m *simMachine) bool {
		gone := !m.goneAt.IsZero() && !w.now.Before(m.goneAt)
		if gone {
			w.logf("gone %s", m.Name)
		}
		return gone
	})
	if !slices.ContainsFunc(w.machines, func(m *simMachine) bool { return m.Role == fleet.RoleControlPlane }) {
		w.members, w.kubeadm = nil, nil // the data of etcd went with its machines
		maps.DeleteFunc(w.nodes, func(name string, _ *fleet.Node) bool { return name != "somebody-elses" })
	}
	w.yard.Ready = w.yard.Exists
	if w.infra.Exists && !w.infra.Ready {
		w.infra.Ready, w.infra.Endpoint = true, fleet.Endpoint{Host: "10.0.0.1", Port: 6443}
	}
	for _, m := range w.machines {
		w.live(m)
	}
	for i := range w.members {
		m := &w.members[i]
		if m.Learner && w.now.After(w.learnUntil[m.Name]) && m.Healthy {
			m.Learner = false
		}
	}
}

// hasControlPlane reports whether a control-plane machine is there and stays.
func (w *world) hasControlPlane() bool {
	return slices.ContainsFunc(w.machines, func(m *simMachine) bool {
		return m.Role == fleet.RoleControlPlane && m.goneAt.IsZero()
	})
}

func (w *world) logf(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%s ", w.now.Format("15:04:05"))+fmt.Sprintf(format, args...))
}

func (w *world) violate(format string, args ...any) {
	w.violations = append(w.violations, fmt.Sprintf(format, args...)+"\n"+strings.Join(tail(w.log, 60), "\n"))
}

func tail(lines []string, n int) []string { return lines[max(len(lines)-n, 0):] }
