package reconcile

import (
	"testing"
	"testing/synctest"
	"time"
)

// A clock that is set, in whichever direction, is told from time that passes.
func TestClockIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ahead time.Duration
		began := time.Now()
		c := newClock(func() time.Time { return time.Now().Add(ahead) }, func() time.Duration { return time.Since(began) })
		for range 3 {
			time.Sleep(time.Hour)
			ahead += time.Second // it drifts
			if at := c.lastSet(); !at.IsZero() {
				t.Fatalf("it was set at %s", at)
			}
		}
		for _, by := range []time.Duration{time.Minute, -time.Minute, -time.Hour, 6 * time.Second} {
			time.Sleep(time.Minute)
			ahead += by
			want := time.Now().Add(ahead)
			if at := c.lastSet(); !at.Equal(want) {
				t.Errorf("after %s: set at %s, want %s", by, at, want)
			}
			time.Sleep(time.Minute)
			if at := c.lastSet(); !at.Equal(want) {
				t.Errorf("a minute after %s: set at %s, want %s", by, at, want)
			}
		}
	})
}
