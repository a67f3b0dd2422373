package plan

import (
	"fmt"
	"slices"
	"time"

	"fairlead.dev/fleet"
)

// hold is how long at keeps its action from being begun again. What a provider
// did may take a settle window to show, and so may what it did not answer. All
// else shows at once and may be repeated, but not faster than is of use.
func (v *view) hold(at fleet.Attempt) time.Duration {
	switch at.Action.Kind {
	case fleet.CreateMachine, fleet.DeleteMachine:
		return v.Settle
	case fleet.EnsureInfrastructure, fleet.DeleteInfrastructure:
		if !at.Answered {
			return v.Settle
		}
	case fleet.DrainNode:
		return drainPace
	case fleet.SyncNode:
		return time.Minute
	case fleet.RefreshToken:
		return AttemptsLast
	}
	return 5 * time.Second
}

// drainPace is the time between two evictions on one Node.
const drainPace = 20 * time.Second

// operation returns the id of a. Machines that share a name are told apart, and so are
// fleets that have a cluster of one key.
func (v *view) operation(a fleet.Action) fleet.OperationID {
	subject := string(v.Desired.Fleet) + "\x00" + a.Subject()
	switch a.Kind {
	case fleet.DeleteMachine:
		subject += "\x00" + string(a.ProviderID)
	case fleet.DrainNode:
		if a.ProviderID != "" {
			subject += "\x00" + string(a.ProviderID)
		}
	case fleet.RotateAuthority:
		subject += "\x00" + string(a.Stage) + "\x00" + a.Wish
	case fleet.ApplyResources, fleet.PruneResources, fleet.InstallRelease:
		subject += "\x00" + a.Mark
	case fleet.RemoveMember:
		subject += fmt.Sprintf("\x00%x", a.Member)
	}
	return fleet.NewOperationID(v.Desired.Key, a.Kind, subject)
}

// recent reports whether a was begun less than d ago.
func (v *view) recent(a fleet.Attempt, d time.Duration) bool { return v.Now.Sub(a.At) < d }

// settled reports whether what another agent began before this one has shown
// by now.
func (v *view) settled() bool { return v.Now.Sub(v.Since) >= v.Settle }

// unsettled reports whether what another agent began may still surface, and
// says that something waits for it.
func (v *view) unsettled() bool {
	if v.settled() {
		return false
	}
	v.wait("what an earlier agent began may still surface until the settle window is over")
	v.wake(v.Settle - v.Now.Sub(v.Since))
	return true
}

// do adds a to the plan, unless the same action is open or too recent: then it
// says that a is waited for.
func (v *view) do(a fleet.Action) {
	if why := v.act(a); why != "" {
		v.wait("%s: %s", a, why)
	}
}

// act is do without the words: it returns why a is not added, or "".
func (v *view) act(a fleet.Action) string {
	a.Cluster = v.Desired.Key
	a.Operation = v.operation(a)
	if at, ok := v.attempts[a.Operation]; ok {
		hold := v.hold(at)
		if v.recent(at, hold) {
			v.wake(hold - v.Now.Sub(at.At))
			if at.Answered {
				return "asked for, waiting for it to show"
			}
			return "got no answer, it may still happen"
		}
	}
	v.out.Actions = append(v.out.Actions, a)
	return ""
}

// wait says what is expected to happen, and is looked for soon.
func (v *view) wait(format string, args ...any) { v.waits[fmt.Sprintf(format, args...)] = true }

// note says what stays as it is until somebody changes it: nothing is to be
// expected, so that it is no reason to look again soon.
func (v *view) note(format string, args ...any) { v.notes[fmt.Sprintf(format, args...)] = true }

// wake asks for another look after d > 0 at the latest.
func (v *view) wake(d time.Duration) {
	if v.out.After == 0 || d < v.out.After {
		v.out.After = d
	}
}

// nameAt returns the name of machine i of p.
func (v *view) nameAt(p *fleet.Pool, i int) fleet.MachineName {
	return v.Desired.MachineName(p, i)
}

// newName returns the free name of the lowest index, and takes it. A Machine that
// stands alone has but one name.
func (v *view) newName(g *group) fleet.MachineName {
	if g.pool.Kind == fleet.LoneMachine {
		return v.nameAt(g.pool, 0)
	}
	for ; ; g.next++ {
		if name := v.nameAt(g.pool, g.next); !v.taken[name] {
			v.taken[name] = true
			return name
		}
	}
}

// create adds a machine to g.
func (v *view) create(g *group, join fleet.Join, domain, reason string) {
	if v.unsettled() {
		return
	}
	if m := v.nameless(g); m != nil {
		v.note("pool %s waits: machine %s, which is held, may have the name that is the next to be given", g.name, m.title())
		return
	}
	name := v.newName(g)
	if g.pool.Kind == fleet.LoneMachine && v.taken[name] {
		v.wait("machine %s waits until nothing is left of the one that had its name", name)
		return
	}
	a := fleet.Action{
		Kind: fleet.CreateMachine, Pool: g.name, Machine: name,
		Join: join, FailureDomain: domain, Template: g.pool.Template, Reason: reason,
	}
	if join != fleet.JoinWorker {
		a.Remediation = v.out.Remediation
	}
	v.do(a)
}

// deleteOf returns the action that deletes the infrastructure of m.
func deleteOf(m *machine) fleet.Action {
	return fleet.Action{Kind: fleet.DeleteMachine, Pool: m.poolName(), Machine: m.Name, ProviderID: m.ProviderID}
}

// finish returns the plan.
func (v *view) finish() Plan {
	v.out.Desired = v.Desired
	if v.out.Phase != fleet.PhaseDeleted {
		v.out.Residence = v.residence
	}
	if v.paused() {
		v.out.Actions, v.out.NeedEtcd, v.out.After = nil, false, 0
		v.waits, v.notes = nil, map[string]bool{v.whyPaused(): true}
		if v.suspended() && !v.Desired.Suspension.Until.IsZero() {
			v.wake(v.Desired.Suspension.Until.Sub(v.Now))
		}
	}
	v.out.Waiting, v.out.Notes = sorted(v.waits), sorted(v.notes)
	return v.out
}

// sorted returns the texts of a set in order.
func sorted(set map[string]bool) []string {
	var out []string
	for text := range set {
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}
