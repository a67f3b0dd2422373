package window_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"fairlead.dev/fleet/window"
	"fairlead.dev/test/run/short"
)

// A weekly window with BYSETPOS opens on the days that a walk over whole weeks finds, in each
// week of many years and in zones whose clocks change.
func TestWeeklyAgainstOracle(t *testing.T) {
	names := []string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"}
	sets := [][]int{{0, 2, 4}, {1, 3}, {0, 6}, {4, 5, 6}, {2}, {3, 4, 5, 6}}
	years := short.Number(t, 3, 28)
	for _, zone := range short.Of(t, 2, []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"}) {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, days := range short.Of(t, 3, sets) {
			for _, position := range []int{1, -1} {
				list := ""
				for i, d := range days {
					if i > 0 {
						list += ","
					}
					list += names[d]
				}
				rule := fmt.Sprintf("FREQ=WEEKLY;BYDAY=%s;BYSETPOS=%d;BYHOUR=12", list, position)
				w, err := window.New(window.Rule{RRule: rule, Duration: "2h", Zone: zone})
				if err != nil {
					t.Fatal(err)
				}
				want := slices.Min(days)
				if position < 0 {
					want = slices.Max(days)
				}
				for year := 2026; year < 2026+years; year++ {
					// The days around the turn of a year, and some in the middle of it.
					for _, around := range []time.Time{time.Date(year, 1, 1, 13, 0, 0, 0, loc), time.Date(year, 3, 28, 13, 0, 0, 0, loc)} {
						for day := -9; day <= 9; day++ {
							at := around.AddDate(0, 0, day)
							open, _ := w.At(at)
							if is := (int(at.Weekday())+6)%7 == want; open != is {
								t.Errorf("%s in %s: on %s the window is open: %t, want %t", rule, zone, at.Format("Mon 2006-01-02"), open, is)
							}
						}
					}
				}
			}
		}
	}
}
