package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"fairlead.dev/fleet"
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
	if !d.knownSilent(m) && d.unsettled() {
		return true
	}
	if d.mayAttempt(m) {
		d.asAttempt(m, func() { d.deleteMachine(m, m.unhealthy.message) })
	}
	return true
}

// refill makes the machine that the control plane lacks before another one is
// remediated: machines that are condemned one after the other would leave fewer
// and fewer. Unlike a rollout it does not wait until all are well, which may be
// what the remediation is for: it is enough that one is, that none is coming or
// going, and that etcd keeps its quorum even if the new member never starts. It
// reports whether the control plane waits for that machine.
// Source: Cluster API, KubeadmControlPlane, preflight checks while a remediation
// is in progress.
func (d *draft) refill(g *group) bool {
	condemned := slices.ContainsFunc(g.all, func(m *machine) bool { return m.condemned })
	if len(g.all) >= g.pool.Replicas || len(g.leaving) > 0 || !condemned && d.out.Remediation.IsZero() {
		return false
	}
	well := slices.ContainsFunc(g.all, func(m *machine) bool { return d.ailing(m) == "" })
	joining := slices.ContainsFunc(g.all, func(m *machine) bool { return m.node == nil })
	if e := d.Observed.Workload.Etcd; !well || joining || e != nil && !e.BearsAnother() {
		return false
	}
	if !d.stepBeforeJoin(g) {
		d.create(g, fleet.JoinControlPlane, d.nextDomain(g), g.tooFew(len(g.all)))
	}
	return true
}

// remediate removes the control-plane machine that is worst off, if health
// checks want that, the pool allows another attempt, and etcd can spare it.
// Others that are condemned as well do not stand in the way: they are next. One
// that is well, but that people want replaced, can be counted on until it is.
func (d *draft) remediate(g *group) bool {
	var sick []*machine
	for _, m := range g.all {
		if m.condemned {
			sick = append(sick, m)
		}
	}
	if len(sick) == 0 {
		return false
	}
	slices.SortFunc(sick, worst)
	m := sick[0]
	if len(g.all) == 1 {
		if m.current && g.pool.Replicas == 1 {
			why := ""
			if m.unhealthy != nil {
				why = ": " + m.unhealthy.message
			}
			d.note("machine %s is unhealthy and stays, as the last of the control plane%s", m.Name, why)
		}
		return false // a rollout makes another one first, and waits where none can join
	}
	for _, o := range g.all {
		if o.unhealthy == nil && o.node == nil {
			d.wait("machine %s is unhealthy and waits: machine %s is still joining", m.Name, o.Name)
			return true
		}
	}
	if !slices.ContainsFunc(g.all, func(o *machine) bool { return o != m && (o.unhealthy == nil || o.asked()) && d.ailing(o) == "" }) {
		d.wait("machine %s is unhealthy and stays: no other control-plane machine is well", m.Name)
		return true
	}
	if d.unsettled() {
		return true
	}
	for _, m := range sick {
		if !d.mayAttempt(m) {
			continue
		}
		if why := d.countedOn(g, m); why != "" {
			d.wait("machine %s is unhealthy and waits: %s", m.Name, why)
			return true
		}
		d.asAttempt(m, func() { d.removeControlPlane(m, m.unhealthy.message) })
		return true
	}
	return true
}

// countedOn says why the control plane counts on m, which is condemned and works all
// the same: it is not whole without it. Empty where m may go, or does not work.
func (f *facts) countedOn(g *group, m *machine) string {
	if f.ailing(m) != "" {
		return ""
	}
	if len(g.all) < g.pool.Replicas {
		return fmt.Sprintf("%s has %d of %s", g.name, len(g.all), machines(g.pool.Replicas))
	}
	for _, o := range g.all {
		if why := f.ailing(o); why != "" && !o.condemned {
			return why
		}
	}
	return ""
}

// worst orders unhealthy machines: first those whose removal costs etcd nothing, of
// these first those that people marked. Cluster API takes marked ones before all
// others, and waits where etcd cannot spare them.
func worst(a, b *machine) int {
	return cmp.Or(
		compareBool(a.node != nil, b.node != nil),
		compareBool(a.member != nil && a.member.Healthy, b.member != nil && b.member.Healthy),
		compareBool(b.asked(), a.asked()),
		compareBool(a.serves(), b.serves()),
		a.MadeAt().Compare(b.MadeAt()),
		cmp.Compare(a.Name, b.Name))
}

// asked reports whether people want m replaced, which no limit holds back.
func (m *machine) asked() bool {
	return m.unhealthy != nil && m.unhealthy.reason == clusterv1.MachineHealthCheckHasRemediateAnnotationReason
}

// attempt returns the attempt to replace the unhealthy control-plane machine m:
// how many went before stands on m itself, unless it was well for long enough,
// is of another template than is asked for, since what it failed of may be
// mended, or people ask for it. until is how long what went before counts.
// Source: Cluster API, KubeadmControlPlane, spec.remediation.
func (d *draft) attempt(m *machine) (next fleet.Remediation, until time.Duration) {
	next = fleet.Remediation{Machine: m.Name, At: d.Now.UTC().Truncate(time.Second)}
	last := m.Origin.Remediation
	healthy := time.Duration(controlplanev1.DefaultMinHealthyPeriodSeconds) * time.Second
	if s := m.pool.Remediation.MinHealthyPeriodSeconds; s != nil {
		healthy = seconds(s)
	}
	if until = d.from(last.At).Add(healthy).Sub(d.Now); !m.current || m.asked() || until <= 0 {
		return next, 0
	}
	next.Retry = last.Retry + 1
	return next, until
}

// mayAttempt reports whether the pool's remediation allows m to be replaced, and
// says what that waits for otherwise.
func (d *draft) mayAttempt(m *machine) bool {
	last, limits := m.Origin.Remediation, m.pool.Remediation
	next, until := d.attempt(m)
	if next.Retry == 0 {
		return true
	}
	period := seconds(limits.RetryPeriodSeconds)
	if left := d.from(last.At).Add(period).Sub(d.Now); period > 0 && left > 0 {
		d.wake(left)
		d.stays[m] = &defect{
			controlplanev1.KubeadmControlPlaneMachineRemediationDeferredReason,
			fmt.Sprintf("machine %s is unhealthy and waits: machine %s before it was replaced at %s, and remediation.retryPeriodSeconds of %s is %d",
				m.Name, last.Machine, last.At.UTC().Format(time.RFC3339), m.pool.Name, *limits.RetryPeriodSeconds),
		}
	} else if most := limits.MaxRetry; most != nil && last.Retry >= int(*most) {
		d.wake(until)
		d.stays[m] = &defect{
			controlplanev1.KubeadmControlPlaneMachineCannotBeRemediatedReason,
			fmt.Sprintf("machine %s is unhealthy and stays: remediation.maxRetry of %s is %d, and that many attempts failed one after the other; mend the cause in the template, or have the machine replaced by hand",
				m.Name, m.pool.Name, *most),
		}
	}
	if d.stays[m] == nil {
		return true
	}
	d.note("%s", d.stays[m].message)
	return false
}

// asAttempt remembers that remove, which plans the next step of replacing the
// unhealthy machine m, is an attempt, if it planned one.
func (d *draft) asAttempt(m *machine, remove func()) {
	planned := len(d.out.Actions)
	remove()
	if len(d.out.Actions) > planned && d.out.Remediation.Machine != m.Name {
		d.out.Remediation, _ = d.attempt(m)
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
