package agent

import (
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
	"fairlead.dev/sources/status"
)

// TestStatusDoesNotGoBack: what a pass cannot see stays as the newest pass saw it, not
// as the status branch said when the agent began, also for a cluster that is younger
// than the agent.
func TestStatusDoesNotGoBack(t *testing.T) {
	w := newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x"), clusterOf(keyB, "1", "x")))
	w.record = status.Status{Clusters: []status.Cluster{{Report: fleet.Report{Cluster: keyA, Phase: fleet.PhaseWorkers}}}}
	bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
		expect(t, "what the pass saw", w.of(keyA).Phase, fleet.PhaseProvisioned)
		w.mu.Lock()
		w.phases[keyA], w.phases[keyB] = "", "" // another replica, and the cloud is away
		w.mu.Unlock()
		time.Sleep(time.Hour)
		synctest.Wait()
		expect(t, "known since before", w.of(keyA).Phase, fleet.PhaseProvisioned)
		expect(t, "made since", w.of(keyB).Phase, fleet.PhaseProvisioned)
	})
}

// TestForgottenDuringAPass: the report of a pass that ends after its cluster was
// forgotten does not bring it back.
func TestForgottenDuringAPass(t *testing.T) {
	w := newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x")), fleetOf("2", fleet.Prune{}, clusterOf(keyB, "2", "x")))
	bubble(t, w, Options{}, func(t *testing.T, a *Agent) {
		target, _ := a.decisions.Now().Target(keyA)
		res := w.Pass(t.Context(), target.Cluster, fleet.Memory{})
		w.push("2")
		expect(t, "it is forgotten", a.decisions.Decide(rollout.Input{Gone: []fleet.Key{keyA}}).Forgotten, []fleet.Key{keyA})
		if _, known := a.decisions.Passed(rollout.Pass{Target: target, Report: res.Report}, nil, func(fleet.Report) bool { return true }); known {
			t.Error("a cluster that is forgotten is reported")
		}
		if _, there := w.report(keyA); there {
			t.Error("its status is back")
		}
	})
}

// TestBehind: a cluster is behind from the push until a pass found nothing to do.
func TestBehind(t *testing.T) {
	w := newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x")), fleetOf("2", fleet.Prune{}, clusterOf(keyA, "2", "y"), clusterOf(keyB, "2", "y")))
	bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
		expect(t, "at rest", w.whole().Behind, []fleet.Key(nil))
		w.mu.Lock()
		w.phases[keyA] = fleet.PhaseWorkers
		w.mu.Unlock()
		w.push("2")
		expect(t, "applied", w.whole().Applied, revision("2"))
		expect(t, "on its way", w.whole().Behind, []fleet.Key{keyA})
		w.mu.Lock()
		w.phases[keyA] = fleet.PhaseProvisioned
		w.mu.Unlock()
		time.Sleep(time.Hour)
		synctest.Wait()
		expect(t, "there", w.whole().Behind, []fleet.Key(nil))
		w.mu.Lock()
		w.refused["3"] = fleet.Errorf(fleet.Invalid, "render", "rubbish")
		w.fleets["3"] = fleet.Fleet{}
		w.mu.Unlock()
		w.push("3")
		expect(t, "a refused revision is seen", w.whole().Revision.Hash(), "3")
		expect(t, "and not applied", w.whole().Applied, revision("2"))
	})
}
