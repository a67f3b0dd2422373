package follower

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
)

// A revision that cannot be got is tried again ever less often, and seldom from the start
// where only people can help.
func TestTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			err   error
			first time.Duration
		}{
			"a server that is away": {errors.New("away"), time.Second},
			"a key that is wrong":   {fleet.Errorf(fleet.Unauthorized, "fetch", "no"), 30 * time.Second},
			"a limit":               {fleet.Errorf(fleet.Exhausted, "fetch", "too many"), 30 * time.Second},
		} {
			tr := retries{}
			expect(t, name+" is tried for the first time", tr.due(rev("1")), true)
			for i, want := 1, c.first; i < 20; i, want = i+1, min(2*want, 10*time.Minute) {
				expect(t, name+" fails so often", tr.failed(rev("1"), c.err), i)
				time.Sleep(want * 8 / 10)
				expect(t, name+" is not tried before its time", tr.due(rev("1")), false)
				time.Sleep(want * 3 / 10)
				expect(t, name+" is tried again", tr.due(rev("1")), true)
			}
		}
	})
}

// While the server does not even tell its refs nothing else is asked of it.
func TestPostpone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := retries{}
		tr.failed(rev("1"), errors.New("away"))
		time.Sleep(2 * time.Second)
		tr.postpone()
		expect(t, "due", tr.due(rev("1")), false)
		expect(t, "a poll comes no later than that", tr.within(time.Hour), 30*time.Second)
		time.Sleep(31 * time.Second)
		expect(t, "due later", tr.due(rev("1")), true)
		expect(t, "and polls do not run in circles", tr.within(time.Hour), 500*time.Millisecond)
		tr.only(func(fleet.Revision) bool { return false })
		expect(t, "forgotten", len(tr), 0)
	})
}
