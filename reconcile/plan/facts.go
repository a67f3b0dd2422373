package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan/health"
	"fairlead.dev/reconcile/plan/staging"
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// A machine is one observed machine, with all that else is known of it.
type machine struct {
	*fleet.Machine
	node   *fleet.Node // nil: it has none, or none can be seen
	member *fleet.Member
	server *fleet.Server // nil: it is none, or none can be seen
	pool   *fleet.Pool   // nil: its pool is not in Git any more

	current   bool           // made from the template that is asked for, and not overdue
	overdue   string         // why it is outdated though its template is not
	held      string         // why what it is, or which, is not certain; nothing is done to it
	proven    bool           // its Node was told by the provider id
	leaving   bool           // its removal has begun
	back      bool           // it had, and is taken back
	duplicate bool           // another machine of this name is the one to keep
	checked   bool           // a health check looks after it
	startup   health.Startup // how long it has had no Node, by a health check; zero: none counts
	unhealthy *defect        // what a health check found
	isTry     bool           // failed to start: its replacement is a try for its pool
	doubtful  bool           // a health check would, if that lasted
	condemned bool           // a health check may have it replaced
	stays     *defect        // why the pool's remediation does not replace it
	reboot    *rebooting
	ready     bool
	available bool
}

// Facts are an input with all that follows from it. They are built once, by look, and
// never changed after: what a plan makes of them is in a draft.
type facts struct {
	Input
	remarks // of what was found

	machines       []*machine                     // in the order of Observed
	sites          []*site                        // the first site, then guests by provider
	kept           []*keptPool                    // pools that the cloud keeps
	keptNodes      map[fleet.ProviderID]*keptPool // by machines of them
	groups         []*group                       // the control plane if machines are it, the workers as in Desired, vanished pools by name
	held           []*machine                     // which are in no group's all
	unlisted       []*machine                     // of held, those that their Nodes alone tell of
	orphanNodes    []*fleet.Node
	duplicateNodes []*fleet.Node // that say of themselves to be the Node of a machine that has another
	named          map[fleet.MachineName][]*machine
	claimed        map[fleet.MachineName]bool // names that a Node has which no provider id gives a machine
	attempts       map[fleet.OperationID]fleet.Attempt
	asked          map[fleet.MachineName]time.Time // when a machine of the name was asked for last
	final          map[removal]bool                // removals of this agent that cannot be taken back, or not now
	taken          map[fleet.MachineName]bool      // names that no new machine may have
	unreachable    bool                            // the API server does not answer: nothing is known of nodes
	overLimit      []string                        // health checks that found too many unhealthy machines to act
	staging        *staging.Stage                  // of a cluster that a class makes

	residence    fleet.Residence           // where the cluster lives: what was remembered, and what this look adds
	contradicted string                    // in what the look contradicts that; nothing is done then
	clock        fleet.Clock               // how the agents' clock compares with that of the API server
	conditions   []fleet.ObservedCondition // conditions that health checks wait out
	removals     []fleet.PoolRemoval       // how machines of worker pools are removed
}

// look derives the facts of in.
func look(in Input) *facts {
	f := &facts{Input: in, remarks: newRemarks(), claimed: make(map[fleet.MachineName]bool), unreachable: !in.Observed.Workload.Reachable}
	f.Desired = in.Desired.WithMade(in.Observed.Workload.Made)
	if in.Desired.Hosted != nil && in.Observed.ControlPlane == nil { // nothing is known of it
		f.Observed.ControlPlane = &fleet.HostedState{External: true}
	}
	f.findSites()
	f.dropReleased()
	f.dropFailed()
	machines, attempts := len(f.Observed.Infrastructure.Machines), len(f.Attempts)
	f.machines = make([]*machine, machines)
	f.attempts = make(map[fleet.OperationID]fleet.Attempt, attempts)
	f.taken = make(map[fleet.MachineName]bool, machines+attempts)
	f.compareClocks()
	leaving := f.indexAttempts()
	f.wrapMachines()
	f.index()
	f.identify()
	f.findKept()
	f.matchNodes()
	f.holdUnlisted()
	for _, m := range f.machines {
		m.leaving = m.State == fleet.MachineDeleting || leaving[removal{m.Name, ""}] ||
			leaving[removal{m.Name, m.ProviderID}]
		if m.node != nil && m.node.Draining && !m.leaving {
			m.back = f.ofBefore(m.node, m) // it registered as the Node of the machine before, whose removal is over
			m.leaving = !m.back
		}
	}
	f.matchMembers()
	f.matchServers()
	f.findMislabelled()
	f.findDuplicates()
	f.stage()
	f.group()
	f.locate()
	f.rememberRemovals()
	f.checkHealth()
	f.markRequested()
	f.followReboots()
	f.checkFailed()
	f.checkExpelled()
	f.takeBack()
	for _, m := range f.machines {
		f.assess(m)
	}
	return f
}

