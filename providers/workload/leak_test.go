package workload_test

import (
	"runtime"
	"strings"
	"testing"
)

// TestCloseLeavesNothing: no watch and no tunnel outlives a client. An idle
// connection to an API server may, for a while.
func TestCloseLeavesNothing(t *testing.T) {
	before := goroutines() // tests before may have left some that end by themselves
	c := startEtcd(t)
	calls := c.watched(t.Context())
	eventually(t, "the nodes", func() bool { return calls.Load() > 0 })
	if _, err := c.kubeadm.Members(t.Context(), c.access); err != nil {
		t.Fatal(err)
	}
	c.Close()
	var left string
	defer func() {
		if t.Failed() {
			t.Logf("left is:\n%s", left)
		}
	}()
	eventually(t, "the end of all goroutines", func() bool {
		for name, stack := range goroutines() {
			if before[name] == "" && (strings.Contains(stack, "providers/workload.") || strings.Contains(stack, "spdystream")) {
				left = stack
				return false
			}
		}
		return true
	})
}

// goroutines returns the stacks of those that there are, by their names.
func goroutines() map[string]string {
	all := make([]byte, 1<<20)
	out := make(map[string]string)
	for stack := range strings.SplitSeq(string(all[:runtime.Stack(all, true)]), "\n\n") {
		name, _, _ := strings.Cut(stack, " [")
		out[name] = stack
	}
	return out
}
