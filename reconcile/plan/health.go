package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan/health"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// defaultStartup is how long a machine may take to get its Node where a health
// check does not say.
const defaultStartup = 600 * time.Second

// A defect is what a health check found wrong with a machine.
type defect struct {
	reason  string // of the condition HealthCheckSucceeded
	message string
}

// checkHealth runs the health checks: it marks the machines that are unhealthy, and
// of these the ones that may be replaced.
func (f *facts) checkHealth() {
	for i := range f.Desired.HealthChecks {
		f.check(&f.Desired.HealthChecks[i])
	}
	f.keepObserved()
}

func (f *facts) check(h *clusterv1.MachineHealthCheck) {
	selector, err := metav1.LabelSelectorAsSelector(&h.Spec.Selector)
	if err != nil {
		return
	}
	if !f.Observed.Infrastructure.Ready && f.sites[0].away == "" {
		f.conditions = f.Memory.ObservedConditions // what was waited out is not over
		return
	}
	t := h.Spec.Remediation.TriggerIf
	var sick []*machine
	var unwell *site // which h looks after, and which is not in its desired state
	total := 0
	for _, g := range f.groups {
		if g.pool == nil || !selector.Matches(labels.Set(f.Desired.MachineLabels(g.pool))) {
			continue
		}
		if s := f.site(g.pool.Provider); s != nil && (s.away != "" || !s.seen.Ready) {
			unwell = s
		}
		for _, m := range g.all {
			if m.duplicate || skipsRemediation(m) {
				continue
			}
			total++
			m.checked = true
			if d := f.examine(h, m); d != nil {
				m.unhealthy = d
				sick = append(sick, m)
			}
		}
	}
	if len(sick) == 0 {
		return
	}
	if unwell != nil {
		text := fmt.Sprintf("health check %s replaces nothing as long as %s is not well: how many of its machines are, is not known: %s", h.Name, f.title(unwell),
			named(sick, func(*machine) bool { return true }))
		f.overLimit = append(f.overLimit, text)
		f.note("%s", text)
		return
	}
	if limit := (health.Limit{AtMost: t.UnhealthyLessThanOrEqualTo, Range: t.UnhealthyInRange}); !limit.Allows(len(sick), total) {
		text := fmt.Sprintf("health check %s replaces nothing: unhealthy are %d of %d, it acts on %s: %s", h.Name, len(sick), total, limit,
			named(sick, func(*machine) bool { return true }))
		f.overLimit = append(f.overLimit, text)
		f.note("%s", text)
		return
	}
	for _, m := range sick {
		switch {
		case m.leaving:
		case m.pool.Kind == fleet.LoneMachine:
			m.leave()
		default:
			m.condemned = f.unhealthyAfterReboots(h, m) || m.condemned
		}
	}
}

// leave notes that m, which is unhealthy, is not the planner's to replace.
// Source: Cluster API, where the owner of a machine remediates it.
func (m *machine) leave() {
	m.stays = &defect{
		clusterv1.MachineOwnerRemediatedWaitingForRemediationReason,
		fmt.Sprintf("machine %s is unhealthy and stays: it stands alone, and health checks replace machines of pools; have it replaced by hand", m.Name),
	}
}

// examine returns what h finds wrong with m, or nil. What cannot be seen is not
// wrong.
func (f *facts) examine(h *clusterv1.MachineHealthCheck, m *machine) *defect {
	if m.node != nil && has(m.node.Annotations, clusterv1.RemediateMachineAnnotation) {
		return &defect{clusterv1.MachineHealthCheckHasRemediateAnnotationReason, "marked for remediation"}
	}
	if m.Role == fleet.RoleWorker && !f.initialized() {
		return nil
	}
	if m.node == nil && !f.unreachable && f.rebootBegan(h, m) { // its Node went for that, however young it is
		return &defect{clusterv1.MachineHealthCheckNodeStartupTimeoutReason, fmt.Sprintf("health check %s: no node since its reboot", h.Name)}
	}
	seen := health.Machine{Joined: m.node != nil, Conditions: f.badConditions(h, m)}
	if m.node == nil {
		seen.Startup = f.startup(h, m)
		m.startup = cmp.Or(seen.Startup, m.startup)
	}
	v := health.Examine(h.Name, seen)
	if v.After > 0 {
		f.wake(v.After)
		m.doubtful = true
	}
	if v.Reason == "" {
		return nil
	}
	return &defect{v.Reason, v.Message}
}

