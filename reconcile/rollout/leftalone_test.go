package rollout

import (
	"fmt"
	"testing"

	"fairlead.dev/fleet"
)

// A cluster that was removed while nothing was pruned is left alone. If the folder that it was of is broken for a while,
// it is still gone, and pruning what vanishes from now on does not delete it.
func TestLeftAloneWhileItsFolderIsBroken(t *testing.T) {
	for _, overlay := range []bool{true, false} {
		for _, enabled := range []bool{true, false} {
			prune := fleet.Prune{Enabled: true, Limit: 1}
			w := &wavy{}
			push := func(n, clusters int, p fleet.Prune, problems ...fleet.Problem) *fleet.Fleet {
				f := wavyFleet(fmt.Sprint(n), "v1", clusters, fleet.Waves{})
				f.Config.Prune, f.Problems = p, problems
				w.push(f)
				return f
			}
			first := push(1, 3, fleet.Prune{Enabled: enabled})
			w.rest("c0", "c1", "c2")
			push(2, 2, fleet.Prune{Enabled: enabled})
			push(3, 2, prune)
			p := fleet.Problem{Message: "it cannot be read"}
			if overlay {
				p.Overlay = first.Clusters[2].Overlay
			}
			push(4, 2, prune, p)
			push(5, 2, prune)
			if got, _ := w.s.Target(keyOf("c2")); got.Pruned {
				t.Errorf("folder %q, pruning without a limit before: %t: it is deleted", p.Overlay, enabled)
			}
		}
	}
}

// The same for one whose file on the status branch is damaged when an agent starts, and is put back while its folder
// is broken.
func TestLeftAloneAndDamagedWhileItsFolderIsBroken(t *testing.T) {
	prune := fleet.Prune{Enabled: true, Limit: 1}
	w := &wavy{}
	first := wavyFleet("1", "v1", 3, wavesOf())
	w.push(first)
	w.rest("c0", "c1", "c2")
	second := wavyFleet("2", "v1", 2, wavesOf())
	w.push(second)
	r := w.recorded()
	damaged := Record{
		Fleet: "f", Applied: second.Revision, Rollout: r.Rollout, Reports: r.Reports, Orphans: []fleet.Key{keyOf("c2")},
		Damaged: map[fleet.Key]string{keyOf("c2"): "it cannot be read"},
	}
	w.s = Recorded(damaged)
	if got := w.s.Status().Orphans; len(got) != 1 || got[0] != keyOf("c2") {
		t.Errorf("clusters left alone are %v, want that which was", got)
	}
	broken := wavyFleet("3", "v1", 2, wavesOf())
	broken.Config.Prune = prune
	broken.Problems = []fleet.Problem{{Overlay: first.Clusters[2].Overlay, Message: "it cannot be read"}}
	w.push(broken)
	report := &fleet.Report{Cluster: keyOf("c2"), Overlay: first.Clusters[2].Overlay, Digest: first.Clusters[2].Digest, Revision: first.Revision, Phase: fleet.PhaseProvisioned}
	w.decide(Input{Repaired: map[fleet.Key]*fleet.Report{keyOf("c2"): report}})
	w.decide(Input{Older: []Revision{{Revision: first.Revision, Fleet: first}}})
	good := wavyFleet("4", "v1", 2, wavesOf())
	good.Config.Prune = prune
	w.push(good)
	if got, _ := w.s.Target(keyOf("c2")); got.Pruned {
		t.Error("it is deleted")
	}
}
