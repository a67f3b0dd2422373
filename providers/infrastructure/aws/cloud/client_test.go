package cloud

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestSlowOnce: refusals of requests that were under way together halve the budget of an action once.
func TestSlowOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(nil, nil, "", "")
		if err := c.await(t.Context(), "DescribeVpcs"); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			c.slow("DescribeVpcs")
		}
		if l := c.budgets["DescribeVpcs"].Limit(); l != 5 {
			t.Errorf("after 20 refusals at once it is %v a second", l)
		}
		time.Sleep(underWay)
		if c.slow("DescribeVpcs"); c.budgets["DescribeVpcs"].Limit() != 2.5 {
			t.Errorf("after another one it is %v a second", c.budgets["DescribeVpcs"].Limit())
		}
	})
}
