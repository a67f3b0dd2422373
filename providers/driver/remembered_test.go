package driver_test

import (
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
)

// TestRemembered: what was seen is remembered, until people say that it is gone.
func TestRemembered(t *testing.T) {
	const id = "hosts of a place"
	seen := driver.Remembered{"n0": {"a": "b"}}.Seen(id)
	c := fleet.Cluster{Provider: "p", Residence: fleet.Residence{Provider: "p", Places: []fleet.Place{{ID: "a place"}, seen.Place}}}
	got, err := driver.Remember(&c, id)
	if err != nil || got["n0"]["a"] != "b" || !seen.Used || !seen.Named {
		t.Errorf("Remember = %v, %v of %+v", got, err, seen)
	}
	if got, err := driver.Remember(&c, "hosts of another place"); err != nil || got != nil {
		t.Errorf("Remember of another place = %v, %v, want nothing", got, err)
	}
	c.ForgetPlaces = []string{id}
	if got, err := driver.Remember(&c, id); err != nil || got != nil {
		t.Errorf("Remember of what is gone = %v, %v, want nothing", got, err)
	}
	c.ForgetPlaces, c.Residence.Places[1].Access = nil, "no list"
	if _, err := driver.Remember(&c, id); fleet.KindOf(err) != fleet.Conflict {
		t.Errorf("Remember of no list: %v, want Conflict", err)
	}
}
