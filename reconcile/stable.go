package reconcile

import (
	"slices"

	"fairlead.dev/fleet"
)

// stabilise has o tell what others said in texts that are the same each time that
// the same is so: reports are made of them, whichever provider they come from.
// What providers may still hold is copied before it is changed.
func stabilise(o *fleet.Observed) {
	o.Silence = fleet.StableText(o.Silence)
	o.Guests = slices.Clone(o.Guests)
	for i := range o.Guests {
		g := &o.Guests[i]
		g.Silence, g.Infrastructure.Message = fleet.StableText(g.Silence), fleet.StableText(g.Infrastructure.Message)
	}
	o.Infrastructure.Message = fleet.StableText(o.Infrastructure.Message)
	o.Infrastructure.Machines = slices.Clone(o.Infrastructure.Machines)
	for i := range o.Infrastructure.Machines {
		m := &o.Infrastructure.Machines[i]
		m.Message = fleet.StableText(m.Message)
	}
	o.Infrastructure.Pools = slices.Clone(o.Infrastructure.Pools)
	for i := range o.Infrastructure.Pools {
		p := &o.Infrastructure.Pools[i]
		p.Message = fleet.StableText(p.Message)
	}
	o.Infrastructure.Hosts = slices.Clone(o.Infrastructure.Hosts)
	for i := range o.Infrastructure.Hosts {
		h := &o.Infrastructure.Hosts[i]
		h.Trouble, h.Held, h.Waits = fleet.StableText(h.Trouble), fleet.StableText(h.Held), fleet.StableText(h.Waits)
		h.Next.Why = fleet.StableText(h.Next.Why)
	}
	w := &o.Workload
	w.Message = fleet.StableText(w.Message)
	w.ReleaseTries = slices.Clone(w.ReleaseTries)
	for i := range w.ReleaseTries {
		w.ReleaseTries[i].Message = fleet.StableText(w.ReleaseTries[i].Message)
	}
	w.ResourceSets = slices.Clone(w.ResourceSets)
	for i := range w.ResourceSets {
		s := &w.ResourceSets[i]
		s.Failures = slices.Clone(s.Failures)
		for j := range s.Failures {
			s.Failures[j].Message = fleet.StableText(s.Failures[j].Message)
		}
	}
}
