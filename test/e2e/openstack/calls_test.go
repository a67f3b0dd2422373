package openstack_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// quiet is for how long calls are counted while nothing happens.
const quiet = time.Minute

// TestCalls counts what a project full of clusters asks of the cloud. The number
// of clusters is that of FAIRLEAD_TEST_CLUSTERS, or 4. The look at a project is
// shared: what it costs does not grow with clusters as one call each would.
func TestCalls(t *testing.T) {
	w := newWorld(t)
	h := w.newShip("calls")
	h.stop()
	delete(h.s.Providers["openstack"], "tick") // as people have it: a look each 10 s
	h.start()
	n := 4
	if text := os.Getenv("FAIRLEAD_TEST_CLUSTERS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	var all []cluster
	for i := range n {
		all = append(all, cluster{Name: fmt.Sprintf("c%02d", i), CP: 1, Workers: 1, Components: []string{"load-balancer"}})
	}
	w.proxy.take()
	begun := time.Now()
	for some := range slices.Chunk(all, 10) { // patience is for a push
		h.put("clusters", some...)
		h.waitComplete(some...)
	}
	took := time.Since(begun)
	made := w.proxy.take()
	changes := count(made, call.changes)
	t.Logf("%d clusters, %d machines in %s: %d calls, of which %d changes", n, 2*n, took.Round(time.Second), len(made), changes)
	t.Logf("calls of all that:\n%s", summary(made))

	// What they cost while they stay.
	h.stop()
	h.s.Providers["openstack"] = map[string]string{} // as people have it
	h.resync = 10 * time.Minute
	h.start()
	h.waitComplete(all...)
	single := func(c call) bool { return c.Service != "volume" && strings.Contains(c.Path, "{id}") } // the project's own id is in each path of Cinder
	var first []call
	h.wait("the members of all pools are known after the start", func() (bool, string) {
		first = append(first, w.proxy.take()...)
		known := count(first, single)
		return known >= n, fmt.Sprintf("%d requests for members", known)
	})
	time.Sleep(10 * time.Second) // what is left to do after that
	w.proxy.take()
	time.Sleep(quiet)
	idle := w.proxy.take()
	t.Logf("idle for %s: %d calls, %.2f per cluster and minute:\n%s", quiet, len(idle), float64(len(idle))/float64(n)/quiet.Minutes(), summary(idle))
	if c := count(idle, call.changes); c > 0 {
		t.Errorf("%d changes were made while nothing happened", c)
	}
	if c := count(idle, single); c > 0 {
		t.Errorf("%d requests were for a single thing while nothing happened, want listings alone", c)
	}

	w.proxy.take()
	scaled := all[0]
	scaled.Workers = 3
	h.put("two more machines", scaled)
	h.waitComplete(scaled)
	grown := w.proxy.take()
	t.Logf("two more machines: %d calls, of which %d changes:\n%s", len(grown), count(grown, call.changes), summary(grown))
}
