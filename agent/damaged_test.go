package agent

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/loop/desired"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

func damagedRecord(keys ...fleet.Key) status.Status {
	var s status.Status
	for _, k := range keys {
		s.Damaged = append(s.Damaged, status.Damage{Cluster: k, Err: errors.New("cannot read clusters/" + k.String() + ".yaml")})
	}
	return s
}

// write makes s what the status branch says, and lets a poll pass.
func (w *world) write(s status.Status) {
	w.mu.Lock()
	w.record = s
	w.mu.Unlock()
	time.Sleep(time.Minute)
	synctest.Wait()
}

// A cluster whose file cannot be read is left alone, the others are not. Once the file
// is as it was, what it remembers is remembered.
func TestDamagedRecord(t *testing.T) {
	w := newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x"), clusterOf(keyB, "1", "x")),
		fleetOf("2", fleet.Prune{}, clusterOf(keyA, "2", "y"), clusterOf(keyB, "2", "y")))
	w.record = damagedRecord(keyA)
	bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
		w.push("2")
		expect(t, "only the others are worked on", w.took(), []string{"prod/b 1", "prod/b 2"})
		if _, told := w.report(keyA); told {
			t.Error("the file is written over")
		}
		p := w.whole().Problems
		if len(p) != 1 || p[0].Cluster != keyA || !strings.Contains(p[0].Message, "nothing is done to the cluster: cannot read clusters/prod/a.yaml") {
			t.Errorf("problems are %v", p)
		}
		home := fleet.Residence{Provider: "cloud", ControlPlane: fleet.InitializedOnce}
		w.write(status.Status{Clusters: []status.Cluster{{Report: fleet.Report{Cluster: keyA, Digest: "y", Overlay: "clusters/prod/a", Revision: revision("0"), Memory: fleet.Memory{Residence: home}}}}})
		expect(t, "it is worked on, at the revision that brought it", w.took(), []string{"prod/a 0"})
		expect(t, "what is remembered", w.had().Residence, home)
		expect(t, "no problem is left", w.whole().Problems, []fleet.Problem(nil))
	})
}

// A file that people delete is of a cluster that nothing is left of.
func TestDamagedRecordIsDeleted(t *testing.T) {
	w := newWorld(fleetOf("1", fleet.Prune{Enabled: true, Limit: 5}, clusterOf(keyA, "1", "x"), clusterOf(keyB, "1", "x")))
	w.record = damagedRecord(keyA, keyC)
	bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
		w.took()
		expect(t, "one that Git does not have is an orphan", w.whole().Orphans, []fleet.Key{keyC})
		w.write(status.Status{})
		expect(t, "it is made", w.took(), []string{"prod/a 1"})
		expect(t, "it is forgotten", w.whole().Orphans, []fleet.Key(nil))
		expect(t, "no problem is left", w.whole().Problems, []fleet.Problem(nil))
	})
}

// One that is not in Git any more is found again as it was left: alone, whatever the
// fleet says of pruning, or on its way out.
func TestDamagedRecordOfAnOrphan(t *testing.T) {
	for name, c := range map[string]struct {
		phase fleet.Phase
		want  []string
	}{
		"left alone":     {fleet.PhaseProvisioned, nil},
		"on its way out": {fleet.PhaseDeleting, []string{"prod/c 0 delete"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(fleetOf("1", fleet.Prune{Enabled: true, Limit: 5}, clusterOf(keyB, "1", "x")), fleetOf("0", fleet.Prune{}, clusterOf(keyC, "0", "x")))
			w.record = damagedRecord(keyC)
			bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
				w.took()
				w.write(status.Status{Clusters: []status.Cluster{{Report: fleet.Report{Cluster: keyC, Phase: c.phase, Digest: "x", Overlay: "clusters/prod/c", Revision: revision("0")}}}})
				// Its record and its definition come back one after the other, and a pass may come between.
				expect(t, "the passes", slices.Compact(w.took()), c.want)
			})
		})
	}
}

// A plan does not say what would become of a cluster that nothing is known of.
func TestDesiredOfDamaged(t *testing.T) {
	f := fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x"), clusterOf(keyB, "1", "x"))
	out := desired.Of(damagedRecord(keyA), f, time.Now())
	if len(out.Clusters) != 1 || out.Clusters[0].Key != keyB || len(out.Problems) != 1 || out.Problems[0].Cluster != keyA {
		t.Errorf("clusters %v, problems %v", out.Clusters, out.Problems)
	}
}
