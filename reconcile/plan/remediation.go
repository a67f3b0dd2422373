package plan

import (
	"fmt"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan/remediation"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// remediateFirst replaces the first control-plane machine where it is known to
// have failed before there was a control plane. Whatever people say of a machine
// while the API server does not answer, etcd may need it. Their word counts once
// this agent has called the API server for a settle window.
func (d *draft) remediateFirst(g *group) bool {
	m := g.all[0]
	if !d.unreachable || !m.condemned || !d.failedFirst(m) {
		return false
	}
	if left := d.longestSettle() - d.Now.Sub(d.silentSince(m)); left > 0 {
		d.wake(left)
		d.wait("machine %s stays until the API server has not answered for %s", m.Name, d.longestSettle())
		return true
	}
	if v := d.verdict(m); v.Limit != remediation.None {
		d.noteLimited(m, v)
		return true
	}
	if d.replaceable(g, m, fleet.JoinInit) {
		d.asAttempt(m, func() { d.deleteMachine(m, m.unhealthy.message) })
	}
	return true
}

// remediate makes the machine that the control plane lacks, or removes one that is
// unhealthy. It reports whether the control plane waits for that.
func (d *draft) remediate(g *group) bool {
	next := remediation.Next(d.remediationOf(g))
	var m *machine
	if next.Machine >= 0 {
		m = g.all[next.Machine]
	}
	switch next.Kind {
	case remediation.Refill:
		d.join(g, g.tooFew(len(g.all)))
		return true
	case remediation.Last:
		d.note("machine %s is unhealthy and stays, as the last of the control plane: %s", m.Name, m.unhealthy.message)
		return false
	case remediation.Nothing:
		return false
	case remediation.AwaitJoin:
		d.wait("machine %s is unhealthy and waits: machine %s is still joining", m.Name, g.all[next.Other].Name)
		return true
	case remediation.AwaitWell:
		d.wait("machine %s is unhealthy and stays: no other control-plane machine is well", m.Name)
		return true
	}
	if d.unsettled() {
		return true
	}
	for _, l := range next.Limited {
		d.noteLimited(g.all[l.Machine], l.Verdict)
	}
	switch next.Kind {
	case remediation.AwaitWhole:
		why := fmt.Sprintf("%s has %d of %s", g.name, len(g.all), machines(g.pool.Replicas))
		if next.Other >= 0 {
			why = d.ailing(g.all[next.Other])
		}
		d.wait("machine %s is unhealthy and waits: %s", m.Name, why)
	case remediation.Remove:
		if d.replaceable(g, m, fleet.JoinControlPlane) {
			d.asAttempt(m, func() { d.removeControlPlane(m, m.unhealthy.message) })
		}
	}
	return true
}

// remediationOf returns what of the control plane g counts in its remediation.
func (d *draft) remediationOf(g *group) remediation.ControlPlane {
	e := d.Observed.Workload.Etcd
	out := remediation.ControlPlane{
		Replicas: g.pool.Replicas, Limits: limitsOf(g.pool),
		UnderWay: !d.out.Remediation.IsZero(), Bears: e == nil || e.BearsAnother(),
		Machines: make([]remediation.Machine, 0, len(g.all)),
	}
	for _, m := range g.all {
		c := d.attemptOf(m)
		c.Name, c.Made, c.Leaving = m.Name, m.MadeAt(), m.leaving || m.duplicate
		c.Unhealthy, c.Condemned = m.unhealthy != nil, m.condemned
		c.Node, c.Votes, c.Serves = m.node != nil, m.member != nil && m.member.Healthy, m.serves()
		c.Well = d.ailing(m) == ""
		out.Machines = append(out.Machines, c)
	}
	return out
}

// attemptOf returns what of m counts in the number of attempts to replace it: how many went
// before stands on m itself.
func (f *facts) attemptOf(m *machine) remediation.Machine {
	last := m.Origin.Remediation
	return remediation.Machine{
		Current: m.current, Asked: m.asked(),
		Attempt: remediation.Attempt{Retry: last.Retry, Ago: f.Now.Sub(f.from(last.At))},
	}
}

// limitsOf returns what bounds the attempts to replace machines of p.
func limitsOf(p *fleet.Pool) remediation.Limits {
	out := remediation.Limits{
		RetryPeriod: seconds(p.Remediation.RetryPeriodSeconds),
		MinHealthy:  time.Duration(controlplanev1.DefaultMinHealthyPeriodSeconds) * time.Second,
	}
	if s := p.Remediation.MinHealthyPeriodSeconds; s != nil {
		out.MinHealthy = seconds(s)
	}
	if n := p.Remediation.MaxRetry; n != nil {
		most := int(*n)
		out.MaxRetry = &most
	}
	return out
}

// asked reports whether people want m replaced, which no limit holds back.
func (m *machine) asked() bool {
	return m.unhealthy != nil && m.unhealthy.reason == clusterv1.MachineHealthCheckHasRemediateAnnotationReason
}

// verdict says what limits make of an attempt to replace the unhealthy control-plane
// machine m.
func (f *facts) verdict(m *machine) remediation.Verdict {
	c := f.attemptOf(m)
	return c.After(limitsOf(m.pool))
}

// noteLimited says what holds the attempt to replace m.
func (d *draft) noteLimited(m *machine, v remediation.Verdict) {
	d.wake(v.Left)
	last, limits := m.Origin.Remediation, m.pool.Remediation
	why := &defect{
		controlplanev1.KubeadmControlPlaneMachineCannotBeRemediatedReason,
		fmt.Sprintf("machine %s is unhealthy and stays: remediation.maxRetry of %s is %d, and that many attempts failed one after the other; fix the cause in the template, or replace the machine by hand",
			m.Name, m.pool.Name, value(limits.MaxRetry)),
	}
	if v.Limit == remediation.Deferred {
		why = &defect{
			controlplanev1.KubeadmControlPlaneMachineRemediationDeferredReason,
			fmt.Sprintf("machine %s is unhealthy and waits: machine %s before it was replaced at %s, and remediation.retryPeriodSeconds of %s is %d",
				m.Name, last.Machine, last.At.UTC().Format(time.RFC3339), m.pool.Name, value(limits.RetryPeriodSeconds)),
		}
	}
	d.stays[m] = why
	d.note("%s", why.message)
}

func value(n *int32) int32 {
	if n == nil {
		return 0
	}
	return *n
}

// asAttempt remembers that remove, which plans the next step of replacing the
// unhealthy machine m, is an attempt, if it planned one.
func (d *draft) asAttempt(m *machine, remove func()) {
	planned := len(d.out.Actions)
	remove()
	if len(d.out.Actions) > planned && d.out.Remediation.Machine != m.Name {
		d.out.Remediation = fleet.Remediation{Machine: m.Name, At: d.Now.UTC().Truncate(time.Second), Retry: d.verdict(m).Retry}
	}
}

// followRemediation keeps the attempt that is under way in mind: until the
// machine that came of it shows, or none is to come.
func (d *draft) followRemediation() {
	g, r := d.controlPlane(), d.Memory.Remediation
	if g == nil {
		return
	}
	came := slices.ContainsFunc(g.all, func(m *machine) bool {
		asked := m.AskedAt()
		return m.Origin.Remediation == r || m.Name != r.Machine && asked.After(d.from(r.At)) && !asked.After(d.Now)
	})
	if r.IsZero() || came || d.controlPlaneDone() {
		return
	}
	d.out.Remediation = r
}
