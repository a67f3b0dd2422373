package plan

import (
	"slices"

	"fairlead.dev/fleet"
)

// A draft is the plan that grows from facts.
type draft struct {
	*facts
	remarks
	out Plan

	going      map[*machine]bool    // whose removal begins with this plan, and which is not available from now on
	stays      map[*machine]*defect // which are unhealthy, and why the attempts at them go no further
	unbegun    map[*machine]bool    // whose reboot waits
	drained    map[string]bool      // Nodes that this plan drains
	given      map[fleet.MachineName]bool
	askedAgain map[*group]bool // for which a machine that could not be made is asked for again
	next       map[*group]int  // the lowest index whose name may be free
	drains     int             // Nodes that are being drained, or will be by this plan
	external   bool            // a deletion waits for what controllers of the cluster keep outside of it
}

// newDraft returns a plan for f that does nothing.
func newDraft(f *facts) *draft {
	d := &draft{
		facts: f, remarks: f.remarks.clone(),
		going: map[*machine]bool{}, stays: map[*machine]*defect{}, unbegun: map[*machine]bool{}, drained: map[string]bool{}, given: map[fleet.MachineName]bool{}, next: map[*group]int{}, askedAgain: map[*group]bool{},
	}
	d.drains = f.countDrains()
	d.out.Clock, d.out.ObservedConditions, d.out.Residence, d.out.Removals = f.clock, f.conditions, f.residence, f.removals
	return d
}

// conclude has the facts say what follows from the plan at once: which machines are on
// their way out, and why others stay. It is for what is reported.
func (d *draft) conclude() {
	out := *d.facts
	out.residence = d.out.Residence
	if len(d.going)+len(d.stays) > 0 {
		out.machines = make([]*machine, len(d.machines))
		now := make(map[*machine]*machine, len(d.machines))
		for i, m := range d.machines {
			c := *m
			c.leaving, c.available = m.leaving || d.going[m], m.available && !d.going[m]
			if why := d.stays[m]; why != nil {
				c.stays = why
			}
			out.machines[i], now[m] = &c, &c
		}
		out.groups = make([]*group, len(d.groups))
		for i, g := range d.groups {
			c := *g
			for _, list := range []*[]*machine{&c.all, &c.fresh, &c.old, &c.leaving, &c.held} {
				*list = replaced(*list, now)
			}
			out.groups[i] = &c
		}
		out.held = replaced(d.held, now)
	}
	d.facts = &out
}

func replaced(list []*machine, by map[*machine]*machine) []*machine {
	out := slices.Clone(list)
	for i, m := range out {
		out[i] = by[m]
	}
	return out
}

// finish returns the plan.
func (d *draft) finish() Plan {
	d.out.Desired = d.Desired.WithReboots(d.out.Reboots)
	if d.out.Phase == fleet.PhaseDeleted {
		d.out.Residence = fleet.Residence{}
	}
	if d.paused() {
		d.out.Actions, d.out.NeedEtcd, d.after = nil, false, 0
		d.remarks.waits, d.remarks.notes = nil, map[string]bool{d.whyPaused(): true}
		if d.suspended() && !d.Desired.Suspension.Until.IsZero() {
			d.wake(d.Desired.Suspension.Until.Sub(d.Now))
		}
	}
	d.out.Waiting, d.out.Notes, d.out.After = sorted(d.waits), sorted(d.notes), d.after
	return d.out
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
