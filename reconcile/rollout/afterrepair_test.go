package rollout

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
)

// TestRefusedAfterBrokenFolder: a revision that is refused says nothing new of the folder that may be the damaged canary's.
func TestRefusedAfterBrokenFolder(t *testing.T) {
	older, newer := wavyFleet("1", "v1", 5, wavesOf()), wavyFleet("2", "v2", 5, wavesOf())
	for _, put := range []bool{false, true} {
		w := provisioned(5)
		w.push(newer)
		r, report := w.without(0)
		w.starts(r, brokenIn(wavyFleet("3", "v2", 5, wavesOf()), fleet.Key{}), older)
		w.wantOthers(t, "broken", "v1")
		w.decide(Input{Newest: &Revision{Revision: revision("4"), Refused: "rubbish"}})
		w.wantOthers(t, "refused", "v1")
		if put {
			w.decide(Input{Repaired: map[fleet.Key]*fleet.Report{report.Cluster: &report}})
			w.decide(Input{Older: []Revision{{Revision: newer.Revision, Fleet: newer}}})
			got, _ := w.s.Target(report.Cluster)
			if got.Why != "" || !got.InGit {
				t.Errorf("put back: %q inGit %v; %v", got.Why, got.InGit, w.s.Rollout().Stages)
			}
			w.wantOthers(t, "put back", "v1")
		}
	}
}

// TestUnknownStaysUnknown: fleet.yaml is damaged, and the newest commit changes what does not wait of c1, which is half changed.
func TestUnknownStaysUnknown(t *testing.T) {
	for _, relabelled := range []bool{false, true} {
		older, newer := wavyFleet("1", "v1", 5, wavesOf()), wavyFleet("2", "v2", 5, wavesOf())
		w := provisioned(5)
		w.push(newer)
		w.rest("c0")
		w.now = w.now.Add(time.Hour)
		w.decide(Input{})
		w.want(t, "two", "v2 v2 v2 v1 v1")
		w.rest("c2")
		w.want(t, "three", "v2 v2 v2 v2 v1")
		w.rest("c3")
		w.want(t, "all", "v2 v2 v2 v2 v2")
		r := w.recorded()
		// c1 and c4 are half changed; then a new agent finds fleet.yaml damaged.
		third := wavyFleet("3", "v2", 5, wavesOf())
		if relabelled {
			for i := range third.Clusters {
				third.Clusters[i].Labels["who"] = "x"
				third.Clusters[i].Digest = "relabelled"
			}
		}
		w.s = Recorded(Record{Fleet: "f", Reports: r.Reports}).WithoutOrphans()
		w.push(third)
		w.decide(Input{Older: []Revision{{Revision: newer.Revision, Fleet: newer}}})
		w.decide(Input{Older: []Revision{{Revision: older.Revision, Fleet: older}}})
		w.rest("c0", "c2", "c3", "c4")
		w.now = w.now.Add(time.Hour)
		w.decide(Input{})
		// c4 is to change: a newer commit changes c4 alone
		fourth := wavyFleet("4", "v2", 5, wavesOf())
		if relabelled {
			for i := range fourth.Clusters {
				fourth.Clusters[i].Labels["who"] = "x"
				fourth.Clusters[i].Digest = "relabelled"
			}
		}
		fourth.Clusters[4] = wavyFleet("4", "v3", 5, wavesOf()).Clusters[4]
		w.push(fourth)
		w.want(t, "c1 is not known", "v2 v2 v2 v2 v2")
	}
}

// TestRepairedBeforeItIsBackInGit: a cluster of a later stage leaves Git while its file is damaged, its file is put back, and then it is. It waits for
// its turn, as without the damage.
func TestRepairedBeforeItIsBackInGit(t *testing.T) {
	older, newer := wavyFleet("1", "v1", 5, wavesOf()), wavyFleet("2", "v2", 5, wavesOf())
	w := provisioned(5)
	w.push(newer)
	r, report := w.without(4)
	w.starts(r, newer, older)
	without := wavyFleet("3", "v2", 4, wavesOf())
	w.push(without)
	w.decide(Input{Repaired: map[fleet.Key]*fleet.Report{report.Cluster: &report}})
	w.push(wavyFleet("4", "v2", 5, wavesOf()))
	w.decide(Input{Older: []Revision{{Revision: older.Revision, Fleet: older}}})
	w.want(t, "back in Git", "v2 v1 v1 v1 v1")
}

// TestEscrowOfWhatWaits: the store has a Secret of an identity that is used while an upgrade waits: the escrow takes it along.
func TestEscrowOfWhatWaits(t *testing.T) {
	w := &wavy{now: time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)}
	w.push(wavyFleet("1", "v1", 2, frozenUntilJanuary()))
	w.rest("c0", "c1")
	f := wavyFleet("2", "v2", 2, frozenUntilJanuary())
	f.Clusters[1].Companions = []fleet.Object{{GVK: schema.GroupVersionKind{Kind: "Identity"}, Name: "young", Stored: []fleet.Key{{Namespace: "prod", Name: "young"}}}}
	w.push(f)
	if got, _ := w.s.Target(keyOf("c1")); len(got.Cluster.StoredSecrets()) != len(w.s.StoredSecrets()) {
		t.Errorf("used: %v, in the escrow: %v", got.Cluster.StoredSecrets(), w.s.StoredSecrets())
	}
}
