package plan

import (
	"fmt"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan/rollout"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// roll plans what may be done now to bring the worker pool g to its replicas and template.
func (d *draft) roll(g *group) {
	may := d.preflight(g)
	for _, m := range g.leaving {
		if !m.duplicate {
			d.removeWorker(m, g.whyLeaving(m))
		}
	}
	for _, m := range g.all {
		if m.stays != nil {
			d.note("%s", m.stays.message)
		}
	}
	p := d.rolloutOf(g)
	p.NoCreate, p.NoRoll = may.create != "", may.roll != ""
	for _, s := range rollout.Workers(p) {
		d.takeWorkerStep(g, may, s)
	}
}

// rolloutOf returns what of g counts in a rollout.
func (f *facts) rolloutOf(g *group) rollout.Pool {
	p := g.pool
	out := rollout.Pool{
		Replicas: p.Replicas, MaxSurge: p.MaxSurge, MaxUnavailable: p.MaxUnavailable, MaxRemediations: p.MaxRemediations,
		OnDelete: p.Strategy == fleet.OnDelete, Order: p.DeletionOrder,
		Held: countNames(g.held), Pending: len(g.pending), PendingCurrent: g.freshPending,
		Machines: make([]rollout.Machine, 0, len(g.all)),
	}
	out.Spare, out.Inventory = f.spare(g)
	for _, m := range g.all {
		out.Machines = append(out.Machines, rollout.Machine{
			Name: m.Name, Made: m.MadeAt(), Domain: m.FailureDomain,
			Current: m.current, Leaving: m.leaving || m.duplicate, Available: m.available, Busy: g.vanished && f.busy(m),
			Marked: marked(m), Broken: broken(m), Unhealthy: m.unhealthy != nil, Condemned: m.condemned,
		})
	}
	return out
}

// takeWorkerStep has the step s of g done, or says what it waits for.
func (d *draft) takeWorkerStep(g *group, may gate, s rollout.Step) {
	var m *machine
	if s.Machine >= 0 {
		m = g.all[s.Machine]
	}
	switch s.Kind {
	case rollout.Create:
		d.create(g, fleet.JoinWorker, d.workerDomain(g), g.tooFew(s.Has))
	case rollout.CreateFor:
		d.create(g, fleet.JoinWorker, d.workerDomain(g), fmt.Sprintf("%s: replaces %s", differs(m, g.pool), m.Name))
	case rollout.Remediate:
		d.replaceWorker(g, m, m.unhealthy.message)
	case rollout.RemoveMore:
		d.beginRemoval(m, g.tooMany())
	case rollout.Replace:
		d.replaceWorker(g, m, "outdated: "+differs(m, g.pool))
	case rollout.ReplaceFirst:
		d.replaceWorker(g, m, "outdated: "+differs(m, g.pool)+NoSpare)
	case rollout.AwaitRemediation:
		d.wait("machine %s is unhealthy and waits: others of pool %s are being replaced", m.Name, g.name)
	case rollout.AwaitSpare:
		d.wait("machine %s must stay until others of pool %s are available", m.Name, g.name)
	case rollout.AwaitAvailable:
		d.wait("outdated machine %s waits until enough others of pool %s are available", m.Name, g.name)
	case rollout.AwaitCreate:
		d.wait("%s", may.create)
	case rollout.AwaitRoll:
		d.wait("%s", may.roll)
	}
}

// NoSpare ends the reason of a removal that comes before the replacement.
const NoSpare = "; no host is free for its replacement, so it goes first"

// beginRemoval plans the first step of removing the worker m, which is not available from
// now on. It stays if too many Nodes are being drained.
func (d *draft) beginRemoval(m *machine, reason string) {
	if d.toDrain(m) {
		if most := max(drainsAtOnce, d.Drains); d.drains >= most {
			d.wait("pool %s waits to drain more nodes: %d nodes of the cluster are being drained, which is the limit", m.poolName(), most)
			d.wake(drainPace)
			return
		}
		d.drains++
	}
	d.going[m] = true
	d.removeWorker(m, reason)
}

// changeControlPlane replaces, adds or removes one machine.
func (d *draft) changeControlPlane(g *group) {
	p := d.rolloutOf(g)
	for i, m := range g.all {
		p.Machines[i].Broken = broken(m) || !m.serves()
		p.Machines[i].Well = d.ailing(m) == ""
	}
	p.Learners = d.learners(g)
	for _, s := range rollout.ControlPlane(p) {
		d.takeControlPlaneStep(g, s)
	}
}

// takeControlPlaneStep has the step s of the control plane done, or says what it waits for.
func (d *draft) takeControlPlaneStep(g *group, s rollout.Step) {
	var m *machine
	if s.Machine >= 0 {
		m = g.all[s.Machine]
	}
	switch s.Kind {
	case rollout.AwaitWell:
		d.wait("%s", d.ailing(m))
	case rollout.AwaitMember:
		d.wait("an etcd member is still joining")
	case rollout.Create:
		d.join(g, g.tooFew(s.Has))
	case rollout.CreateFor:
		d.join(g, fmt.Sprintf("%s: replaces %s", g.whyReplaced(m), m.Name))
	case rollout.RemoveMore:
		d.retire(m, g.tooMany())
	case rollout.Replace, rollout.ReplaceFirst:
		reason := g.whyReplaced(m)
		if !m.current {
			reason = "outdated: " + reason
		}
		if s.Kind == rollout.ReplaceFirst {
			reason += NoSpare
		}
		if d.replaceable(g, m, fleet.JoinControlPlane) {
			d.retire(m, reason)
		}
	}
}

// whyReplaced says why the control-plane machine m is replaced.
func (g *group) whyReplaced(m *machine) string {
	if m.current {
		return "marked for deletion"
	}
	return differs(m, g.pool)
}

// join adds a machine to the control plane.
func (d *draft) join(g *group, reason string) {
	if !d.stepBeforeJoin(g) {
		d.create(g, fleet.JoinControlPlane, d.nextDomain(g), reason)
	}
}

// retire begins the removal of the control-plane machine m.
func (d *draft) retire(m *machine, reason string) {
	if !d.unsettled() {
		d.removeControlPlane(m, reason)
	}
}

// nextDomain returns the failure domain for a new machine of the control plane g.
func (f *facts) nextDomain(g *group) string {
	var domains []string
	for _, d := range f.Observed.Infrastructure.FailureDomains {
		if d.ControlPlane {
			domains = append(domains, d.Name)
		}
	}
	return rollout.Domain(domains, f.rolloutOf(g).Machines)
}

// workerDomain returns the failure domain for the next machine of the worker pool g. Of several it is that with the
// fewest machines, those that were asked for included.
func (d *draft) workerDomain(g *group) string {
	if len(g.pool.FailureDomains) == 0 {
		return g.pool.FailureDomain
	}
	made := d.rolloutOf(g).Machines
	for _, at := range d.Attempts {
		if at.Action.Kind == fleet.CreateMachine && slices.Contains(g.pending, at.Action.Machine) {
			made = append(made, rollout.Machine{Domain: at.Action.FailureDomain, Current: true})
		}
	}
	for _, a := range d.out.Actions {
		if a.Kind == fleet.CreateMachine && a.Pool == g.name {
			made = append(made, rollout.Machine{Domain: a.FailureDomain, Current: true})
		}
	}
	return rollout.Domain(g.pool.FailureDomains, made)
}

// learners returns the members of etcd that do not vote yet, each as the index of its
// machine in g.all, or -1.
func (f *facts) learners(g *group) []int {
	if f.Observed.Workload.Etcd == nil { // it is external
		return nil
	}
	var out []int
	for _, e := range f.Observed.Workload.Etcd.Members {
		if e.Learner || e.Name == "" {
			out = append(out, slices.IndexFunc(g.all, func(m *machine) bool { return m.member != nil && m.member.ID == e.ID }))
		}
	}
	return out
}

func (g *group) tooFew(has int) string {
	return fmt.Sprintf("pool %s wants %s, has %d%s", g.name, machines(g.pool.Replicas), has, because(g.decided()))
}

func (g *group) tooMany() string {
	return fmt.Sprintf("pool %s wants %s, has more%s", g.name, machines(g.pool.Replicas), because(g.decided()))
}

// decided says who decided on the number of machines, where that is not Git.
func (g *group) decided() string {
	if g.pool.Scaling == nil {
		return ""
	}
	return g.pool.Scaling.Reason
}

// whyLeaving gives the reason of a removal that has begun.
func (g *group) whyLeaving(m *machine) string {
	switch {
	case m.unhealthy != nil:
		return m.unhealthy.message
	case !m.current:
		return "outdated: " + differs(m, g.pool)
	case len(g.fresh)+len(g.old) >= g.pool.Replicas:
		return g.tooMany()
	}
	return "its removal has begun"
}

// marked reports whether people want m to be the next that goes.
func marked(m *machine) bool {
	if m.pool != nil && m.pool.Scaling != nil && m.pool.Scaling.Remove[m.ProviderID] {
		return true
	}
	return m.node != nil && has(m.node.Annotations, clusterv1.DeleteMachineAnnotation)
}

func broken(m *machine) bool {
	return m.unhealthy != nil || !m.ready || m.State == fleet.MachineFailed
}

func has(m map[string]string, key string) bool {
	_, ok := m[key]
	return ok
}

func machines(n int) string {
	if n == 1 {
		return "1 machine"
	}
	return fmt.Sprintf("%d machines", n)
}
