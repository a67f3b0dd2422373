package window_test

import (
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet/window"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestAt(t *testing.T) {
	berlin := func(cron, long string) window.Rule {
		return window.Rule{Cron: cron, Duration: long, Zone: "Europe/Berlin"}
	}
	cases := map[string]struct {
		reason string
		rule   window.Rule
		at     string
		open   bool
		until  string
	}{
		"closed":      {"before the evening of Friday", berlin("0 22 * * 5,6", "6h"), "2026-11-27T20:59:00Z", false, "2026-11-27T21:00:00Z"},
		"opens":       {"from the minute on", berlin("0 22 * * 5,6", "6h"), "2026-11-27T21:00:00Z", true, "2026-11-28T03:00:00Z"},
		"open":        {"also on the next day", berlin("0 22 * * 5,6", "6h"), "2026-11-28T02:59:59Z", true, "2026-11-28T03:00:00Z"},
		"closes":      {"the end is not within", berlin("0 22 * * 5,6", "6h"), "2026-11-28T03:00:00Z", false, "2026-11-28T21:00:00Z"},
		"over a year": {"the one that began last year", berlin("0 22 31 12 *", "6h"), "2027-01-01T01:00:00Z", true, "2027-01-01T03:00:00Z"},
		"gap":         {"02:30 is left out in spring: the window comes all the same", berlin("30 2 * * *", "1h"), "2027-03-28T00:00:00Z", false, "2027-03-28T01:30:00Z"},
		"gap open":    {"and lasts as long as it says", berlin("30 2 * * *", "1h"), "2027-03-28T02:00:00Z", true, "2027-03-28T02:30:00Z"},
		"twice":       {"02:30 comes twice in autumn: it opens with the first", berlin("30 2 * * *", "1h"), "2026-10-25T00:30:00Z", true, "2026-10-25T01:30:00Z"},
		"once":        {"and not with the second", berlin("30 2 * * *", "1h"), "2026-10-25T01:30:00Z", false, "2026-10-26T01:30:00Z"},
		"midnight gap": {
			"midnight is left out in Santiago: no day is",
			window.Rule{Cron: "0 0 * * *", Duration: "2h", Zone: "America/Santiago"},
			"2026-09-06T02:59:00Z", false, "2026-09-06T03:00:00Z",
		},
		"over the gap": {"a window that is open over it lasts six hours", berlin("0 22 * * 6", "6h"), "2027-03-28T02:59:00Z", true, "2027-03-28T03:00:00Z"},
		"touching":     {"windows that touch are one", window.Rule{Cron: "0 0,1,2 * * *", Duration: "1h"}, "2026-11-25T00:30:00Z", true, "2026-11-25T03:00:00Z"},
		"both days":    {"the 1st, or a Sunday", window.Rule{Cron: "0 3 1 * 0", Duration: "1h"}, "2026-11-25T00:00:00Z", false, "2026-11-29T03:00:00Z"},
		"both days 2":  {"the 1st, or a Sunday", window.Rule{Cron: "0 3 1 * 0", Duration: "1h"}, "2026-11-29T05:00:00Z", false, "2026-12-01T03:00:00Z"},
		"names":        {"as cron has them", window.Rule{Cron: "0 3 * feb mon-wed", Duration: "1h"}, "2026-11-25T00:00:00Z", false, "2027-02-01T03:00:00Z"},
		"sunday":       {"7 is Sunday too", window.Rule{Cron: "0 3 * * 7", Duration: "1h"}, "2026-11-25T00:00:00Z", false, "2026-11-29T03:00:00Z"},
		"leap":         {"once in four years", window.Rule{Cron: "0 3 29 2 *", Duration: "1h"}, "2026-11-25T00:00:00Z", false, "2028-02-29T03:00:00Z"},
		"rrule":        {"the last Friday", window.Rule{RRule: "FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=22", Duration: "4h"}, "2026-11-25T00:00:00Z", false, "2026-11-27T22:00:00Z"},
		"interval": {
			"every other Monday from the first",
			window.Rule{RRule: "FREQ=WEEKLY;INTERVAL=2;BYHOUR=22;BYMINUTE=30", Start: "2026-11-16", Duration: "4h"},
			"2026-11-25T00:00:00Z", false, "2026-11-30T22:30:00Z",
		},
		"start": {"not before its first day", window.Rule{Cron: "0 3 * * *", Start: "2027-05-01", Duration: "1h"}, "2026-11-25T00:00:00Z", false, "2027-05-01T03:00:00Z"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w, err := window.New(c.rule)
			if err != nil {
				t.Fatal(err)
			}
			open, until := w.At(at(t, c.at))
			if open != c.open || !until.Equal(at(t, c.until)) {
				t.Errorf("%s: open %v until %s, want %v until %s", c.reason, open, until.UTC().Format(time.RFC3339), c.open, c.until)
			}
		})
	}
}

func TestAlwaysOpen(t *testing.T) {
	w, err := window.New(window.Rule{Cron: "0 0 * * *", Duration: "24h"})
	if err != nil {
		t.Fatal(err)
	}
	now := at(t, "2026-11-25T12:00:00Z")
	if open, until := w.At(now); !open || until.Sub(now) < 24*time.Hour {
		t.Errorf("open %v until %s", open, until)
	}
}

