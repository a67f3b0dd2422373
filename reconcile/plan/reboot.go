package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan/remediation"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// A rebooting is a machine that is rebooted, or was, and what comes next for it.
type rebooting struct {
	remediation.RebootStep
	rules fleet.RebootRules
	was   fleet.Reboot // as remembered; zero: none has begun
}

// unhealthyAfterReboots reports whether m, which h found unhealthy and may have replaced, is to be
// replaced: if h has a strategy for reboots, these come first.
func (f *facts) unhealthyAfterReboots(h *clusterv1.MachineHealthCheck, m *machine) (condemned bool) {
	rules, ok := f.Desired.Reboots[h.Name]
	if !ok || f.providerOf(m) != rules.Provider || m.ProviderID == "" {
		return true
	}
	begun := m.reboot != nil || f.rebootBegan(h, m) // its power may be neither on nor off meanwhile
	if !begun && m.Power == "" && !m.Silent {
		return true
	}
	if f.unreachable && f.failedFirst(m) { // no API server would ever tell whether a reboot helped
		return true
	}
	f.nextReboot(m, rules, true)
	return m.reboot.Kind == remediation.RebootGiveUp
}

// rebootBegan reports whether m is rebooted, or was, by what h says.
func (f *facts) rebootBegan(h *clusterv1.MachineHealthCheck, m *machine) bool {
	rules, ok := f.Desired.Reboots[h.Name]
	return ok && f.providerOf(m) == rules.Provider && !f.rebootOf(m).At.IsZero()
}

// providerOf is the provider of the site that m is on.
func (f *facts) providerOf(m *machine) string { return cmp.Or(m.Provider, f.Desired.Provider) }

// nextReboot decides what comes next for m by rules. may is whether a reboot may begin.
func (f *facts) nextReboot(m *machine, rules fleet.RebootRules, may bool) {
	was := f.rebootOf(m)
	r := remediation.Reboot{
		RetryLimit: rules.RetryLimit, Timeout: rules.Timeout,
		Begun: !was.At.IsZero(), Ago: f.Now.Sub(f.from(was.At)), Retry: was.Retry, Off: was.Off, Given: was.GivenUp,
		Sick: m.unhealthy != nil || !was.At.IsZero() && (f.unreachable || m.doubtful), May: may && !f.unreachable, IsOff: m.Power == fleet.HostOff,
		Node: m.node != nil && m.Role == fleet.RoleWorker,
	}
	m.reboot = &rebooting{r.Next(), rules, was}
	if m.unhealthy != nil && m.reboot.Kind != remediation.RebootGiveUp {
		m.stays = &defect{clusterv1.MachineOwnerRemediatedWaitingForRemediationReason, m.reboot.progress(m)}
	}
}

// rebootOf returns what is remembered of the reboots of m.
func (f *facts) rebootOf(m *machine) fleet.Reboot {
	if i := slices.IndexFunc(f.Memory.Reboots, func(r fleet.Reboot) bool { return r.Same(m.Name, m.ProviderID) }); i >= 0 {
		return f.Memory.Reboots[i]
	}
	return fleet.Reboot{}
}

// followReboots goes on with reboots that began, of machines that no health check may act on
// now: they got well, or their check holds back. Who leaves needs no reboot, and who is to be
// replaced for another reason is replaced.
func (f *facts) followReboots() {
	for _, m := range f.machines {
		switch {
		case m.leaving || m.duplicate || m.held != "", m.condemned && (m.reboot == nil || m.reboot.Kind != remediation.RebootGiveUp), m.asked():
			m.reboot = nil
		case m.reboot == nil && !f.rebootOf(m).At.IsZero():
			f.nextReboot(m, f.rulesOf(m), false)
		}
	}
}

// rulesOf returns how m is rebooted by the first health check that says so; zero: none does any
// more.
func (f *facts) rulesOf(m *machine) fleet.RebootRules {
	for i := range f.Desired.HealthChecks {
		if r, ok := f.Desired.Reboots[f.Desired.HealthChecks[i].Name]; ok && r.Provider == f.providerOf(m) {
			return r
		}
	}
	return fleet.RebootRules{}
}

// progress describes what is done about m before it is replaced.
func (r *rebooting) progress(m *machine) string {
	which := fmt.Sprintf("machine %s is unhealthy, and is rebooted before it is replaced", m.Name)
	if r.Retry > 0 {
		which += fmt.Sprintf(" (for the %s time)", ordinal(r.Retry+1))
	}
	switch r.Kind {
	case remediation.RebootOff:
		if m.Silent {
			return which + ": it is to be switched off, and its power management does not answer"
		}
		return which + ": it is switched off first"
	case remediation.RebootNode:
		return which + ": it is off, and its node goes"
	case remediation.RebootOn:
		return which + ": it is switched on"
	}
	return which + fmt.Sprintf(": it has until %s to be well", r.was.At.Add(r.rules.Timeout).UTC().Format(time.RFC3339))
}

