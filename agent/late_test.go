package agent

import (
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// The last good definition of a cluster may lack what cannot be got for now, such as a
// pinned source. The cluster is not given up on: it is looked for until it is there.
func TestLateDefinition(t *testing.T) {
	a, b := clusterOf(keyA, "1", "x"), clusterOf(keyB, "1", "x")
	lacking := func(rev string, clusters ...fleet.Cluster) fleet.Fleet {
		f := fleetOf(rev, fleet.Prune{Enabled: true, Limit: 5}, clusters...)
		f.Problems = []fleet.Problem{{Overlay: a.Overlay, Message: "the pinned source base is not there"}}
		f.Unavailable = []string{a.Overlay}
		return f
	}
	w := newWorld(lacking("2", b), lacking("1", b))
	w.record = status.Status{Clusters: []status.Cluster{{Report: fleet.Report{Cluster: keyA, Overlay: a.Overlay, Digest: a.Digest, Revision: revision("1"), Phase: fleet.PhaseProvisioned}}}}
	bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
		time.Sleep(time.Hour)
		synctest.Wait()
		for _, pass := range w.took() {
			if pass != "prod/b 1" {
				t.Errorf("there was a pass %s", pass)
			}
		}
		expect(t, "it is no orphan", w.whole().Orphans, []fleet.Key(nil))
		w.mu.Lock()
		w.fleets[revision("1").Digest] = fleetOf("1", fleet.Prune{}, a, b)
		w.mu.Unlock()
		time.Sleep(time.Hour)
		synctest.Wait()
		expect(t, "it is held to what was good", w.had() != nil, true)
	})
}
