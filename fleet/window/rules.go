package window

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/teambition/rrule-go"
)

func quote(s string) string { return strconv.Quote(s) }

// zone returns the time zone called name; empty: UTC.
func zone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	at, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, &Error{"timeZone", quote(name) + " is no time zone", "use a name of the IANA database, such as Europe/Berlin"}
	}
	return at, nil
}

// duration returns how long a window is open.
func duration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, &Error{"duration", "invalid duration " + quote(text), "write it as 6h or 90m"}
	case d < leastDuration || d > mostDuration:
		return 0, &Error{"duration", text + " is not from a minute to 31 days", "remove a window that is always open"}
	}
	return d, nil
}

// A cronField is one of five, with the names that may stand for its numbers.
type cronField struct {
	name        string
	least, most int
	names       []string // of least and those after it
}

func cronFields() []cronField {
	return []cronField{
		{"the minute", 0, 59, nil},
		{"the hour", 0, 23, nil},
		{"the day of the month", 1, 31, nil},
		{"the month", 1, 12, strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")},
		{"the day of the week", 0, 7, strings.Fields("sun mon tue wed thu fri sat")},
	}
}

// cron returns the rules of a line of cron. Where both kinds of days are given, each is a rule:
// it opens on days that are one or the other.
func cron(line string) ([]rrule.ROption, error) {
	parts := strings.Fields(line)
	if len(parts) != 5 {
		return nil, &Error{"cron", fmt.Sprintf("%q has %d parts and not five", line, len(parts)), "minute, hour, day of the month, month, day of the week: 0 22 * * 5,6"}
	}
	values := make([][]int, 5)
	for i, f := range cronFields() {
		var err error
		if values[i], err = f.values(parts[i]); err != nil {
			return nil, err
		}
	}
	if n := len(values[0]) * len(values[1]); n > mostADay {
		return nil, &Error{"cron", fmt.Sprintf("it opens %d times a day, and may %d times", n, mostADay), "write the opening time, and its length as duration"}
	}
	base := rrule.ROption{Freq: rrule.DAILY, Byminute: values[0], Byhour: values[1], Bysecond: []int{0}}
	if parts[3] != "*" {
		base.Bymonth = values[3]
	}
	onDays, onWeekdays := base, base
	onDays.Bymonthday = values[2]
	days := []rrule.Weekday{rrule.SU, rrule.MO, rrule.TU, rrule.WE, rrule.TH, rrule.FR, rrule.SA}
	for _, d := range values[4] {
		onWeekdays.Byweekday = append(onWeekdays.Byweekday, days[d%7])
	}
	switch anyDay, anyWeekday := strings.HasPrefix(parts[2], "*"), strings.HasPrefix(parts[4], "*"); {
	case anyDay && anyWeekday: // as "*/2" says it: what both say
		onDays.Byweekday = onWeekdays.Byweekday
		return []rrule.ROption{onDays}, nil
	case anyWeekday:
		return []rrule.ROption{onDays}, nil
	case anyDay:
		onWeekdays.Bymonthday = onDays.Bymonthday
		return []rrule.ROption{onWeekdays}, nil
	}
	return []rrule.ROption{onDays, onWeekdays}, nil
}

// values returns the numbers that text stands for, sorted: "1,3", "mon-fri", "*/2", "10-20/5".
func (f cronField) values(text string) ([]int, error) {
	var out []int
	for _, part := range strings.Split(text, ",") {
		span, step, stepped := strings.Cut(part, "/")
		every := 1
		if stepped {
			n, err := strconv.Atoi(step)
			if err != nil || n < 1 || n > f.most {
				return nil, f.wrong(part)
			}
			every = n
		}
		low, high := f.least, f.most
		if span != "*" {
			from, to, isSpan := strings.Cut(span, "-")
			var ok, alsoOK bool
			if low, ok = f.number(from); !ok {
				return nil, f.wrong(part)
			}
			high, alsoOK = low, true
			if isSpan {
				high, alsoOK = f.number(to)
			} else if stepped {
				high = f.most
			}
			if !alsoOK || high < low {
				return nil, f.wrong(part)
			}
		}
		for n := low; n <= high; n += every {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// number returns what a number or a name stands for.
func (f cronField) number(text string) (int, bool) {
	if i := slices.Index(f.names, strings.ToLower(text)); i >= 0 {
		return f.least + i, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= f.least && n <= f.most && text[0] != '+'
}

func (f cronField) wrong(text string) error {
	return &Error{"cron", fmt.Sprintf("%q is invalid for %s", text, f.name), fmt.Sprintf("write numbers from %d to %d, such as 1,3 or 1-5 or */2; for the last Friday of a month and the like use rrule", f.least, f.most)}
}

// recurrence returns the rule of an RRULE. Without a first day it has to say by itself on
// which days it comes.
func recurrence(text string, anchored bool) ([]rrule.ROption, error) {
	wrong := func(message, hint string) ([]rrule.ROption, error) {
		return nil, &Error{"rrule", message, hint}
	}
	if strings.ContainsAny(text, "\r\n:") {
		return wrong("it is more than the value of an RRULE", "write FREQ=MONTHLY;BYDAY=1SA;BYHOUR=22, and the first day as start")
	}
	o, err := rrule.StrToROption(strings.ToUpper(text))
	if err != nil {
		return wrong(quote(text)+" is not understood: "+err.Error(), "for example FREQ=MONTHLY;BYDAY=1SA;BYHOUR=22")
	}
	switch {
	case o.Freq > rrule.DAILY:
		return wrong("it comes more often than daily", "use FREQ=DAILY with several hours in BYHOUR")
	case o.Count != 0 || !o.Until.IsZero():
		return wrong("COUNT and UNTIL are not honoured: a window that ends would one day never open again", "leave them out, and remove the window once it is over")
	case len(o.Byhour) == 0:
		return wrong("it does not say at which hour it opens", "add BYHOUR, such as BYHOUR=22")
	case len(o.Bysecond) > 0:
		return wrong("BYSECOND is not honoured", "leave it out: windows open on the minute")
	case len(o.Byhour)*max(1, len(o.Byminute)) > mostADay:
		return wrong(fmt.Sprintf("it opens more than %d times a day", mostADay), "write the opening time, and its length as duration")
	case !anchored && o.Interval > 1:
		return wrong("INTERVAL counts from a day that is not given", "add start: 2027-01-04")
	case !anchored && !saysDays(o):
		return wrong("it does not say on which days it comes", "add BYDAY or BYMONTHDAY (and BYMONTH where it is YEARLY), or the first day as start: 2027-01-04")
	}
	if len(o.Byminute) == 0 {
		o.Byminute = []int{0}
	}
	o.Bysecond = []int{0}
	return []rrule.ROption{*o}, nil
}

// saysDays reports whether the days of o follow from it alone.
func saysDays(o *rrule.ROption) bool {
	days := len(o.Byweekday)+len(o.Bymonthday)+len(o.Byyearday)+len(o.Byeaster) > 0
	switch o.Freq {
	case rrule.DAILY:
		return true
	case rrule.WEEKLY, rrule.MONTHLY:
		return days
	}
	return days && (len(o.Bymonth) > 0 || len(o.Byyearday)+len(o.Byeaster)+len(o.Byweekno) > 0)
}

// A Freeze is a span of time, with its end left out.
type Freeze struct{ From, Until time.Time }

// NewFreeze returns the freeze from one day to another, both whole, or from one time to another
// in RFC 3339. The error is an *Error.
func NewFreeze(from, until, zoneName string) (Freeze, error) {
	at, err := zone(zoneName)
	if err != nil {
		return Freeze{}, err
	}
	var f Freeze
	if f.From, _, err = moment("from", from, at); err != nil {
		return Freeze{}, err
	}
	last, day, err := moment("until", until, at)
	if err != nil {
		return Freeze{}, err
	}
	if f.Until = last; day {
		f.Until = last.AddDate(0, 0, 1)
	}
	if !f.From.Before(f.Until) {
		return Freeze{}, &Error{"until", until + " is not after from", "a freeze includes its last day: for one day, from and until are equal"}
	}
	return f, nil
}

// moment reads a day or a time, and says which it is.
func moment(field, text string, zone *time.Location) (at time.Time, day bool, err error) {
	if at, err = time.ParseInLocation(time.DateOnly, text, zone); err == nil {
		return at, true, nil
	}
	if at, err = time.Parse(time.RFC3339, text); err == nil {
		return at, false, nil
	}
	return at, false, &Error{field, quote(text) + " is neither a day nor a time", "write 2027-11-25, or 2027-11-25T18:00:00+01:00"}
}

// At reports whether the freeze holds at t, and until when.
func (f Freeze) At(t time.Time) (frozen bool, until time.Time) {
	switch {
	case t.Before(f.From):
		return false, f.From
	case t.Before(f.Until):
		return true, f.Until
	}
	return false, time.Time{}
}
