// Package life keeps one cluster on a provider as the agent does, in the time of a testing/synctest bubble, for
// suites in which a program dies at any call.
package life

import (
	"maps"
	"slices"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// A Life is that of one cluster. It looks, does what may be done now, and looks again. What it remembers dies with
// its program.
type Life struct {
	testing.TB
	Provider providers.Infrastructure
	Cluster  fleet.Cluster
	Start    func()      // begins a new program, and sets Provider
	Dead     func() bool // reports whether the program died
	Look     func()      // looks at what is true with each pass; nil: nothing does

	Errors  []error // that calls returned
	Trouble bool    // something went wrong that was meant to

	since time.Time                       // when the program began
	open  map[fleet.MachineName]time.Time // when a machine was asked for
}

// Begin begins a program.
func (l *Life) Begin() {
	l.Start()
	l.since, l.open = time.Now(), make(map[fleet.MachineName]time.Time)
}

// Wanted returns the machines that are to be there, by name.
func (l *Life) Wanted() map[fleet.MachineName]fleet.Pool {
	out := make(map[fleet.MachineName]fleet.Pool)
	if l.Cluster.Delete {
		return out
	}
	for _, pool := range l.Cluster.Pools() {
		for i := range pool.Replicas {
			out[fleet.NewMachineName(l.Cluster.Key, pool.Name, pool.Template, i)] = pool
		}
	}
	return out
}

func (l *Life) failed(err error) {
	if err != nil {
		l.Errors = append(l.Errors, err)
	}
}

// Pass looks once and acts. It reports whether nothing is left to do.
func (l *Life) Pass() bool {
	l.Helper()
	c := &l.Cluster
	got, err := l.Provider.Observe(l.Context(), c)
	if err != nil {
		l.failed(err)
		return false
	}
	if l.Look != nil {
		l.Look()
	}
	wanted := l.Wanted()
	calm := l.removeMachines(got.Machines, wanted)
	for name := range wanted {
		calm = calm && slices.ContainsFunc(got.Machines, func(m fleet.Machine) bool { return m.Name == name && m.State == fleet.MachineRunning })
	}
	switch {
	case c.Delete && len(got.Machines) == 0 && !l.awaiting():
		if !got.Exists {
			return true
		}
		l.failed(l.Provider.DeleteInfrastructure(l.Context(), "op", c))
		return false
	case c.Delete:
		return false
	case !got.Ready || len(got.Drift) > 0:
		l.failed(l.Provider.EnsureInfrastructure(l.Context(), "op", c))
		calm = false
	}
	if got.Ready {
		l.createMachines(got.Machines, wanted)
	}
	return calm
}

// awaiting reports whether a machine that was asked for may still show.
func (l *Life) awaiting() bool {
	maps.DeleteFunc(l.open, func(_ fleet.MachineName, at time.Time) bool { return time.Since(at) > l.Provider.Settle() })
	return len(l.open) > 0
}

func (l *Life) createMachines(there []fleet.Machine, wanted map[fleet.MachineName]fleet.Pool) {
	l.awaiting()
	if time.Since(l.since) < l.Provider.Settle() {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		at := slices.IndexFunc(there, func(m fleet.Machine) bool { return m.Name == name })
		if at >= 0 && there[at].ProviderID != "" {
			delete(l.open, name)
		}
		if _, open := l.open[name]; open || at >= 0 {
			continue
		}
		err := l.Provider.CreateMachine(l.Context(), fleet.OperationID("op-"+name), providers.MachineRequest{
			Cluster: &l.Cluster, Pool: wanted[name], Name: name,
			UserData: providers.UserData{Format: "cloud-config", Content: fleet.NewSecret([]byte("#cloud-config\n{}\n"))},
		})
		l.failed(err)
		if !fleet.Refused(err) {
			l.open[name] = time.Now()
		}
	}
}

// removeMachines removes those that are not wanted, that failed, and all but the
// first of those that share a name. It reports whether there was none.
func (l *Life) removeMachines(there []fleet.Machine, wanted map[fleet.MachineName]fleet.Pool) bool {
	calm := true
	seen := make(map[fleet.MachineName]bool)
	for _, m := range there {
		_, want := wanted[m.Name]
		if want && !seen[m.Name] && m.State != fleet.MachineFailed && m.State != fleet.MachineDeleting {
			seen[m.Name] = true
			continue
		}
		calm = false
		if m.State != fleet.MachineDeleting {
			l.failed(l.Provider.DeleteMachine(l.Context(), "op", &l.Cluster, m.Name, m.ProviderID))
		}
	}
	return calm
}

// Rest passes until nothing is left to do. A program that died is followed by another.
func (l *Life) Rest() {
	l.Helper()
	for range 200 {
		done := l.Pass()
		if l.Dead() {
			l.Begin()
			l.Trouble = true
			done = false
		}
		// A new program tells what is left over from what is to come by waiting:
		// for what was asked for before it, and for what that may still be made of.
		if done && time.Since(l.since) > 2*l.Provider.Settle()+15*time.Second {
			return
		}
		time.Sleep(15 * time.Second)
	}
	got, err := l.Provider.Observe(l.Context(), &l.Cluster)
	l.Fatalf("%s does not come to rest: %+v, %v; the last errors: %v", l.Cluster.Fleet, got, err, l.Errors[max(0, len(l.Errors)-3):])
}
