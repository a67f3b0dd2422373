package remediation

import (
	"cmp"
	"slices"
	"time"

	"fairlead.dev/fleet"
)

// A ControlPlane is what is asked for, and what is there.
type ControlPlane struct {
	Replicas int
	Limits   Limits
	UnderWay bool // an attempt has begun, and what comes of it does not show yet
	Bears    bool // etcd keeps its quorum if one more member never starts
	Machines []Machine
}

// A Machine is what counts of one.
type Machine struct {
	Name      fleet.MachineName // decides where nothing else does
	Made      time.Time
	Current   bool // it is up to date
	Leaving   bool // its removal has begun
	Unhealthy bool
	Condemned bool // it may be replaced because it is unhealthy
	Asked     bool // people want it replaced
	Node      bool // it has joined
	Votes     bool // it is a healthy member of etcd
	Serves    bool // its part of the control plane works
	Well      bool // it can be counted on
	Attempt   Attempt
}

// A Kind says what comes next.
type Kind string

// The kinds.
const (
	Nothing     Kind = "nothing"      // to remediate: the control plane may change otherwise
	Last        Kind = "last"         // Machine stays as the last one: the control plane may change otherwise
	Refill      Kind = "refill"       // a machine is made
	AwaitJoin   Kind = "await join"   // Machine stays until Other has joined
	AwaitWell   Kind = "await well"   // Machine stays until another one is well
	AwaitLimits Kind = "await limits" // all that are unhealthy are in Limited
	AwaitWhole  Kind = "await whole"  // Machine works and stays until Other is well; -1: until none is missing
	Remove      Kind = "remove"       // Machine
)

// A Decision is what comes next. Machines are indexes in ControlPlane.Machines.
type Decision struct {
	Kind           Kind
	Machine, Other int
	Limited        []Limited // machines that would have come before Machine
}

// A Limited machine is one that limits hold.
type Limited struct {
	Machine int
	Verdict
}

// Next decides what comes next.
func Next(c ControlPlane) Decision {
	if c.refills() {
		return Decision{Kind: Refill, Machine: -1, Other: -1}
	}
	sick := c.condemned()
	if len(sick) == 0 {
		return Decision{Kind: Nothing, Machine: -1, Other: -1}
	}
	worst := sick[0]
	if len(c.Machines) == 1 {
		if c.Machines[0].Current && c.Replicas == 1 {
			return Decision{Kind: Last, Machine: worst, Other: -1}
		}
		return Decision{Kind: Nothing, Machine: -1, Other: -1} // a rollout makes another one first, and waits where none can join
	}
	if i := slices.IndexFunc(c.Machines, func(m Machine) bool { return !m.Unhealthy && !m.Node }); i >= 0 {
		return Decision{Kind: AwaitJoin, Machine: worst, Other: i}
	}
	if !c.countsOnAnother(worst) {
		return Decision{Kind: AwaitWell, Machine: worst, Other: -1}
	}
	d := Decision{Kind: AwaitLimits, Machine: -1, Other: -1}
	for _, i := range sick {
		if v := c.Machines[i].After(c.Limits); v.Limit != None {
			d.Limited = append(d.Limited, Limited{i, v})
			continue
		}
		d.Kind, d.Machine = Remove, i
		if other, counted := c.countedOn(i); counted {
			d.Kind, d.Other = AwaitWhole, other
		}
		return d
	}
	return d
}

// After judges the attempt to replace m.
func (m *Machine) After(l Limits) Verdict { return l.After(m.Attempt, !m.Current || m.Asked) }

// refills reports whether the machine that the control plane lacks is made before another
// one is removed.
func (c *ControlPlane) refills() bool {
	has := func(f func(Machine) bool) bool { return slices.ContainsFunc(c.Machines, f) }
	switch {
	case len(c.Machines) >= c.Replicas:
		return false
	case !c.UnderWay && !has(func(m Machine) bool { return m.Condemned }):
		return false
	case has(func(m Machine) bool { return m.Leaving }), has(func(m Machine) bool { return !m.Node }):
		return false
	}
	return c.Bears && has(func(m Machine) bool { return m.Well })
}

// condemned returns the unhealthy machines, the worst first: those whose removal costs etcd
// nothing, of these first those that people want replaced.
func (c *ControlPlane) condemned() []int {
	var out []int
	for i, m := range c.Machines {
		if m.Condemned {
			out = append(out, i)
		}
	}
	slices.SortFunc(out, func(i, j int) int {
		a, b := &c.Machines[i], &c.Machines[j]
		return cmp.Or(
			compareBool(a.Node, b.Node),
			compareBool(a.Votes, b.Votes),
			compareBool(b.Asked, a.Asked),
			compareBool(a.Serves, b.Serves),
			a.Made.Compare(b.Made),
			cmp.Compare(a.Name, b.Name))
	})
	return out
}

// countsOnAnother reports whether a machine beside i is well, and no health check says
// otherwise.
func (c *ControlPlane) countsOnAnother(i int) bool {
	for j, m := range c.Machines {
		if j != i && m.Well && (!m.Unhealthy || m.Asked) {
			return true
		}
	}
	return false
}

// countedOn reports whether the control plane counts on machine i, which is unhealthy and
// works anyway: it is not whole without it. other is a machine that is not well; -1
// where one is missing.
func (c *ControlPlane) countedOn(i int) (other int, counted bool) {
	switch {
	case !c.Machines[i].Well:
		return -1, false
	case len(c.Machines) < c.Replicas:
		return -1, true
	}
	other = slices.IndexFunc(c.Machines, func(m Machine) bool { return !m.Well && !m.Condemned })
	return other, other >= 0
}

// compareBool puts false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
