// Package window says when the windows of a fleet are open: spans of time that come again
// and again, by a line of cron or an RRULE, in a time zone.
//
// What it guarantees:
//
//   - It is pure: whether a window is open follows from the rule and the time asked about.
//   - A window lasts as long as it says, also where clocks are put forward or back while it is
//     open. One that begins at an hour that is left out begins within an hour of it, and one at
//     an hour that comes twice begins once.
//   - A rule that never comes is refused, and so is what this package does not honour.
//
// Time zones are linked into the program: none of the machine's files is needed.
//
//	w, err := window.New(window.Rule{Cron: "0 22 * * 5,6", Duration: "6h", Zone: "Europe/Berlin"})
//	open, until := w.At(now)
//
// Sources: RFC 5545, 3.3.10 (RRULE); POSIX crontab(5).
package window

import (
	"time"
	_ "time/tzdata" // zones are the same everywhere

	"github.com/teambition/rrule-go"
)

// A Rule is a window as people write it, with Cron or RRule.
type Rule struct {
	Cron     string // minute, hour, day of the month, month, day of the week: when it opens
	RRule    string // the same as the value of an RRULE, with BYHOUR
	Start    string // the first day, "2027-01-04": that an INTERVAL counts from
	Duration string // how long it is open, "6h"
	Zone     string // name in the IANA database; empty: UTC
}

// Bounds of a Rule.
const (
	leastDuration = time.Minute
	mostDuration  = 31 * 24 * time.Hour
	mostADay      = 24 // openings
	years         = 30 // within which the first one comes
)

// A Window is open from time to time. It is safe for concurrent use.
type Window struct {
	rule     Rule            // that it was made from
	rules    []rrule.ROption // of which each says when it opens
	start    time.Time       // first day; zero: it always was
	duration time.Duration
	zone     *time.Location
}

// An Error says which field of a Rule or a freeze is wrong.
type Error struct{ Field, Message, Hint string }

// Error implements error.
func (e *Error) Error() string { return e.Field + ": " + e.Message + " (" + e.Hint + ")" }

// New returns the window of r. The error is an *Error.
func New(r Rule) (*Window, error) {
	w := &Window{rule: r}
	var err error
	if w.zone, err = zone(r.Zone); err != nil {
		return nil, err
	}
	if w.duration, err = duration(r.Duration); err != nil {
		return nil, err
	}
	if r.Start != "" {
		if w.start, err = time.ParseInLocation(time.DateOnly, r.Start, w.zone); err != nil || w.start.Year() < 2000 {
			return nil, &Error{"start", quote(r.Start) + " is not a day since 2000", "write it as 2027-01-04"}
		}
	}
	switch {
	case r.Cron != "" && r.RRule == "":
		w.rules, err = cron(r.Cron)
	case r.Cron == "" && r.RRule != "":
		w.rules, err = recurrence(r.RRule, r.Start != "")
	default:
		err = &Error{"cron", "a window needs either cron or rrule", `for example cron: "0 22 * * 5,6"`}
	}
	if err != nil {
		return nil, err
	}
	return w, w.check(r)
}

// String returns the rule in words: windows with equal words are open at the same times.
func (w *Window) String() string {
	r, zone := w.rule, "UTC"
	if r.Zone != "" {
		zone = r.Zone
	}
	words := "cron " + r.Cron
	if r.RRule != "" {
		words = "rrule " + r.RRule
	}
	if r.Start != "" {
		words += " from " + r.Start
	}
	return words + " for " + r.Duration + " in " + zone
}

// check refuses a window that never opens.
func (w *Window) check(r Rule) error {
	field := "cron"
	if r.RRule != "" {
		field = "rrule"
	}
	from := w.start
	if from.IsZero() {
		from = time.Date(2000, 1, 1, 0, 0, 0, 0, w.zone)
	}
	starts, err := w.starts(from, from.AddDate(years, 0, 0))
	if err != nil {
		return &Error{field, err.Error(), "see RFC 5545, 3.3.10"}
	}
	if _, comes := starts(); !comes {
		return &Error{field, "it never opens: no date matches", "write a rule that matches a date"}
	}
	return nil
}

