package cli

import (
	"errors"
	"testing"

	"fairlead.dev/agent/ownership"
	"fairlead.dev/fleet"
)

// TestHandedOver: an agent beside bootstrap or pivot that ends for another process of its name has not
// handed the fleet over.
func TestHandedOver(t *testing.T) {
	me := fleet.Owner{Agent: "me", Place: "here", Epoch: 2, Incarnation: 3}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"to another agent":           {&ownership.NotOwnerError{Self: "me", Place: "here", Incarnation: 2, Owner: fleet.Owner{Agent: "home", Epoch: 3}}, true},
		"to its name elsewhere":      {&ownership.NotOwnerError{Self: "me", Place: "there", Incarnation: 2, Owner: me}, true},
		"another process":            {&ownership.NotOwnerError{Self: "me", Place: "here", Incarnation: 2, Owner: me}, false},
		"another one of that number": {&ownership.NotOwnerError{Self: "me", Place: "here", Incarnation: 3, Twin: true, Owner: me}, false},
		"another error":              {errors.New("no answer"), false},
		"no error":                   {nil, false},
	} {
		if got := handedOver(c.err); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
