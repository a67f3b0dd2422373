package driver_test

import (
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
)

func TestBegin(t *testing.T) {
	var l driver.Locks[string]
	end, err := l.Begin("create machine prod/m-0", "m-0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Begin("delete machine prod/m-0", "m-0"); fleet.KindOf(err) != fleet.Conflict || err.Error() != "cannot delete machine prod/m-0: it is being worked on" {
		t.Errorf("two did something to one machine at one time: %v", err)
	}
	end()
	if _, err := l.Begin("delete machine prod/m-0", "m-0"); err != nil {
		t.Error(err)
	}
}

func TestIsThere(t *testing.T) {
	machine := func(change func(*fleet.Machine)) driver.Seen[string] {
		m := fleet.Machine{Name: "m-0", Template: "1-new", State: fleet.MachineRunning}
		change(&m)
		return driver.Seen[string]{Machine: m, Where: "host prod/n0"}
	}
	other := machine(func(m *fleet.Machine) { m.Name, m.Damaged = "m-1", "it lost its tags" })
	good := machine(func(*fleet.Machine) {})
	for reason, tc := range map[string]struct {
		seen  []driver.Seen[string]
		there bool
		err   string // of kind Conflict
	}{
		"nothing is there":         {nil, false, ""},
		"another machine is there": {[]driver.Seen[string]{other}, false, ""},
		"it is there":              {[]driver.Seen[string]{other, good}, true, ""},
		"it is being made":         {[]driver.Seen[string]{machine(func(m *fleet.Machine) { m.State = fleet.MachinePending })}, true, ""},
		"the last one goes":        {[]driver.Seen[string]{good, machine(func(m *fleet.Machine) { m.State = fleet.MachineDeleting })}, false, "still being deleted"},
		"it is begun":              {[]driver.Seen[string]{{Machine: fleet.Machine{Name: "m-0", State: fleet.MachinePending}, Begun: true}}, true, ""},
		"it is made otherwise":     {[]driver.Seen[string]{machine(func(m *fleet.Machine) { m.Template = "1-old" })}, false, "with another template, 1-old"},
		"it may be another's":      {[]driver.Seen[string]{good, machine(func(m *fleet.Machine) { m.Damaged = "it lost its tags" })}, false, "host prod/n0 has a machine of that name, and what it is is not certain: it lost its tags"},
	} {
		t.Run(reason, func(t *testing.T) {
			there, err := driver.IsThere("create machine prod/m-0", "m-0", "1-new", tc.seen)
			if there != tc.there || (err == nil) != (tc.err == "") || err != nil && (fleet.KindOf(err) != fleet.Conflict || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("%v, %v, want %v, %q", there, err, tc.there, tc.err)
			}
		})
	}
}
