package fleet_test

import (
	"errors"
	"fmt"
	"testing"

	"fairlead.dev/fleet"
)

func TestJoin(t *testing.T) {
	conflict, unanswered := fleet.Errorf(fleet.Conflict, "a", "x"), fleet.Errorf(fleet.Unanswered, "b", "y")
	invalid, busy := fleet.Errorf(fleet.Invalid, "c", "x"), fleet.Errorf(fleet.Unavailable, "d", "y")
	if got := fleet.JoinErrors(nil, conflict, unanswered).Error(); got != "cannot a: x; cannot b: y" {
		t.Errorf("the text is %q", got)
	}
	for want, errs := range map[fleet.ErrorKind][]error{
		fleet.Conflict:    {invalid, conflict, busy},
		fleet.Unavailable: {invalid, busy, conflict},
		fleet.Unanswered:  {busy, invalid, unanswered},
		fleet.Invalid:     {invalid, invalid},
		fleet.Unknown:     {errors.New("x"), busy},
	} {
		if got := fleet.KindOf(fleet.JoinErrors(errs...)); got != want {
			t.Errorf("the kind of %v is %s, want %s", errs, got, want)
		}
		if got := fleet.KindOf(fmt.Errorf("both: %w", fleet.JoinErrors(errs...))); got != want {
			t.Errorf("the kind of %v within another is %s, want %s", errs, got, want)
		}
	}
	if fleet.JoinErrors(nil, nil) != nil || fleet.JoinErrors(nil, busy) != busy { //nolint:errorlint // the very same
		t.Error("none is an error, or one is more than itself")
	}
}
