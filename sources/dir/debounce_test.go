package dir

import (
	"testing"
	"testing/synctest"
	"time"
)

// Changes are gathered until none comes for a while, but not for ever.
func TestDebounce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDebounce(100 * time.Millisecond)
		defer d.Stop()
		fires := func(within time.Duration) bool {
			select {
			case <-d.C:
				d.first = time.Time{}
				return true
			case <-time.After(within):
				return false
			}
		}
		if fires(time.Hour) {
			t.Error("it fires without an event")
		}
		d.event()
		if fires(99 * time.Millisecond) {
			t.Error("it does not wait for quiet")
		}
		if !fires(2 * time.Millisecond) {
			t.Error("it does not fire once it is quiet")
		}
		for start := time.Now(); !fires(50 * time.Millisecond); d.event() {
			if time.Since(start) > 2*time.Second {
				t.Fatal("events without end hide themselves")
			}
		}
	})
}
