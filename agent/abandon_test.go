package agent

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// A protected cluster is not forgotten, though it was removed from Git.
func TestProtectedIsNotAbandoned(t *testing.T) {
	wanted := fleetWithPool()
	wanted.Clusters[0].Protect = true
	w := newWorld(wanted, fleetOf("2", fleet.Prune{}, clusterOf(keyB, "2", "x")))
	r := fleet.Request{Kind: fleet.RequestAbandon, Cluster: keyA}
	bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
		w.push("2")
		w.desk.ask(r)
		expect(t, "answer", w.desk.said(r), "Refused: the cluster is protected by fairlead.dev/protect: remove that first")
		expect(t, "it stays an orphan", w.whole().Orphans, []fleet.Key{keyA})
	})
}

// A cluster is forgotten once the answer that it will be is written, and is there to be
// answered about until then.
func TestNothingIsAbandonedUnanswered(t *testing.T) {
	w := newWorld(fleetWithPool(), fleetOf("2", fleet.Prune{}, clusterOf(keyB, "2", "x")))
	r := fleet.Request{Kind: fleet.RequestAbandon, Cluster: keyA}
	w.desk.refusing = true
	bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
		w.push("2")
		w.desk.ask(r)
		time.Sleep(15 * time.Minute)
		expect(t, "it is an orphan still", w.whole().Orphans, []fleet.Key{keyA})
		expect(t, "nothing is forgotten", w.forgotten, []fleet.Key(nil))
		w.desk.accept()
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := w.desk.said(r); !strings.HasPrefix(got, "Done: ") {
			t.Errorf("the answer is %q", got)
		}
		expect(t, "and then it is", w.whole().Orphans, []fleet.Key(nil))
	})
}

func TestAbandon(t *testing.T) {
	wanted := fleetWithPool()
	without := fleetOf("2", fleet.Prune{}, clusterOf(keyB, "2", "x"))
	r := fleet.Request{Kind: fleet.RequestAbandon, Cluster: keyA}
	left := "stays behind: machine m1 (sim://m1), API server at 10.0.0.1:6443, the infrastructure around them, and the cluster's secrets; fairlead orphans finds what carries the fleet's tags"
	t.Run("an orphan", func(t *testing.T) {
		w := newWorld(wanted, without)
		w.set(machine("m1", fleet.RoleWorker))
		bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
			w.push("2")
			expect(t, "it is an orphan", w.whole().Orphans, []fleet.Key{keyA})
			w.desk.ask(r)
			expect(t, "it says what stays", w.desk.said(r), "Done: "+left)
			expect(t, "its status goes", w.forgotten, []fleet.Key{keyA, keyA}) // by reconciler and status
		})
	})
	t.Run("that cannot be deleted", func(t *testing.T) {
		deleting := fleetWithPool()
		deleting.Revision, deleting.Clusters[0].Revision = revision("3"), revision("3")
		deleting.Clusters[0].Delete, deleting.Clusters[0].Digest = true, "deleted"
		w := newWorld(wanted, deleting, without)
		w.set(machine("m1", fleet.RoleWorker))
		w.phases[keyA] = fleet.PhaseDeleting
		bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
			w.push("3")
			w.took()
			w.desk.ask(r)
			expect(t, "it says what stays", w.desk.said(r), "Accepted: "+left)
			expect(t, "the phase says it", w.of(keyA).Phase, fleet.PhaseAbandoned)
			time.Sleep(30 * time.Minute)
			expect(t, "nothing is done any more", w.took(), []string(nil))
			w.push("2")
			time.Sleep(time.Minute)
			expect(t, "gone from Git it is forgotten", w.desk.said(r), "Done: "+left)
			expect(t, "and no orphan", w.whole().Orphans, []fleet.Key(nil))
		})
	})
	t.Run("declared", func(t *testing.T) {
		c := fleetWithPool()
		c.Revision, c.Clusters[0].Revision = revision("3"), revision("3")
		c.Clusters[0].Abandon, c.Clusters[0].Digest = true, "abandoned"
		w := newWorld(wanted, c, without)
		bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
			w.took()
			w.push("3")
			expect(t, "nothing is done any more", w.took(), []string(nil))
			expect(t, "the phase says it", w.of(keyA).Phase, fleet.PhaseAbandoned)
			w.push("2")
			expect(t, "it is no orphan", w.whole().Orphans, []fleet.Key(nil))
			_, there := w.report(keyA)
			expect(t, "its status goes", there, false)
		})
	})
}

// An agent that ends between the answer and the deed leaves the deed to the next one.
func TestAbandonAfterARestart(t *testing.T) {
	w := newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyB, "1", "x")))
	w.record.Fleet.Orphans = []fleet.Key{keyA}
	w.record.Clusters = []status.Cluster{{Report: fleet.Report{Cluster: keyA, Phase: fleet.PhaseProvisioned, Revision: revision("0")}}}
	r := fleet.Request{Kind: fleet.RequestAbandon, Cluster: keyA, By: "Ada", At: time.Unix(1, 0), Answer: fleet.Answer{State: fleet.RequestAccepted, Message: "stays behind"}}
	w.desk.list = []fleet.Request{r}
	bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
		time.Sleep(time.Minute)
		synctest.Wait()
		expect(t, "the answer", w.desk.said(r), "Done: stays behind")
		expect(t, "its status goes", w.forgotten, []fleet.Key{keyA, keyA}) // by reconciler and status
		expect(t, "and it is no orphan", w.whole().Orphans, []fleet.Key(nil))
	})
}
