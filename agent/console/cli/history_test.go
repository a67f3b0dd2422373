package cli

import (
	"strings"
	"testing"
	"time"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/fleet"
)

// The table of a history has one row for equal actions of a commit, and names each commit
// once.
func TestHistoryIsFolded(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	row := func(commit, what string) event {
		return event{At: at, Commit: commit, By: "Fairlead <f@e>", What: what}
	}
	var out strings.Builder
	err := showHistory(&out, output.FormatTable, fleet.Key{}, []event{
		row("aaaa", "Workers → Provisioned"),
		row("aaaa", "SyncNode md-1: the machine joined"),
		row("aaaa", "SyncNode md-2: the machine joined"),
		row("aaaa", "SyncNode md-3: the machine joined"),
		row("aaaa", "CreateMachine md-4: pool md wants 4 machines, has 3"),
		row("bbbb", "CreateMachine md-3: pool md wants 4 machines, has 3"),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `AT                     COMMIT   BY         WHAT
2026-01-01T00:00:00Z   aaaa     Fairlead   Workers → Provisioned
                                           SyncNode md-1 and 2 more: the machine joined
                                           CreateMachine md-4: pool md wants 4 machines, has 3
2026-01-01T00:00:00Z   bbbb     Fairlead   CreateMachine md-3: pool md wants 4 machines, has 3
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
