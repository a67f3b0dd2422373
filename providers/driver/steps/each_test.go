package steps_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/providers/driver/steps"
)

// TestEach: all things are worked on, as many at one time as may be, and the errors are in their order.
func TestEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most, done atomic.Int32
		began := time.Now()
		errs := steps.Each([]int{5, 1, 4, 2, 3, 6}, 2, func(n int) error {
			if at := now.Add(1); at > most.Load() {
				most.Store(at)
			}
			defer now.Add(-1)
			time.Sleep(time.Duration(n) * time.Second)
			done.Add(1)
			if n > 3 {
				return fmt.Errorf("%d is too many", n)
			}
			return nil
		})
		if got := fmt.Sprint(errs); got != "[5 is too many 4 is too many 6 is too many]" {
			t.Errorf("errors are %s", got)
		}
		if done.Load() != 6 || most.Load() != 2 || time.Since(began) >= 21*time.Second {
			t.Errorf("%d were done, at most %d at one time, in %s", done.Load(), most.Load(), time.Since(began))
		}
	})
}
