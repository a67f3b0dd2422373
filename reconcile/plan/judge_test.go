package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan"
)

// judge checks a plan against the true state of the world.
func (c *chaos) judge(in plan.Input, p plan.Plan) {
	c.judgeHeld(p)
	c.judgeSites(in, p)
	if c.desired.Delete {
		return
	}
	c.judgeDrained(p)
	asked := map[fleet.OperationID]bool{}
	for _, a := range p.Actions {
		if asked[a.Operation] {
			c.fail("OnceIsEnough: %s stands twice in a plan", a)
		}
		asked[a.Operation] = true
	}
	for _, pool := range c.desired.Workers {
		c.judgePool(pool, p)
	}
	c.judgeControlPlane(p)
	c.judgeVersions(p)
	for _, a := range p.Actions {
		if n := c.nodes[a.Node]; n != nil && c.find(a.Machine) == nil && a.Kind != fleet.DeleteNode && a.Kind != fleet.RemoveMember {
			c.fail("NothingForeignTouched: %s", a)
		}
		if strings.TrimSpace(a.Reason) == "" {
			c.fail("an action without a reason: %s", a)
		}
	}
}

// judgeVersions checks NoMinorIsSkipped: no machine joins a control plane that is more than
// one minor version newer than an API server that stays.
func (c *chaos) judgeVersions(p plan.Plan) {
	if c.desired.AllowsVersion() {
		return
	}
	joins := slices.ContainsFunc(p.Actions, func(a fleet.Action) bool { return a.Kind == fleet.CreateMachine && a.Join == fleet.JoinControlPlane })
	for _, m := range c.machines {
		serves := m.Role == fleet.RoleControlPlane && m.joined && !m.dead && m.goneAt.IsZero() && !m.tampered() && !c.now.Before(m.visibleAt)
		if joins && serves && plan.NewerMinor(p.Desired.ControlPlane.Version, nextMinor(m.Version)) {
			c.fail("NoMinorIsSkipped: %s joins %s", p.Desired.ControlPlane.Version, m.Version)
		}
	}
}

// nextMinor returns the minor version after that of v.
func nextMinor(v string) string {
	var major, minor int
	if _, err := fmt.Sscanf(v, "v%d.%d", &major, &minor); err != nil {
		return v
	}
	return fmt.Sprintf("v%d.%d.0", major, minor+1)
}

// judgeHeld checks WhatIsHeldIsLeftAlone: no action is about a machine whose tags are
// damaged, its Node or its etcd member, none goes below it, and no second cluster is
// made beside it.
func (c *chaos) judgeHeld(p plan.Plan) {
	for _, m := range c.machines {
		if !m.tampered() || c.now.Before(m.visibleAt) {
			continue
		}
		for _, a := range p.Actions {
			member := slices.ContainsFunc(c.members, func(e fleet.Member) bool { return e.ID == a.Member && e.Name == c.nodeName(m) })
			twin := a.ProviderID != "" && a.ProviderID != m.ProviderID
			switch {
			case a.ProviderID != "" && a.ProviderID == m.ProviderID,
				a.Machine == m.Name && !twin && !c.twins[m.Name], // else the other one may be meant
				m.joined && a.Node == c.nodeName(m) && !twin,
				m.joined && member && !twin,
				a.Join == fleet.JoinInit, a.Kind == fleet.DeleteInfrastructure && (a.Provider == "" || a.Provider == m.Provider), a.Kind == fleet.DeleteSecrets:
				c.fail("WhatIsHeldIsLeftAlone: %s (%s), while %s lost %s%s", a, a.Reason, m.Name, m.lost, m.changed)
			}
		}
	}
}