// ordinal returns "2nd" and the like.
func ordinal(n int) string {
	switch {
	case n%10 == 2 && n%100 != 12:
		return fmt.Sprintf("%dnd", n)
	case n%10 == 3 && n%100 != 13:
		return fmt.Sprintf("%drd", n)
	case n%10 == 1 && n%100 != 11:
		return fmt.Sprintf("%dst", n)
	}
	return fmt.Sprintf("%dth", n)
}

// rebootMachines takes the next step of each machine that is rebooted.
func (d *draft) rebootMachines() {
	for _, m := range d.machines {
		r := m.reboot
		if r == nil {
			continue
		}
		a := fleet.Action{Pool: m.poolName(), Provider: m.Provider, Machine: m.Name, ProviderID: m.ProviderID, Reason: r.progress(m)}
		if m.unhealthy != nil {
			a.Reason = "before it is replaced: " + m.unhealthy.message
		}
		switch r.Kind {
		case remediation.RebootOff:
			if r.Begins && !d.mayBegin(m) {
				continue
			}
			a.Kind = fleet.SwitchOff
			d.request(a)
		case remediation.RebootNode:
			d.request(fleet.Action{Kind: fleet.DeleteNode, Node: m.node.Name, Machine: m.Name, Reason: "its machine is off, and is rebooted"})
		case remediation.RebootOn:
			if a.Kind = fleet.SwitchOn; m.unhealthy == nil {
				a.Reason = "its reboot goes on"
			}
			d.request(a)
		case remediation.RebootAwait:
			if r.Left > 0 {
				d.wake(r.Left)
			}
		case remediation.RebootGiveUp, remediation.RebootOver:
			continue
		}
		if m.unhealthy != nil && m.Role == fleet.RoleControlPlane { // pools tell why a machine stays
			d.wait("%s", r.progress(m))
		}
	}
}

// mayBegin reports whether a reboot of m may begin, and says what it waits for: a control plane
// has to bear it. The last machine of one is rebooted without that, since nothing else may help.
func (d *draft) mayBegin(m *machine) bool {
	hold := func(format string, args ...any) bool {
		d.wait("machine %s is unhealthy, and its reboot waits: %s", m.Name, fmt.Sprintf(format, args...))
		d.unbegun[m] = true
		return false
	}
	g := d.controlPlane()
	switch {
	case m.pool == nil || m.pool.Paused:
		return hold("its pool is paused")
	case d.unsettledOn(m.Provider):
		return hold("what an earlier agent began may still surface")
	case m.Role != fleet.RoleControlPlane || g == nil || len(g.all) == 1:
		return true
	case len(g.pending) > 0:
		return hold("machine %s is being made", g.pending[0])
	}
	for _, o := range g.all {
		if why := d.ailing(o); o != m && why != "" {
			return hold("%s", why)
		}
	}
	switch {
	case !d.etcdKnown():
		d.unbegun[m] = true
		return false
	case d.Observed.Workload.Etcd == nil || m.member == nil:
		return true
	}
	if why := d.Observed.Workload.Etcd.QuorumWithout(m.member.ID); why != "" {
		return hold("%s", why)
	}
	return true
}

// reboots returns what is remembered of reboots: of the machines that are there, until they are
// well. While they cannot be observed, all is.
func (d *draft) reboots() []fleet.Reboot {
	if d.contradicted != "" || d.paused() {
		return d.Memory.Reboots
	}
	var out []fleet.Reboot
	for _, m := range d.machines {
		r := m.reboot
		if r == nil || r.Kind == remediation.RebootOver || d.unbegun[m] && r.was.At.IsZero() {
			continue
		}
		now := r.was
		switch {
		case d.unbegun[m]: // as it was
		case r.Begins:
			now = fleet.Reboot{Machine: m.Name, ProviderID: m.ProviderID, At: d.Now.UTC().Truncate(time.Second), Retry: r.Retry, Off: true}
		case r.Kind == remediation.RebootOn:
			now.Off = false
		case r.Kind == remediation.RebootGiveUp:
			now.GivenUp = true
		}
		out = append(out, now)
	}
	for _, was := range d.Memory.Reboots { // of machines on a site that cannot be observed
		there := slices.ContainsFunc(d.machines, func(m *machine) bool { return was.Same(m.Name, m.ProviderID) })
		if !there && d.unseen() != nil {
			out = append(out, was)
		}
	}
	slices.SortFunc(out, func(a, b fleet.Reboot) int {
		return cmp.Or(cmp.Compare(a.Machine, b.Machine), cmp.Compare(a.ProviderID, b.ProviderID))
	})
	return out
}
