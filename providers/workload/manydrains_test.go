package workload_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/workload"
)

// TestManyNodesDrain: the pods of Nodes that drain are listed some at a time. A Node that there
// is no time for is told as unseen, which is not an API server that does not answer, and comes
// first in the next look.
func TestManyNodesDrain(t *testing.T) {
	c := start(t)
	const nodes = 24
	for i := range nodes {
		n := node(fmt.Sprintf("w-%02d", i), corev1.ConditionTrue, nil)
		n.Annotations = map[string]string{fleet.DrainingAnnotation: time.Now().UTC().Format(time.RFC3339)}
		c.put(t, n, pod("default", "p-"+n.Name, n.Name, nil))
	}
	const last = "w-23"
	var again atomic.Bool // this is the second look
	asked, end := context.WithCancel(t.Context())
	defer end()
	a := c.balancer(t, func(r *http.Request) bool {
		name, ok := strings.CutPrefix(r.URL.Query().Get("fieldSelector"), "spec.nodeName=")
		switch {
		case !ok:
			return false
		case !again.Load():
			return name == last
		case name == last:
			end()
			return false
		}
		// The others are answered once the one that comes first was asked for.
		select {
		case <-asked.Done():
			return false
		case <-r.Context().Done():
			return true
		}
	})
	client := workload.New(workload.Options{Timeout: 4 * time.Second})
	t.Cleanup(client.Close)
	look := func() (unseen []string) {
		t.Helper()
		w, err := client.Observe(t.Context(), a)
		if err != nil || !w.Reachable || len(w.Nodes) != nodes {
			t.Fatalf("%d nodes are observed, %v", len(w.Nodes), err)
		}
		for _, n := range w.Nodes {
			if n.Unseen {
				unseen = append(unseen, n.Name)
			}
			if n.Unseen == (len(n.Pods) > 0) {
				t.Errorf("node %s: unseen %t, with %d pods", n.Name, n.Unseen, len(n.Pods))
			}
		}
		return unseen
	}
	if got := look(); len(got) != 1 || got[0] != last {
		t.Errorf("unseen are %q, want %s alone", got, last)
	}
	again.Store(true)
	if got := look(); len(got) > 0 {
		t.Errorf("unseen are %q, want none: %s comes first", got, last)
	}
}
