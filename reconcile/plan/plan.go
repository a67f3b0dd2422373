// Package plan decides what to do next for one cluster. It is pure: no clock,
// no randomness, no I/O, no goroutines. All it knows is in Input, all it wants
// is in Plan; equal inputs give equal plans, byte for byte.
package plan

import (
	"time"

	"fairlead.dev/fleet"
)

// AttemptsLast is how long an attempt is to be remembered where the settle window is
// shorter: some actions are repeated, but not more often than that.
const AttemptsLast = 5 * time.Minute

// Input is all that a decision may depend on.
type Input struct {
	Desired  *fleet.Cluster
	Observed fleet.Observed
	// Attempts are the actions of this agent that are answered or open and not
	// older than a settle window or AttemptsLast, whichever is longer.
	Attempts []fleet.Attempt
	// Since is when this agent began to look at the cluster as its owner. No
	// machine is created before a settle window has passed from it: what
	// another agent began may still surface.
	Since time.Time
	// Watched is since when looks of this agent at the cluster did not fail for long. A
	// deadline for an answer of the API server counts from it: the server is not called by a
	// look that fails, and may have answered meanwhile.
	Watched time.Time
	Settle  time.Duration // how long the provider of the first site may take to show a change
	// SettleTimes are those of the others; one that is not there is Settle.
	SettleTimes fleet.SettleTimes
	Now         time.Time
	// ClockSet is when the clock that Now is by was last set, by that clock; zero: it was
	// not while this agent looked.
	ClockSet time.Time
	// Memory is that of the last plan, of this agent or another.
	Memory fleet.Memory

	// Answered is when the API server of the cluster last answered this agent; zero:
	// it has not.
	Answered time.Time
	// NeverAnswered says that the API server of the cluster has not answered
	// once since Since, not even to refuse. False also means that it is not known.
	NeverAnswered bool
	// Unreported says that the plan is only carried out: Conditions, Pools, Machines and Addons stay empty.
	Unreported bool
	// Drains is how many Nodes are drained at a time, if that is more than an agent has drained.
	Drains int
}

// A Plan is what may be done now. Its actions do not depend on each other: what
// must come later comes in a later plan, after another look.
type Plan struct {
	Phase      fleet.Phase
	Conditions []fleet.Condition // sorted by type
	Actions    []fleet.Action    // in the order in which they are to be started
	// Desired is what Git asks for now: of a cluster on its way to a version that
	// is further, the pools in their state at this step. Actions are about it.
	Desired *fleet.Cluster
	// Waiting is what is expected to happen next, for people, sorted: while there is
	// any, it is worth looking again soon.
	Waiting []string
	// Notes are what stays unchanged until somebody changes something, for people,
	// sorted. A regular look is enough for them.
	Notes    []string
	Pools    []fleet.PoolReport
	Machines []fleet.MachineReport
	Addons   []fleet.AddonReport

	// Memory is for the next plan, of this agent or another.
	fleet.Memory

	// NeedEtcd says that the plan needs the etcd members, which were not looked
	// at, before it can say more.
	NeedEtcd bool

	// After is how long nothing can happen without an event; zero means that
	// only an event or the next regular look brings anything new.
	After time.Duration
}

// Compute returns the plan for in.
func Compute(in Input) Plan {
	d := newDraft(look(in))
	d.noteHeld()
	d.noteAway()
	d.noteHosts()
	switch {
	case d.contradicted != "":
		d.keepMemory()
	case d.deleting():
		d.delete()
	default:
		d.planPhases()
	}
	if d.contradicted == "" {
		d.resumeRemovals()
		d.withdrawRemovals()
	}
	d.leaveDrained()
	d.out.Reboots, d.out.Retries = d.reboots(), d.retries()
	d.conclude()
	d.passMilestones()
	if !in.Unreported {
		d.report()
	}
	return d.finish()
}