// startup returns how long m has had no Node. It is not remembered whether it
// had one before, so one whose Node was deleted is found here too.
//
// While the API server does not answer, a Node is not known to be missing, and
// a control plane must never be replaced for being out of reach. Only a first
// machine that never became one is known to have failed.
func (f *facts) startup(h *clusterv1.MachineHealthCheck, m *machine) health.Startup {
	s := health.Startup{Timeout: defaultStartup}
	if bound := h.Spec.Checks.NodeStartupTimeoutSeconds; bound != nil {
		s.Timeout = seconds(bound)
	}
	if s.Timeout == 0 || f.unreachable && !f.failedFirst(m) {
		return health.Startup{}
	}
	since := f.startedAt(m)
	if f.unreachable {
		since = latest(since, f.silentSince(m))
	}
	s.For = f.Now.Sub(since)
	if m.State == fleet.MachineFailed {
		s.Failure = m.Message
	}
	return s
}

// knownSilent reports whether the API server has not answered once in the life
// of the machines that have m's name, all of which were made while this agent owned the
// cluster: by the clock of the agent that made them, since that of the infrastructure may be
// ahead. One that was made later than now was made by an agent with another clock.
func (f *facts) knownSilent(m *machine) bool {
	return f.NeverAnswered && !f.olderThan(m, f.Since)
}

// olderThan reports whether a machine that has m's name was made before then.
func (f *facts) olderThan(m *machine, then time.Time) bool {
	return slices.ContainsFunc(f.machines, func(o *machine) bool {
		return o.Name == m.Name && (o.madeBy().Before(then) || o.Origin.Made.After(f.Now))
	})
}

// madeBy is when m was asked for by the clock of the agent that did, or else by that
// of its infrastructure.
func (m *machine) madeBy() time.Time {
	if !m.Origin.Made.IsZero() {
		return m.Origin.Made
	}
	return m.Created
}

// failedFirst reports whether m is the only machine of the cluster, and is known
// never to have become a control plane: it is not remembered that it did, and it was
// made while this agent owned the cluster, or what is remembered says that none ever
// answered and this agent has received no answer yet.
func (f *facts) failedFirst(m *machine) bool {
	return f.Desired.Hosted == nil && len(f.machines) == 1 && f.residence.ControlPlane != fleet.InitializedOnce && (f.knownSilent(m) || f.NeverAnswered && f.residence.ControlPlane == fleet.NeverInitialized)
}

// firstTwice reports whether all machines of the cluster are its first one, which a
// lost answer made more than once, and that none is known to have become a control
// plane: what is remembered says so, and this agent has received no answer yet.
func (f *facts) firstTwice() bool {
	return f.Desired.Hosted == nil && f.oneName() && f.NeverAnswered && f.Memory.Residence.ControlPlane == fleet.NeverInitialized
}

// oneName reports whether all machines of the cluster have the same name. One that is listed twice
// is one machine, though its name may be damaged.
func (f *facts) oneName() bool {
	return !slices.ContainsFunc(f.machines, func(m *machine) bool {
		first := f.machines[0]
		sameName := m.Name != "" && m.Name == first.Name
		sameID := m.ProviderID != "" && m.ProviderID == first.ProviderID
		return m != first && !sameName && !sameID
	})
}

// silentSince is from when m is known to be silent; zero: in its whole life. The agent before
// this one may have ended before m became a control plane, and while looks fail m may become
// one: then all that counts is how long this agent has called since.
func (f *facts) silentSince(m *machine) time.Time {
	watched := latest(f.Watched, f.ClockSet) // the clock of a computer is set when it wakes up
	if f.knownSilent(m) && !f.olderThan(m, watched) {
		return time.Time{}
	}
	return latest(f.Since, watched)
}

// skipsRemediation reports whether people keep health checks away from m.
func skipsRemediation(m *machine) bool {
	return has(m.pool.Annotations, clusterv1.MachineSkipRemediationAnnotation) ||
		(m.node != nil && has(m.node.Annotations, clusterv1.MachineSkipRemediationAnnotation))
}

func seconds(s *int32) time.Duration {
	if s == nil {
		return 0
	}
	return time.Duration(*s) * time.Second
}
