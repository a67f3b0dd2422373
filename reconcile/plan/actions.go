package plan

import (
	"fmt"
	"time"

	"fairlead.dev/fleet"
)

// repeatAfter is the time after which the action of at may be requested again. What a provider
// did may take a settle window to show, and so may a request without an answer. All
// other effects show at once: the action may be repeated, but not more often than is useful.
func (f *facts) repeatAfter(at fleet.Attempt) time.Duration {
	switch at.Action.Kind {
	case fleet.CreateMachine, fleet.DeleteMachine, fleet.EnsurePool, fleet.DeletePool:
		return f.settleOf(at.Action.Provider)
	case fleet.EnsureInfrastructure, fleet.DeleteInfrastructure, fleet.EnsureControlPlane, fleet.DeleteControlPlane:
		if !at.Answered {
			return f.settleOf(at.Action.Provider)
		}
	case fleet.DrainNode, fleet.SwitchOff, fleet.SwitchOn:
		return drainPace
	case fleet.SyncNode:
		if at.Answered {
			return time.Minute
		}
	case fleet.RefreshToken:
		if at.Answered {
			return AttemptsLast
		}
	}
	return 5 * time.Second
}

// drainPace is the time between two evictions on one Node.
const drainPace = 20 * time.Second

// operation returns the id of a. It differs for machines that share a name, and for
// fleets that have a cluster of one key.
func (f *facts) operation(a fleet.Action) fleet.OperationID {
	subject := string(f.Desired.Fleet) + "\x00" + a.Subject()
	if a.Provider != "" {
		subject += "\x00" + a.Provider
	}
	switch a.Kind {
	case fleet.DeleteMachine, fleet.SwitchOff, fleet.SwitchOn:
		subject += "\x00" + string(a.ProviderID)
	case fleet.DrainNode, fleet.SyncNode:
		if a.ProviderID != "" {
			subject += "\x00" + string(a.ProviderID)
		}
	case fleet.RotateAuthority:
		subject += "\x00" + string(a.Stage) + "\x00" + a.Wish
	case fleet.ApplyResources, fleet.PruneResources, fleet.InstallRelease, fleet.EnsurePool:
		subject += "\x00" + a.Mark
	case fleet.EnsureControlPlane:
		if a.Mark != "" { // a step of several
			subject += "\x00" + a.Mark
		}
	case fleet.RemoveMember:
		subject += fmt.Sprintf("\x00%x", a.Member)
	}
	return fleet.NewOperationID(f.Desired.Key, fleet.ActionKind(a.Name()), subject)
}

// recent reports whether a was begun less than d ago.
func (f *facts) recent(a fleet.Attempt, d time.Duration) bool { return f.Now.Sub(a.At) < d }

// settleOf is how long the provider of a site may take to show a change.
func (f *facts) settleOf(provider string) time.Duration {
	if d, ok := f.SettleTimes[provider]; ok {
		return d
	}
	return f.Settle
}

// longestSettle is how long a change may take to show wherever it was made.
func (f *facts) longestSettle() time.Duration {
	longest := f.Settle
	for _, s := range f.sites {
		longest = max(longest, s.settle)
	}
	return longest
}

// settled reports whether what another agent began before this one has shown
// by now.
func (f *facts) settled() bool { return f.Now.Sub(f.Since) >= f.longestSettle() }

// unsettled reports whether what another agent began may still surface, and
// says that something waits for it.
func (d *draft) unsettled() bool { return d.settling(d.longestSettle()) }

// unsettledOn is unsettled for what was begun on one site.
func (d *draft) unsettledOn(provider string) bool { return d.settling(d.settleOf(provider)) }

func (d *draft) settling(window time.Duration) bool {
	left := window - d.Now.Sub(d.Since)
	if left <= 0 {
		return false
	}
	d.wait("what an earlier agent began may still surface until the settle window is over")
	d.wake(left)
	return true
}

// request adds a to the plan, unless the same action is open or too recent: then it
// notes that the cluster waits for a.
func (d *draft) request(a fleet.Action) {
	if why := d.tryRequest(a); why != "" {
		d.wait("%s: %s", a, why)
	}
}

// tryRequest is request without a note: it returns why a was not added, or "".
func (d *draft) tryRequest(a fleet.Action) string {
	a.Cluster = d.Desired.Key
	a.Operation = d.operation(a)
	if at, ok := d.attempts[a.Operation]; ok {
		hold := d.repeatAfter(at)
		if d.recent(at, hold) {
			d.wake(hold - d.Now.Sub(at.At))
			if at.Answered {
				return "asked for, waiting for it to show"
			}
			return "got no answer, it may still happen"
		}
	}
	d.out.Actions = append(d.out.Actions, a)
	return ""
}

// nameAt returns the name of machine i of p.
func (f *facts) nameAt(p *fleet.Pool, i int) fleet.MachineName {
	return f.Desired.MachineName(p, i)
}

// newName returns the free name of the lowest index, and gives it away. A Machine that
// stands alone has but one name.
func (d *draft) newName(g *group) fleet.MachineName {
	if g.pool.Kind == fleet.LoneMachine {
		return d.nameAt(g.pool, 0)
	}
	for ; ; d.next[g]++ {
		if name := d.nameAt(g.pool, d.next[g]); !d.taken[name] && !d.given[name] {
			d.given[name] = true
			return name
		}
	}
}

// create adds a machine to g.
func (d *draft) create(g *group, join fleet.Join, domain, reason string) {
	if d.unsettledOn(g.pool.Provider) {
		return
	}
	if why := d.unlistedOn(g.pool.Provider); why != "" {
		d.note("pool %s waits to make a machine: %s", g.name, why)
		return
	}
	if m := d.nameless(g); m != nil {
		d.note("pool %s waits: machine %s, which is held, may have the name that is the next to be given", g.name, m.title())
		return
	}
	name := d.newName(g)
	if g.pool.Kind == fleet.LoneMachine && d.taken[name] {
		d.wait("machine %s waits until nothing is left of the one that had its name", name)
		return
	}
	if d.failedLately(g, name) {
		return
	}
	a := fleet.Action{
		Kind: fleet.CreateMachine, Pool: g.name, Provider: g.pool.Provider, Machine: name,
		Join: join, FailureDomain: domain, Template: g.pool.Template, Reason: reason,
	}
	if join != fleet.JoinWorker {
		a.Remediation = d.out.Remediation
	}
	d.request(a)
}

// deleteOf returns the action that deletes the infrastructure of m.
func deleteOf(m *machine) fleet.Action {
	return fleet.Action{Kind: fleet.DeleteMachine, Pool: m.poolName(), Provider: m.Provider, Machine: m.Name, ProviderID: m.ProviderID}
}
