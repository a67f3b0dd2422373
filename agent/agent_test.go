package agent

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/loop/desired"
	"fairlead.dev/fleet"
)

func TestFollow(t *testing.T) {
	broken := fleetOf("3", fleet.Prune{}, clusterOf(keyB, "3", "z"))
	broken.Problems = []fleet.Problem{{Overlay: "clusters/prod/a", Message: "broken"}}
	w := newWorld(
		fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x"), clusterOf(keyB, "1", "x")),
		fleetOf("2", fleet.Prune{}, clusterOf(keyA, "2", "x"), clusterOf(keyB, "2", "y")),
		broken,
		fleetOf("4", fleet.Prune{}, clusterOf(keyA, "4", "x")),
	)
	bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
		expect(t, "the first revision brings a pass over each cluster", w.took(), []string{"prod/a 1", "prod/b 1"})
		time.Sleep(5 * time.Minute)
		expect(t, "status is being written", w.publishing(), 1)
		expect(t, "an unchanged fleet is not worked on", w.took(), []string(nil))
		time.Sleep(7 * time.Minute)
		expect(t, "but looked at regularly", slices.Compact(w.took()), []string{"prod/a 1", "prod/b 1"})
		w.push("2")
		expect(t, "only a changed cluster is worked on", w.took(), []string{"prod/b 2"})
		w.push("3")
		expect(t, "a broken cluster stays at its revision, the others go on", w.took(), []string{"prod/a 1", "prod/b 3"})
		expect(t, "its report says why", w.of(keyA).Problems, []fleet.Problem{{Overlay: "clusters/prod/a", Message: "broken"}})
		expect(t, "and the others' does not", w.of(keyB).Problems, []fleet.Problem(nil))
		w.push("4")
		expect(t, "repaired, it loses its problem; an orphan is left alone", w.took(), []string{"prod/a 1"})
		expect(t, "no problem is left", w.of(keyA).Problems, []fleet.Problem(nil))
		expect(t, "the orphan is told of", w.whole().Orphans, []fleet.Key{keyB})
		time.Sleep(15 * time.Minute)
		expect(t, "and not worked on later either", slices.Compact(w.took()), []string{"prod/a 1"})
		w.event(keyA)
		expect(t, "a machine event brings a pass at once", w.took(), []string{"prod/a 1"})
	})
}

func TestRefusedRevision(t *testing.T) {
	w := newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x")), fleetOf("2", fleet.Prune{}))
	w.refused[revision("2").Digest] = fleet.Errorf(fleet.Invalid, "read fleet.yaml", "it is nonsense")
	bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
		w.took()
		w.push("2")
		expect(t, "nothing is done with a refused revision", w.took(), []string(nil))
		expect(t, "nothing becomes an orphan by it", w.whole().Orphans, []fleet.Key(nil))
		if len(w.whole().Problems) != 1 || !strings.Contains(w.whole().Problems[0].Message, "it is nonsense") {
			t.Errorf("the refusal is not reported: %v", w.whole().Problems)
		}
		w.fetches()
		time.Sleep(10 * time.Minute)
		expect(t, "it is not fetched again and again", w.fetches(), []string(nil))
		w.event(keyA)
		expect(t, "the clusters are still looked after", w.took()[0], "prod/a 1")
	})
}

func TestRenamedFleet(t *testing.T) {
	renamed := fleetOf("2", fleet.Prune{}, clusterOf(keyA, "2", "y"))
	renamed.ID = "g"
	says := func(t *testing.T, w *world) {
		t.Helper()
		if p := w.whole().Problems; len(p) != 1 || !strings.Contains(p[0].Message, `put metadata.name: f into fleet.yaml`) {
			t.Errorf("the problems do not say what to do: %v", p)
		}
		expect(t, "the fleet keeps its name", w.whole().Fleet, fleet.ID("f"))
	}
	t.Run("Push", func(t *testing.T) {
		w := newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x")), renamed)
		bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
			w.took()
			w.push("2")
			expect(t, "nothing is made a second time under a new name", w.took(), []string(nil))
			says(t, w)
		})
	})
	t.Run("Restart", func(t *testing.T) {
		before := fleetOf("1", fleet.Prune{}, clusterOf(keyB, "1", "x"))
		before.ID = "g" // as where the name is made from the source, which moved
		w := newWorld(renamed, before)
		w.record = told(fleet.PhaseProvisioned)
		w.record.Fleet.Fleet = "f"
		bubble(t, w, Options{}, func(t *testing.T, a *Agent) {
			expect(t, "an agent that only knows the name from the status branch does nothing either", w.took(), []string(nil))
			says(t, w)
			expect(t, "a plan says the same", len(desired.Of(w.record, renamed, time.Now()).Problems), 1)
		})
	})
	t.Run("Empty", func(t *testing.T) {
		w := newWorld(fleetOf("1", fleet.Prune{}), renamed)
		bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
			w.push("2")
			expect(t, "a fleet without clusters may have any name", w.took(), []string{"prod/a 2"})
		})
	})
}

