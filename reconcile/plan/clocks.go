package plan

import (
	"cmp"
	"slices"
	"time"

	"fairlead.dev/fleet"
)

// Clocks that differ replace nothing, but certificates, tokens and logs are wrong
// with them, so they are reported. A machine that is asked for exists a moment
// later, or some minutes where the infrastructure is slow.
const (
	clocksDiffer = time.Minute
	slowestMade  = 30 * time.Minute
)

// there is now by the clock of the API server, to be compared with what it wrote.
func (f *facts) there() time.Time { return f.Now.Add(f.Observed.Workload.Ahead) }

// compareClocks notices an agent with another clock than the one before it, or one whose
// clock was set: what the API server's clock is ahead of it changes then. A clock that
// drifts is remembered again once it surely is, or surely no longer is, as far off as the
// report says: what is remembered stays the same on the border.
func (f *facts) compareClocks() {
	f.clock = f.Memory.Clock
	ahead := f.Observed.Workload.Ahead
	was := f.clock.Ahead
	switch {
	case f.unreachable:
	case (ahead - was).Abs() > clocksDiffer, f.clock.Since.After(f.Now):
		f.clock = fleet.Clock{Ahead: ahead, Since: f.lookEnded()}
	case was.Abs() > clocksDiffer && ahead.Abs() < clocksDiffer/2, was.Abs() <= clocksDiffer && ahead.Abs() > 3*clocksDiffer/2:
		f.clock.Ahead = ahead
	}
}

// from is when a timeout begins that counts from what an agent wrote at that time. By
// another clock than this agent's it begins again: when the clock was noticed to be
// another, or set, and when this agent began where that was ahead. What never was is zero.
func (f *facts) from(at time.Time) time.Time {
	switch {
	case at.IsZero():
		return at
	case at.After(f.Now):
		at = f.Since
	}
	return latest(at, f.clock.Since, f.ClockSet)
}

// madeAt is m.MadeAt for a timeout. Where the clock of the infrastructure is ahead of
// the agent's, only the clocks of agents count.
func (f *facts) madeAt(m *machine) time.Time {
	switch made := m.Origin.Made; {
	case made.IsZero():
		return latest(m.Created, f.clock.Since, f.ClockSet)
	case m.Created.After(f.Now):
		return f.from(made)
	default:
		return latest(m.Created, f.from(made))
	}
}

// clocksCondition tells which clocks differ from those of agents. It is there while
// one does, in words that stay the same.
func (d *draft) clocksCondition(l *ledger) {
	text := ""
	switch ahead := d.clock.Ahead; {
	case ahead > clocksDiffer:
		text = "The clock of the API server is more than a minute ahead of the agent's"
	case ahead < -clocksDiffer:
		text = "The clock of the API server is more than a minute behind the agent's"
	}
	switch late, known := d.madeLate(); {
	case !known:
	case late < -clocksDiffer:
		text = join(text, "The clock of the infrastructure is more than a minute behind the agent's")
	case late > slowestMade:
		text = join(text, "The clock of the infrastructure is more than half an hour ahead of the agent's")
	}
	if text != "" {
		l.set("ClocksAgree", false, "", "ClocksDiffer", text+". Have them synchronised")
	}
}

// madeLate is how long after it was asked for the newest machine was made, by the
// clocks of the agent that did and of the infrastructure.
func (f *facts) madeLate() (late time.Duration, known bool) {
	made := slices.DeleteFunc(slices.Clone(f.machines), func(m *machine) bool { return m.Origin.Made.IsZero() || m.Created.IsZero() })
	if len(made) == 0 {
		return 0, false
	}
	newest := slices.MaxFunc(made, func(a, b *machine) int {
		return cmp.Or(a.Origin.Made.Compare(b.Origin.Made), cmp.Compare(a.ProviderID, b.ProviderID))
	})
	return newest.Created.Sub(newest.Origin.Made), true
}

// join returns the sentences a and b as one text.
func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + ". " + b
}
