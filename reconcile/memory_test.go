package reconcile

import (
	"testing"
	"time"

	"fairlead.dev/fleet"
)

// A clock that is set back, before an action or amid one, leaves what was done in its order, and
// makes nothing older than it is.
func TestAttemptsKeepTheirOrder(t *testing.T) {
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	create := fleet.Action{Kind: fleet.CreateMachine, Machine: "m", Operation: "1"}
	remove := fleet.Action{Kind: fleet.DeleteMachine, Machine: "m", Operation: "2"}
	for name, c := range map[string]struct{ begins, ends time.Duration }{
		"clock not set":    {begins: 2 * time.Minute, ends: 2*time.Minute + time.Second},
		"set back before":  {begins: -2 * time.Minute, ends: -2*time.Minute + time.Second},
		"set back amid":    {begins: 2 * time.Minute, ends: -2 * time.Minute},
		"set back an hour": {begins: time.Second, ends: -time.Hour},
		"ahead for a time": {begins: time.Hour, ends: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory(start)
			m.Begin(create, start)
			m.End(create, nil, start)
			m.Begin(remove, start.Add(c.begins))
			m.End(remove, nil, start.Add(c.ends))
			now := start.Add(c.ends + time.Second)
			got := m.recent(now, 10*time.Minute)
			if len(got) != 2 || got[0].Action.Operation != "1" || got[1].Action.Operation != "2" {
				t.Fatalf("attempts are %v, want the create before the delete", got)
			}
			for _, a := range got {
				if age := now.Sub(a.At); age < time.Second || age > 3*time.Minute {
					t.Errorf("%s is %s old", a.Action, age)
				}
			}
			if at := got[1].At; !at.Equal(start.Add(c.ends)) || !at.After(got[0].At) {
				t.Errorf("%s is of %s, want %s", remove, at, start.Add(c.ends))
			}
		})
	}
}
