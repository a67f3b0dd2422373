package plan

import (
	"cmp"
	"slices"
	"time"

	"fairlead.dev/fleet"
)

// Clocks that differ replace nothing, but certificates, tokens and logs are wrong
// with them, so that they are told of. A machine that is asked for exists a moment
// later, or some minutes where the infrastructure is slow.
const (
	clocksDiffer = time.Minute
	slowestMade  = 30 * time.Minute
)

// there is now by the clock of the API server, to be compared with what it wrote.
func (v *view) there() time.Time { return v.Now.Add(v.Observed.Workload.Ahead) }

// compareClocks notices an agent with another clock than the one before it, or one whose
// clock was set: what the API server's clock is ahead of it changes then. A clock that
// drifts is remembered anew once it surely is, or surely is no more, as far off as people
// are told of: what is remembered stays the same on the border.
func (v *view) compareClocks() {
	v.out.Clock = v.Memory.Clock
	ahead := v.Observed.Workload.Ahead
	was := v.out.Clock.Ahead
	switch {
	case v.blind:
	case (ahead - was).Abs() > clocksDiffer, v.out.Clock.Since.After(v.Now):
		v.out.Clock = fleet.Clock{Ahead: ahead, Since: v.stamp()}
	case was.Abs() > clocksDiffer && ahead.Abs() < clocksDiffer/2, was.Abs() <= clocksDiffer && ahead.Abs() > 3*clocksDiffer/2:
		v.out.Clock.Ahead = ahead
	}
}

// from is when a timeout begins that counts from what an agent wrote at that time. By
// another clock than this agent's it begins anew: when the clock was noticed to be
// another, or set, and when this agent began where that was ahead. What never was is zero.
func (v *view) from(at time.Time) time.Time {
	switch {
	case at.IsZero():
		return at
	case at.After(v.Now):
		at = v.Since
	}
	return latest(at, v.out.Clock.Since, v.ClockSet)
}

// madeAt is m.MadeAt for a timeout. Where the clock of the infrastructure is ahead of
// the agent's, it goes by that of agents alone.
func (v *view) madeAt(m *machine) time.Time {
	switch made := m.Origin.Made; {
	case made.IsZero():
		return latest(m.Created, v.out.Clock.Since, v.ClockSet)
	case m.Created.After(v.Now):
		return v.from(made)
	default:
		return latest(m.Created, v.from(made))
	}
}

// clocksCondition tells which clocks differ from those of agents. It is there while
// one does, in words that stay the same.
func (v *view) clocksCondition(l *ledger) {
	text := ""
	switch ahead := v.out.Clock.Ahead; {
	case ahead > clocksDiffer:
		text = "The clock of the API server is more than a minute ahead of the agent's"
	case ahead < -clocksDiffer:
		text = "The clock of the API server is more than a minute behind the agent's"
	}
	switch late, known := v.madeLate(); {
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
func (v *view) madeLate() (late time.Duration, known bool) {
	made := slices.DeleteFunc(slices.Clone(v.machines), func(m *machine) bool { return m.Origin.Made.IsZero() || m.Created.IsZero() })
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