// A removal names the machine that is removed; without an id, all of that name.
type removal struct {
	name fleet.MachineName
	id   fleet.ProviderID
}

// indexAttempts indexes the attempts, and returns the removals that they began. Once an
// attempt may be repeated, what is observed tells whether it happened: what did
// not happen is no commitment. What was done to an earlier machine of a name is none
// for the one that has it now.
func (f *facts) indexAttempts() map[removal]bool {
	leaving := map[removal]bool{}
	f.final, f.asked = map[removal]bool{}, map[fleet.MachineName]time.Time{}
	back := map[removal]time.Time{} // when drains were taken back
	for _, a := range f.Attempts {
		switch a.Action.Kind {
		case fleet.UncordonNode:
			back[removal{a.Action.Machine, a.Action.ProviderID}] = a.At
		case fleet.CreateMachine:
			if a.At.After(f.asked[a.Action.Machine]) {
				f.asked[a.Action.Machine] = a.At
			}
		}
	}
	for _, a := range f.Attempts {
		f.attempts[a.Action.Operation] = a
		switch a.Action.Kind {
		case fleet.CreateMachine, fleet.DeleteMachine, fleet.DeleteNode:
			f.taken[a.Action.Machine] = f.taken[a.Action.Machine] || f.recent(a, f.settleOf(a.Action.Provider))
		}
		switch a.Action.Kind {
		case fleet.DeleteMachine, fleet.DrainNode, fleet.RemoveMember:
			of := removal{a.Action.Machine, a.Action.ProviderID}
			drain := a.Action.Kind == fleet.DrainNode
			if !f.recent(a, f.repeatAfter(a)) || f.madeSince(a) || drain && back[of].After(a.At) {
				continue
			}
			leaving[of] = true
			f.final[of] = f.final[of] || !drain || !a.Answered
		}
	}
	return leaving
}

// madeSince reports whether this agent asked for another machine of the name after a: a is
// about one that is gone. Names are given again, and so are provider ids where the host is
// the same.
func (f *facts) madeSince(a fleet.Attempt) bool {
	return f.asked[a.Action.Machine].After(a.At)
}

// wrapMachines wraps the observed machines.
func (f *facts) wrapMachines() {
	backing := make([]machine, len(f.machines))
	observed := f.Observed.Infrastructure.Machines
	for i := range observed {
		backing[i].Machine = &observed[i]
		f.machines[i] = &backing[i]
		f.taken[observed[i].Name] = true
	}
}

// assess says whether m is ready and available. What leaves, and what a health
// check finds unhealthy, is not available.
func (f *facts) assess(m *machine) {
	gate, since := m.gates()
	m.ready = m.node != nil && m.node.Ready && gate == "" && m.held == ""
	if !m.ready || m.leaving || m.back || m.duplicate || m.unhealthy != nil {
		return
	}
	m.available = true
	if m.pool == nil || m.pool.MinReadySeconds == 0 {
		return
	}
	if left := time.Duration(m.pool.MinReadySeconds)*time.Second - f.there().Sub(since); left > 0 {
		m.available = false
		f.wake(left)
	}
}

// gates says which readiness gate of its pool keeps m from being ready, if any,
// and since when: Ready or a gate changed last then.
func (m *machine) gates() (closed string, since time.Time) {
	if m.node == nil {
		return "", since
	}
	since = m.node.Created
	status := make(map[string]corev1.ConditionStatus, len(m.node.Conditions))
	for _, c := range m.node.Conditions {
		status[string(c.Type)] = c.Status
		if c.Type == corev1.NodeReady || m.pool != nil && gated(m.pool, string(c.Type)) {
			since = latest(since, c.LastTransitionTime.Time)
		}
	}
	if m.pool == nil {
		return "", since
	}
	for _, g := range m.pool.ReadinessGates {
		want := corev1.ConditionTrue
		if g.Polarity == clusterv1.NegativePolarityCondition {
			want = corev1.ConditionFalse
		}
		if have := cmp.Or(status[g.ConditionType], corev1.ConditionUnknown); have != want && !needed(g.ConditionType) {
			return fmt.Sprintf("readiness gate %s is %s", g.ConditionType, have), since
		}
	}
	return "", since
}

func gated(p *fleet.Pool, condition string) bool {
	return slices.ContainsFunc(p.ReadinessGates, func(g clusterv1.MachineReadinessGate) bool { return g.ConditionType == condition })
}

// needed reports whether a condition of machines is needed to be ready whatever
// the gates say.
func needed(condition string) bool {
	switch condition {
	case clusterv1.MachineInfrastructureReadyCondition, clusterv1.MachineBootstrapConfigReadyCondition,
		clusterv1.MachineNodeReadyCondition, clusterv1.MachineHealthCheckSucceededCondition:
		return true
	}
	return false
}

func latest(first time.Time, others ...time.Time) time.Time {
	for _, t := range others {
		if t.After(first) {
			first = t
		}
	}
	return first
}
