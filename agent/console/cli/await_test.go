package cli

import (
	"testing"
	"time"

	"fairlead.dev/agent/console/statusview"
)

// TestWaitEndsWithItsCode: a refused revision and a timeout have exit codes of their own,
// which scripts rely on.
func TestWaitEndsWithItsCode(t *testing.T) {
	for _, c := range []struct {
		ended statusview.Outcome
		want  int
	}{
		{statusview.Outcome{}, 0},
		{statusview.Outcome{Refused: "the revision is refused"}, 4},
		{statusview.Outcome{Refused: "the revision is refused", Lacks: "it is not there yet"}, 4},
		{statusview.Outcome{Lacks: "it is not there yet"}, 5},
	} {
		if got := exitCode(outcomeError(c.ended, time.Minute)); got != c.want {
			t.Errorf("%+v ends with %d, want %d", c.ended, got, c.want)
		}
	}
}