func TestRestart(t *testing.T) {
	broken := fleetOf("2", fleet.Prune{}, clusterOf(keyA, "2", "x"))
	broken.Problems = []fleet.Problem{{Overlay: "clusters/prod/b", Message: "broken"}}
	before := fleetOf("1", fleet.Prune{}, clusterOf(keyB, "1", "x"))

	t.Run("LastGood", func(t *testing.T) {
		w := newWorld(broken, before)
		w.record = told(fleet.PhaseProvisioned)
		bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
			// Its problem and its definition come one after the other, and a pass may come between.
			expect(t, "a cluster that is broken now is held to the revision in its status", slices.Compact(w.took()), []string{"prod/a 2", "prod/b 1"})
			expect(t, "and says that it is broken", len(w.of(keyB).Problems), 1)
		})
	})
	t.Run("LastGoodIsGone", func(t *testing.T) {
		w := newWorld(broken)
		w.record = told(fleet.PhaseProvisioned)
		bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
			expect(t, "without a good definition nothing is done", w.took(), []string{"prod/a 2"})
			_, reported := w.report(keyB)
			expect(t, "its status is left as it is", reported, false)
			if !slices.ContainsFunc(w.whole().Problems, func(p fleet.Problem) bool {
				return p.Cluster == keyB && strings.Contains(p.Message, "left alone")
			}) {
				t.Errorf("it is not told of: %v", w.whole().Problems)
			}
		})
	})
	t.Run("Deleting", func(t *testing.T) {
		w := newWorld(fleetOf("2", fleet.Prune{}, clusterOf(keyA, "2", "x")), before)
		w.record = told(fleet.PhaseDeleting)
		w.phases[keyB] = fleet.PhaseDeleted
		bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
			expect(t, "a deletion that had begun is finished", w.took(), []string{"prod/a 2", "prod/b 1 delete"})
			if !slices.Contains(w.forgotten, keyB) {
				t.Error("a deleted cluster that Git does not have is not forgotten")
			}
		})
	})
	t.Run("DeletedMeanwhile", func(t *testing.T) {
		w := newWorld(fleetOf("2", fleet.Prune{}, clusterOf(keyA, "2", "x")))
		w.record = told(fleet.PhaseDeleted)
		bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
			expect(t, "what is deleted and gone from Git needs no definition to be forgotten", w.forgotten, []fleet.Key{keyB, keyB})
			expect(t, "and is no problem", w.whole().Problems, []fleet.Problem(nil))
		})
	})
	t.Run("ProtectedMeanwhile", func(t *testing.T) {
		protected := clusterOf(keyB, "1", "x")
		protected.Protect = true
		w := newWorld(fleetOf("2", fleet.Prune{Enabled: true, Limit: 5}, clusterOf(keyA, "2", "x")), fleetOf("1", fleet.Prune{}, protected))
		w.record = told(fleet.PhaseProvisioned)
		bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
			expect(t, "a protected cluster is not pruned", w.took(), []string{"prod/a 2"})
			expect(t, "it is an orphan", w.whole().Orphans, []fleet.Key{keyB})
		})
	})
	t.Run("NothingSeenYet", func(t *testing.T) {
		w := newWorld(fleetOf("2", fleet.Prune{}, clusterOf(keyB, "2", "y")))
		w.record = told(fleet.PhaseProvisioned)
		w.phases[keyB] = ""
		bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
			got := w.of(keyB)
			expect(t, "a pass that sees nothing does not wipe out what was known", got.Phase, fleet.PhaseProvisioned)
			expect(t, "but is about the newest definition", got.Revision, revision("2"))
		})
	})
	t.Run("AllVanished", func(t *testing.T) {
		w := newWorld(fleetOf("2", fleet.Prune{Enabled: true, Limit: 9}), before)
		w.record = told(fleet.PhaseProvisioned)
		bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
			expect(t, "nothing is deleted by an empty revision", w.took(), []string(nil))
			expect(t, "the cluster is an orphan", w.whole().Orphans, []fleet.Key{keyB})
			expect(t, "and the refusal is told", len(w.whole().Problems), 1)
		})
	})
}

func TestDeletedStaysWhileInGit(t *testing.T) {
	marked := clusterOf(keyA, "1", "x")
	marked.Delete = true
	w := newWorld(fleetOf("1", fleet.Prune{}, marked, clusterOf(keyB, "1", "x")), fleetOf("2", fleet.Prune{}, clusterOf(keyB, "2", "x")))
	w.phases[keyA] = fleet.PhaseDeleted
	bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
		expect(t, "its status says so as long as Git has it", w.of(keyA).Phase, fleet.PhaseDeleted)
		w.push("2")
		_, reported := w.report(keyA)
		expect(t, "and goes with the files", reported, false)
		expect(t, "it is no orphan", w.whole().Orphans, []fleet.Key(nil))
	})
}

func TestReadiness(t *testing.T) {
	w := newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x")))
	w.owner = fleet.Owner{Agent: "other", Epoch: 7}
	bubble(t, w, Options{WaitForOwnership: true}, func(t *testing.T, a *Agent) {
		code, text := get(a, "/readyz")
		expect(t, "a waiting agent is not ready", code, 503)
		for _, want := range []string{"not ready: owner: the fleet is owned by agent \"other\"", "not ready: revision: no revision"} {
			if !strings.Contains(text, want) {
				t.Errorf("readyz lacks %q:\n%s", want, text)
			}
		}
		code, _ = get(a, "/healthz")
		expect(t, "but it is healthy", code, 200)
		w.mu.Lock()
		w.owner.Agent = "me"
		w.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		code, text = get(a, "/readyz")
		expect(t, "an owner with a revision is ready", code, 200)
		expect(t, "and says so", text, "ready\n")
		code, _ = get(a, "/debug/pprof/")
		expect(t, "profiles are served only on request", code, 404)
	})
}
