package workload_test

import (
	"runtime"
	"strings"
	"testing"
)

// TestCloseLeavesNothing: no watch and no tunnel outlives a client. An idle
// connection to an API server may, for a while.
func TestCloseLeavesNothing(t *testing.T) {
	c := startEtcd(t)
	calls := c.watched(t.Context())
	eventually(t, "the nodes", func() bool { return calls.Load() > 0 })
	if _, err := c.Etcd(t.Context(), c.access); err != nil {
		t.Fatal(err)
	}
	c.Close()
	eventually(t, "the end of all goroutines", func() bool {
		all := make([]byte, 1<<20)
		for stack := range strings.SplitSeq(string(all[:runtime.Stack(all, true)]), "\n\n") {
			if strings.Contains(stack, "providers/workload.") || strings.Contains(stack, "spdystream") {
				return false
			}
		}
		return true
	})
}
