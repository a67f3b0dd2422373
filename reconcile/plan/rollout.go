package plan

import (
	"cmp"
	"fmt"
	"slices"

	"fairlead.dev/fleet"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// A rollout is the arithmetic of one worker pool: Cluster API's MachineDeployment,
// with exact knowledge of which machine goes. That makes its dead-lock breaker
// needless: an unavailable outdated machine is chosen first and costs no
// availability, so it is never held back by the availability of others.
type rollout struct {
	plan      *draft
	g         *group
	gate      gate
	total     int // machines that are or may be there
	fresh     int // machines that stay, and those that are asked for
	available int
	minimum   int // machines that must stay available
	pendDown  int // machines on their way out
	begun     int // of these, how many this plan sends
}

// roll plans what may be done now to bring g to its replicas and template.
func (d *draft) roll(g *group) {
	r := &rollout{
		plan: d, g: g, gate: d.preflight(g),
		total:    len(g.all) + len(g.pending) + countNames(g.held),
		fresh:    len(g.fresh) + g.freshPending,
		minimum:  max(g.pool.Replicas-g.pool.MaxUnavailable, 0),
		pendDown: len(g.leaving),
	}
	for _, m := range g.all {
		if m.available {
			r.available++
		}
	}
	for _, m := range g.leaving {
		if !m.duplicate {
			d.removeWorker(m, g.whyLeaving(m))
		}
	}
	r.remediate()
	r.shrink()
	r.grow()
	r.replace()
}

// remediate removes the machines that health checks condemn, at most
// MaxRemediations at a time. Outdated ones are the rollout's.
func (r *rollout) remediate() {
	room := r.g.pool.MaxRemediations
	for _, m := range r.g.leaving {
		if m.unhealthy != nil && (m.current || r.g.pool.Strategy == fleet.OnDelete) {
			room--
		}
	}
	for _, m := range r.candidates() {
		if !m.condemned {
			if m.stays != nil {
				r.plan.note("%s", m.stays.message)
			}
			continue
		}
		if r.g.pool.MaxRemediations >= 0 && room <= 0 {
			r.plan.wait("machine %s is unhealthy and waits: others of pool %s are being replaced", m.Name, r.g.name)
			continue
		}
		room--
		r.remove(m, m.unhealthy.message)
	}
}

// candidates are the machines that health checks may replace.
func (r *rollout) candidates() []*machine {
	if r.g.pool.Strategy == fleet.OnDelete {
		return slices.Concat(r.g.fresh, r.g.old)
	}
	return slices.Clone(r.g.fresh)
}

// shrink removes machines of the right template that are too many.
func (r *rollout) shrink() {
	r.cut(r.fresh-r.g.pool.Replicas, r.g.fresh)
}

// cut removes so many of ms in the order in which they go. One that cannot be spared
// keeps none of the others that can: what does not work may go at any time.
func (r *rollout) cut(surplus int, ms []*machine) {
	var stays *machine
	for _, m := range victims(r.g.pool, ms) {
		switch {
		case surplus <= 0 || m.leaving || r.plan.going[m]:
		case r.spend(m):
			surplus--
			r.remove(m, r.g.tooMany())
		case stays == nil:
			stays = m
		}
	}
	if surplus > 0 && stays != nil {
		r.plan.wait("machine %s must stay until others of pool %s are available", stays.Name, r.g.name)
	}
}

// grow creates what is missing, in place of outdated machines too as far as the
// surge allows.
func (r *rollout) grow() {
	p := r.g.pool
	lacks := p.Replicas - r.fresh - countNames(r.g.held) // none comes in place of one that is held
	room := p.Replicas - r.total
	if p.Strategy != fleet.OnDelete && r.gate.roll == "" {
		room += p.MaxSurge
	}
	if lacks <= 0 {
		return
	}
	if r.gate.create != "" {
		r.plan.wait("%s", r.gate.create)
		return
	}
	replaced := victims(p, r.g.old)
	replaced = replaced[max(len(replaced)-lacks, 0):]
	has := r.total - r.pendDown
	for range min(lacks, room) {
		reason := r.g.tooFew(has)
		if len(replaced) > 0 && p.Strategy != fleet.OnDelete {
			old := replaced[0]
			replaced = replaced[1:]
			reason = fmt.Sprintf("%s: replaces %s", differs(old, p), old.Name)
		}
		r.plan.create(r.g, fleet.JoinWorker, p.FailureDomain, reason)
		has++
		r.total++
	}
}

// replace removes outdated machines as far as enough others are available. Machines
// whose removal began before are in no number that it takes from: they are not
// available, and one whose drain never ends costs that much and no more.
func (r *rollout) replace() {
	p := r.g.pool
	if len(r.g.old) == 0 {
		return
	}
	old := victims(p, r.g.old)
	if p.Strategy == fleet.OnDelete {
		r.replaceOnDelete(old)
		return
	}
	if r.gate.roll != "" {
		r.plan.wait("%s", r.gate.roll)
		return
	}
	budget := len(r.g.fresh) + len(r.g.old) + len(r.g.pending) - r.begun - r.minimum - r.unproven()
	for _, wantAvailable := range []bool{false, true} {
		for _, m := range old {
			if m.available != wantAvailable {
				continue
			}
			if budget <= 0 || !r.spend(m) {
				r.plan.wait("outdated machine %s waits until enough others of pool %s are available", m.Name, p.Name)
				return
			}
			budget--
			r.remove(m, "outdated: "+differs(m, p))
		}
	}
}

// unproven counts the machines of the new template that are not available: as
// long as they do not work, their number slows the rollout down.
func (r *rollout) unproven() int {
	n := r.g.freshPending
	for _, m := range r.g.fresh {
		if !m.leaving && !r.plan.going[m] && !m.available {
			n++
		}
	}
	return n
}

// replaceOnDelete removes outdated machines only where the pool has too many.
func (r *rollout) replaceOnDelete(old []*machine) {
	old = slices.DeleteFunc(slices.Clone(old), func(m *machine) bool { return m.leaving || r.plan.going[m] }) // a health check was first
	r.cut(min(r.fresh, r.g.pool.Replicas)+len(old)+len(r.g.pending)-r.g.freshPending-r.g.pool.Replicas, old)
}

// spend takes m out of what is available, unless too little would be left.
// Whatever is not available may go at any time.
func (r *rollout) spend(m *machine) bool {
	if !m.available {
		return true
	}
	if r.available <= r.minimum {
		return false
	}
	r.available--
	return true
}

// remove begins the removal of m.
func (r *rollout) remove(m *machine, reason string) {
	r.pendDown++
	r.begun++
	r.plan.going[m] = true
	if m.current {
		r.fresh--
	}
	r.plan.removeWorker(m, reason)
}

func (g *group) tooFew(has int) string {
	return fmt.Sprintf("pool %s wants %s, has %d%s", g.name, machines(g.pool.Replicas), has, because(g.decided()))
}

func (g *group) vanishedReason() string { return fmt.Sprintf("pool %s is not in Git any more", g.name) }

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

// victims returns ms in the order in which they go: those that people marked,
// the unhealthy and those without a Node, then by the pool's order. Names end in
// a hash, so their order is the random one: arbitrary, and the same every time.
func victims(p *fleet.Pool, ms []*machine) []*machine {
	if len(ms) < 2 {
		return ms
	}
	out := slices.Clone(ms)
	slices.SortFunc(out, func(a, b *machine) int {
		return cmp.Or(
			compareBool(marked(b), marked(a)),
			compareBool(broken(b), broken(a)),
			byOrder(p.DeletionOrder, a, b),
			cmp.Compare(a.Name, b.Name),
		)
	})
	return out
}

func marked(m *machine) bool {
	if m.pool != nil && m.pool.Scaling != nil && m.pool.Scaling.Remove[m.ProviderID] {
		return true
	}
	return m.node != nil && has(m.node.Annotations, clusterv1.DeleteMachineAnnotation)
}

func broken(m *machine) bool {
	return m.unhealthy != nil || !m.ready || m.State == fleet.MachineFailed
}

func byOrder(o fleet.DeletionOrder, a, b *machine) int {
	switch o {
	case fleet.DeleteNewest:
		return b.MadeAt().Compare(a.MadeAt())
	case fleet.DeleteOldest:
		return a.MadeAt().Compare(b.MadeAt())
	}
	return 0
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