// At reports whether w is open at t, and until when it stays so. Windows that touch or overlap
// are one.
func (w *Window) At(t time.Time) (open bool, until time.Time) {
	const far = 2 * mostDuration // how far ahead a caller needs to know that it stays open
	from := w.start
	if from.IsZero() {
		before := t.Add(-w.duration).In(w.zone)
		from = time.Date(before.Year(), 1, 1, 0, 0, 0, 0, w.zone)
	}
	next, err := w.starts(from, time.Time{})
	if err != nil { // New refused it
		return false, time.Time{}
	}
	var closes time.Time
	for s, more := next(); more; s, more = next() {
		switch isOpen := closes.After(t); {
		case s.After(t) && !isOpen:
			return false, s
		case s.After(closes) && isOpen, closes.Sub(t) > far:
			return true, closes
		}
		if end := s.Add(w.duration); end.After(closes) {
			closes = end
		}
	}
	return closes.After(t), closes
}

// starts returns when w opens from the day from on, in order, one with each call; zero until:
// permanently.
func (w *Window) starts(from, until time.Time) (func() (time.Time, bool), error) {
	var iterators []func() (time.Time, bool)
	for _, o := range w.rules {
		o.Dtstart, o.Until = w.firstDay(o, from), onTheWall(until)
		r, err := rrule.NewRRule(o)
		if err != nil {
			return nil, err
		}
		next := r.Iterator()
		iterators = append(iterators, func() (time.Time, bool) {
			wall, more := next()
			if !more {
				return time.Time{}, false
			}
			return inZone(wall, w.zone), true
		})
	}
	return merged(iterators), nil
}

// firstDay returns the day that o counts from, on the wall. A weekly rule without a start counts
// from the Monday of that week: in a week that is cut off, BYSETPOS counts only the days that are left.
func (w *Window) firstDay(o rrule.ROption, from time.Time) time.Time {
	day := onTheWall(from)
	if o.Freq != rrule.WEEKLY || !w.start.IsZero() {
		return day
	}
	return day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
}

// onTheWall returns the wall-clock time at t as a time in UTC, so that recurrence rules never see
// a change of clocks: a day without midnight would not count.
func onTheWall(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), 0, 0, time.UTC)
}

// inZone is the inverse of onTheWall: when a clock in zone first shows what wall says, or would
// where it is put forward over that.
func inZone(wall time.Time, zone *time.Location) time.Time {
	t := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), 0, 0, zone)
	for _, back := range []time.Duration{time.Hour, 30 * time.Minute} { // how far clocks are put
		if first := t.Add(-back); onTheWall(first).Equal(onTheWall(t)) {
			return first
		}
	}
	return t
}

// merged returns what all iterators return, in order.
func merged(iterators []func() (time.Time, bool)) func() (time.Time, bool) {
	heads := make([]time.Time, len(iterators)) // zero: it is over
	for i, next := range iterators {
		heads[i], _ = next()
	}
	return func() (time.Time, bool) {
		first := -1
		for i, h := range heads {
			if !h.IsZero() && (first < 0 || h.Before(heads[first])) {
				first = i
			}
		}
		if first < 0 {
			return time.Time{}, false
		}
		out := heads[first]
		if n, more := iterators[first](); more {
			heads[first] = n
		} else {
			heads[first] = time.Time{}
		}
		return out, true
	}
}

// Longest returns for how long w is open at most without a break, up to a bound of two months.
func (w *Window) Longest() time.Duration {
	const bound = 2 * mostDuration
	from := w.start
	if from.IsZero() {
		from = time.Date(2024, 1, 1, 0, 0, 0, 0, w.zone)
	}
	next, err := w.starts(from, from.AddDate(5, 0, 0)) // with a leap year
	if err != nil {
		return 0 // New refused it
	}
	longest := w.duration
	var opened, closes time.Time
	for at, more := next(); more && longest < bound; at, more = next() {
		if at.After(closes) {
			opened = at
		}
		closes = at.Add(w.duration)
		longest = max(longest, closes.Sub(opened))
	}
	return min(longest, bound)
}