// judgeSites checks WhatIsAwayIsLeftAlone: on a site that nobody can look at nothing is
// made or removed, and neither its Nodes are, nor anything below its machines. And it
// checks NothingIsForgotten: as long as a machine is on the other site, that is remembered.
func (c *chaos) judgeSites(in plan.Input, p plan.Plan) {
	mixed := len(in.Observed.Guests) > 0
	for _, m := range c.machines {
		if !mixed || !c.away[m.Provider] || c.now.Before(m.visibleAt) {
			continue
		}
		for _, a := range p.Actions {
			twin := a.ProviderID != "" && a.ProviderID != m.ProviderID || c.twins[m.Name]
			switch {
			case a.Machine == m.Name && !twin, m.joined && a.Node == c.nodeName(m) && !twin,
				a.Join == fleet.JoinInit, a.Kind == fleet.DeleteSecrets, a.Kind == fleet.DeleteInfrastructure && a.Provider == m.Provider:
				c.fail("WhatIsAwayIsLeftAlone: %s (%s), while %s of site %q is not seen", a, a.Reason, m.Name, m.Provider)
			}
		}
	}
	for _, a := range p.Actions {
		changes := a.Kind == fleet.CreateMachine || a.Kind == fleet.DeleteMachine || a.Kind == fleet.EnsureInfrastructure || a.Kind == fleet.DeleteInfrastructure
		if mixed && changes && c.away[a.Provider] {
			c.fail("WhatIsAwayIsLeftAlone: %s (%s) on site %q", a, a.Reason, a.Provider)
		}
	}
	_, remembered := p.Residence.Guest(yard)
	if !remembered && slices.ContainsFunc(c.machines, func(m *simMachine) bool { return m.Provider == yard }) {
		c.fail("NothingIsForgotten: machines are on the other site")
	}
}

// judgeDrained checks NothingInUseIsDeletedUndrained.
func (c *chaos) judgeDrained(p plan.Plan) {
	for _, a := range p.Actions {
		if m := c.subject(a); a.Kind == fleet.DeleteMachine && m != nil && m.joined && c.answered && c.nodes[c.nodeName(m)] != nil && !c.draining(m) {
			c.fail("NothingInUseIsDeletedUndrained: %s %s (%s)", a, a.ProviderID, a.Reason)
		}
	}
}

// judgePool checks AvailableNeverBelowMinimum and TotalNeverAboveMaximum.
func (c *chaos) judgePool(pool fleet.Pool, p plan.Plan) {
	available, removed, total, created := 0, 0, 0, 0
	counted := map[fleet.MachineName]bool{} // what a provider made twice is its fault
	for _, m := range c.machines {
		if m.Pool == pool.Name {
			if m.tampered() {
				counted[m.Name] = true // that it is not counted is the fault of who did that
			}
			if !counted[m.Name] {
				total++
			}
			counted[m.Name] = true
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
		c.fail("AvailableNeverBelowMinimum: pool %s has %d available, the plan takes %d, %d must stay: %q %+v",
			pool.Name, available, removed, pool.Replicas-pool.MaxUnavailable, reasons(p), pool)
	}
	if created > 0 && total+created > pool.Replicas+pool.MaxSurge {
		c.fail("TotalNeverAboveMaximum: pool %s has %d, the plan adds %d, %d may be: %v",
			pool.Name, total, created, pool.Replicas+pool.MaxSurge, p.Actions)
	}
}

func (c *chaos) available(m *simMachine, pool fleet.Pool) bool {
	n := c.nodes[c.nodeName(m)]
	if n == nil || !m.joined || !n.Ready || n.Draining || !m.goneAt.IsZero() || c.marked(m) {
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
			c.judgeRemediation(a, m)
			if a.Kind == fleet.DeleteMachine && m.joined && c.answered && slices.ContainsFunc(c.members, func(e fleet.Member) bool { return e.Name == c.nodeName(m) }) {
				c.fail("EtcdQuorumKept: %s while it is a member of etcd", a)
			}
		}
	}
	if changes > 1 {
		c.fail("OneControlPlaneChangeAtATime: %v", p.Actions)
	}
}

// judgeRemediation checks RemediationReplacesFirst: a control-plane machine that
// works does not begin to go while others than it are missing.
func (c *chaos) judgeRemediation(a fleet.Action, m *simMachine) {
	if !c.works(m) || !c.answered { // one that never answered was no control plane yet
		return
	}
	others := 0
	for _, o := range c.machines {
		if o != m && c.works(o) {
			others++
		}
	}
	if others < c.desired.ControlPlane.Replicas-1 {
		c.fail("RemediationReplacesFirst: %s (%s) leaves %d of %d", a, a.Reason, others, c.desired.ControlPlane.Replicas)
	}
}

// works reports whether m is a whole part of the control plane.
func (c *chaos) works(m *simMachine) bool {
	n := c.nodes[c.nodeName(m)]
	return m.Role == fleet.RoleControlPlane && m.joined && !m.dead && m.goneAt.IsZero() && n != nil && n.Ready && c.serving[n.Name] && !n.Draining &&
		slices.ContainsFunc(c.members, func(e fleet.Member) bool { return e.Name == c.nodeName(m) && e.Healthy && !e.Learner })
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