func TestRefused(t *testing.T) {
	rule := func(cron string) window.Rule { return window.Rule{Cron: cron, Duration: "1h"} }
	rrule := func(text string) window.Rule { return window.Rule{RRule: text, Duration: "1h"} }
	cases := map[string]struct {
		rule window.Rule
		want string
	}{
		"neither":      {window.Rule{Duration: "1h"}, "cron: a window needs either cron or rrule"},
		"both":         {window.Rule{Cron: "0 0 * * *", RRule: "FREQ=DAILY;BYHOUR=1", Duration: "1h"}, "cron: a window needs either cron or rrule"},
		"zone":         {window.Rule{Cron: "0 0 * * *", Duration: "1h", Zone: "Berlin"}, `timeZone: "Berlin" is no time zone`},
		"local":        {window.Rule{Cron: "0 0 * * *", Duration: "1h", Zone: "Local"}, `timeZone: "Local" is no time zone`},
		"no duration":  {window.Rule{Cron: "0 0 * * *"}, `duration: invalid duration ""`},
		"short":        {window.Rule{Cron: "0 0 * * *", Duration: "1s"}, "duration: 1s is not from a minute to 31 days"},
		"parts":        {rule("0 0 * *"), `cron: "0 0 * *" has 4 parts and not five`},
		"minute":       {rule("60 0 * * *"), `cron: "60" is invalid for the minute`},
		"backwards":    {rule("0 5-3 * * *"), `cron: "5-3" is invalid for the hour`},
		"last":         {rule("0 0 L * *"), `cron: "L" is invalid for the day of the month`},
		"step":         {rule("0 */0 * * *"), `cron: "*/0" is invalid for the hour`},
		"often":        {rule("* * * * *"), "cron: it opens 1440 times a day"},
		"never":        {rule("0 0 31 2 *"), "cron: it never opens: no date matches"},
		"never, rrule": {rrule("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30;BYHOUR=1"), "rrule: it never opens"},
		"hourly":       {rrule("FREQ=HOURLY;BYHOUR=1"), "rrule: it comes more often than daily"},
		"count":        {rrule("FREQ=DAILY;BYHOUR=1;COUNT=3"), "rrule: COUNT and UNTIL are not honoured"},
		"until":        {rrule("FREQ=DAILY;BYHOUR=1;UNTIL=20270101T000000Z"), "rrule: COUNT and UNTIL are not honoured"},
		"no hour":      {rrule("FREQ=DAILY"), "rrule: it does not say at which hour"},
		"interval":     {rrule("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO;BYHOUR=1"), "rrule: INTERVAL counts from a day that is not given"},
		"no day":       {rrule("FREQ=WEEKLY;BYHOUR=1"), "rrule: it does not say on which days"},
		"unknown":      {rrule("FREQ=DAILY;BYHOUR=1;BYMOON=1"), "rrule: "},
		"hour":         {rrule("FREQ=DAILY;BYHOUR=25"), "rrule: "},
		"lines":        {rrule("DTSTART:20200101T000000Z\nRRULE:FREQ=DAILY;BYHOUR=1"), "rrule: it is more than the value of an RRULE"},
		"start":        {window.Rule{Cron: "0 0 * * *", Start: "tomorrow", Duration: "1h"}, `start: "tomorrow" is not a day`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := window.New(c.rule)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v, want %s…", err, c.want)
			}
		})
	}
}

func TestFreeze(t *testing.T) {
	f, err := window.NewFreeze("2027-11-25", "2027-11-30", "Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"2027-11-24T22:59:59Z": false, "2027-11-24T23:00:00Z": true,
		"2027-11-30T22:59:59Z": true, "2027-11-30T23:00:00Z": false, // the last day is frozen too
	} {
		if frozen, _ := f.At(at(t, text)); frozen != want {
			t.Errorf("at %s: %v", text, frozen)
		}
	}
	for name, c := range map[string][3]string{
		"from: \"x\" is neither a day nor a time":     {"x", "2027-11-30", ""},
		"until: \"\" is neither a day nor a time":     {"2027-11-30", "", ""},
		"until: 2027-11-29 is not after from":         {"2027-11-30", "2027-11-29", ""},
		"timeZone: \"Mars/Phobos\" is no time zone":   {"2027-11-29", "2027-11-30", "Mars/Phobos"},
		"until: 2027-11-29T00:00:00Z is not after fr": {"2027-11-29T00:00:00Z", "2027-11-29T00:00:00Z", ""},
	} {
		if _, err := window.NewFreeze(c[0], c[1], c[2]); err == nil || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("got %v, want %s…", err, name)
		}
	}
}

// TestLongest: spans that touch or overlap are one, as At has them.
func TestLongest(t *testing.T) {
	for name, c := range map[string]struct {
		rule window.Rule
		want time.Duration
	}{
		"nights":             {window.Rule{Cron: "0 22 * * *", Duration: "6h"}, 6 * time.Hour},
		"two that touch":     {window.Rule{Cron: "0 20,22 * * *", Duration: "2h"}, 4 * time.Hour},
		"two that overlap":   {window.Rule{Cron: "0 20,21 * * *", Duration: "2h"}, 3 * time.Hour},
		"a weekend":          {window.Rule{Cron: "0 0 * * 6,0", Duration: "24h"}, 48 * time.Hour},
		"at the leap day":    {window.Rule{Cron: "0 0 28,29 2 *", Duration: "24h"}, 48 * time.Hour},
		"always":             {window.Rule{Cron: "0 0 * * *", Duration: "24h"}, 62 * 24 * time.Hour},
		"every second week":  {window.Rule{RRule: "FREQ=WEEKLY;INTERVAL=2;BYHOUR=22", Start: "2027-01-04", Duration: "3h"}, 3 * time.Hour},
		"in another zone":    {window.Rule{Cron: "0 22 * * *", Duration: "90m", Zone: "Europe/Berlin"}, 90 * time.Minute},
		"over a short night": {window.Rule{Cron: "0 0,3 * * *", Duration: "3h", Zone: "Europe/Berlin"}, 6 * time.Hour},
	} {
		w, err := window.New(c.rule)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Longest(); got != c.want {
			t.Errorf("%s: open for %s, want %s", name, got, c.want)
		}
	}
}
