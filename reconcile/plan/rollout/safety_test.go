package rollout_test

import (
	"fmt"
	"slices"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan/rollout"
)

// states are those that a worker can be in.
func states() map[string]rollout.Machine {
	return map[string]rollout.Machine{
		"available":          {Current: true, Available: true},
		"waiting":            {Current: true},
		"condemned":          {Current: true, Unhealthy: true, Condemned: true, Broken: true},
		"leaving":            {Current: true, Leaving: true},
		"outdated":           {Available: true},
		"outdated broken":    {Broken: true},
		"outdated condemned": {Unhealthy: true, Condemned: true, Broken: true},
		"outdated unhealthy": {Leaving: true, Unhealthy: true, Broken: true},
	}
}

// pools calls f with every pool of up to three machines in every state, for small numbers
// of everything else.
func pools(f func(p rollout.Pool)) {
	all := states()
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	var machines func(list []string)
	machines = func(list []string) {
		for setting := range 3 * 3 * 3 * 2 * 2 * 2 * 2 * 3 {
			take := func(n int) int { v := setting % n; setting /= n; return v }
			p := rollout.Pool{Replicas: take(3), MaxSurge: take(3), MaxUnavailable: take(3)}
			p.OnDelete, p.NoRoll, p.MaxRemediations = take(2) == 0, take(2) == 0, take(2)*2-1
			p.Pending = take(2)
			p.PendingCurrent = p.Pending
			p.Spare = take(3)
			if p.Inventory = p.Spare > 0; p.Inventory {
				p.Spare--
			}
			for i, state := range list {
				m := all[state]
				m.Name = fleet.MachineName(fmt.Sprint(i))
				p.Machines = append(p.Machines, m)
			}
			f(p)
		}
		if len(list) == 3 {
			return
		}
		for _, name := range names {
			machines(append(slices.Clone(list), name))
		}
	}
	machines(nil)
}

// TestWorkersAreSafe: whatever is there, enough machines stay available, there are never
// too many, what goes goes once, no more is remediated than may be, and what works is not too many
// because of a machine that is not there yet.
func TestWorkersAreSafe(t *testing.T) {
	tried := 0
	pools(func(p rollout.Pool) {
		tried++
		available, total, remediated := 0, len(p.Machines)+p.Pending, 0
		stay, surplus := 0, false // machines that are there and stay; one that works goes as too many
		for _, m := range p.Machines {
			if m.Available {
				available++
			}
			if !m.Leaving {
				stay++
			}
			if m.Leaving && m.Unhealthy && (m.Current || p.OnDelete) {
				remediated++
			}
		}
		least, most := min(available, max(p.Replicas-p.MaxUnavailable, 0)), max(total, p.Replicas)
		if !p.OnDelete && !p.NoRoll {
			most = max(total, p.Replicas+p.MaxSurge)
		}
		if p.Inventory { // no more than there are hosts for, beyond what is missing
			most = max(total, min(most, max(total, p.Replicas)+p.Spare))
		}
		if p.Inventory && p.MaxSurge > 0 && p.MaxUnavailable == 0 && total <= p.Replicas && p.Spare <= p.Replicas-total {
			least = min(available, max(p.Replicas-1, 0)) // one goes first
		}
		gone := make([]bool, len(p.Machines))
		began := false
		for _, s := range rollout.Workers(p) {
			switch s.Kind {
			case rollout.Create, rollout.CreateFor:
				total++
			case rollout.Remediate, rollout.RemoveMore, rollout.Replace, rollout.ReplaceFirst:
				m := p.Machines[s.Machine]
				if m.Leaving || gone[s.Machine] {
					t.Fatalf("%+v: %s goes twice", p, m.Name)
				}
				gone[s.Machine] = true
				if m.Available {
					available--
				}
				if !m.Leaving {
					stay--
				}
				surplus = surplus || s.Kind == rollout.RemoveMore && m.Available
				if s.Kind == rollout.Remediate {
					remediated++
					began = true
				}
				if (s.Kind == rollout.Replace || s.Kind == rollout.ReplaceFirst) && (p.OnDelete || p.NoRoll || m.Current) {
					t.Fatalf("%+v: %s is replaced", p, m.Name)
				}
			}
		}
		if surplus && stay < p.Replicas {
			t.Fatalf("%+v: a machine that works is too many, and %d stay", p, stay)
		}
		if available < least {
			t.Fatalf("%+v: %d stay available, %d must", p, available, least)
		}
		if total > most {
			t.Fatalf("%+v: there are %d, %d may be", p, total, most)
		}
		if began && p.MaxRemediations >= 0 && remediated > p.MaxRemediations {
			t.Fatalf("%+v: %d are remediated", p, remediated)
		}
	})
	if tried < 100_000 {
		t.Errorf("%d pools were tried", tried)
	}
}

// TestWorkersConverge takes the steps again and again: outdated machines are all replaced,
// and as many are there as are asked for, whatever the surge is.
func TestWorkersConverge(t *testing.T) {
	for setting := range 4 * 4 * 3 * 3 * 3 {
		take := func(n int) int { v := setting % n; setting /= n; return v }
		p := rollout.Pool{Replicas: take(4), MaxRemediations: -1}
		old := take(4)
		if p.MaxSurge, p.MaxUnavailable = take(3), take(3); p.MaxSurge+p.MaxUnavailable == 0 {
			continue // refused by Cluster API
		}
		p.Spare = take(3)
		p.Inventory = p.Spare > 0
		p.Spare--
		for i := range old {
			p.Machines = append(p.Machines, rollout.Machine{Name: fleet.MachineName(fmt.Sprint("old", i)), Available: true})
		}
		steps := rollout.Workers(p)
		for round := 0; len(steps) > 0 && round < 50; round++ {
			p.Machines = after(p.Machines, steps, round)
			steps = rollout.Workers(p)
		}
		if len(steps) > 0 || len(p.Machines) != p.Replicas || slices.ContainsFunc(p.Machines, func(m rollout.Machine) bool { return !m.Current }) {
			t.Errorf("%d outdated machines, surge %d, unavailable %d, end as %+v with %v", old, p.MaxSurge, p.MaxUnavailable, p.Machines, steps)
		}
	}
}

// after returns the machines that there are once steps are taken.
func after(machines []rollout.Machine, steps []rollout.Step, round int) []rollout.Machine {
	gone := map[int]bool{}
	var made []rollout.Machine
	for i, s := range steps {
		switch s.Kind {
		case rollout.Create, rollout.CreateFor:
			made = append(made, rollout.Machine{Name: fleet.MachineName(fmt.Sprint("new", round, i)), Current: true, Available: true})
		case rollout.Remediate, rollout.RemoveMore, rollout.Replace, rollout.ReplaceFirst:
			gone[s.Machine] = true
		}
	}
	var out []rollout.Machine
	for i, m := range machines {
		if !gone[i] {
			out = append(out, m)
		}
	}
	return append(out, made...)
}
