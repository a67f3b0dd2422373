package rollout

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
)

func TestAdvanceFromRecord(t *testing.T) {
	record := func(phase fleet.Phase, orphans ...fleet.Key) State {
		return Recorded(Record{
			Reports: []fleet.Report{{Cluster: keyB, Revision: revision("1"), Overlay: "clusters/prod/b", Phase: phase}}, Orphans: orphans,
		})
	}
	prune := fleet.Prune{Enabled: true, Limit: 5}
	good := clusterOf(keyB, "1", "x")
	protected := good
	protected.Protect = true
	tests := map[string]struct {
		reason string
		record State
		to     fleet.Fleet
		found  *fleet.Cluster // the last good definition; nil is good
		want   standing       // once it was found
	}{
		"Good": {
			reason: "A cluster that is good needs no record.",
			record: record(fleet.PhaseProvisioned),
			to:     fleetOf("2", prune, clusterOf(keyA, "2", "x"), clusterOf(keyB, "2", "x")),
			want:   standing{Revision: "2"},
		},
		"Unchanged": {
			reason: "One whose content is the recorded one keeps the recorded revision, so that a restart writes nothing.",
			record: Recorded(Record{Reports: []fleet.Report{
				{Cluster: keyB, Revision: revision("1"), Overlay: "clusters/prod/b", Phase: fleet.PhaseProvisioned, Digest: "x"},
			}}),
			to:   fleetOf("2", prune, clusterOf(keyA, "2", "x"), clusterOf(keyB, "2", "x")),
			want: standing{Revision: "1"},
		},
		"ProtectedMeanwhile": {
			reason: "Protection in the last good definition is stronger than pruning.",
			record: record(fleet.PhaseProvisioned),
			to:     fleetOf("2", prune, clusterOf(keyA, "2", "x")),
			found:  &protected,
			want:   standing{Revision: "1", Orphan: true},
		},
		"VanishedMeanwhile": {
			reason: "A cluster that vanished while no agent ran is pruned where the fleet says so.",
			record: record(fleet.PhaseProvisioned),
			to:     fleetOf("2", prune, clusterOf(keyA, "2", "x")),
			want:   standing{Revision: "1", Delete: true},
		},
		"OrphanBefore": {
			reason: "One that was an orphan before stays one.",
			record: record(fleet.PhaseProvisioned, keyB),
			to:     fleetOf("2", prune, clusterOf(keyA, "2", "x")),
			want:   standing{Orphan: true},
		},
		"Deleting": {
			reason: "A deletion that had begun goes on.",
			record: record(fleet.PhaseDeleting),
			to:     fleetOf("2", fleet.Prune{}, clusterOf(keyA, "2", "x")),
			want:   standing{Revision: "1", Delete: true},
		},
		"Broken": {
			reason: "One that is broken now is held to the recorded revision.",
			record: record(fleet.PhaseProvisioned),
			to: func() fleet.Fleet {
				f := fleetOf("2", prune, clusterOf(keyA, "2", "x"))
				f.Problems = []fleet.Problem{{Overlay: "clusters/prod/b", Message: "broken"}}
				return f
			}(),
			want: standing{Revision: "1", Problems: 1},
		},
		"Included": {
			reason: "One whose folder is included now did not vanish.",
			record: record(fleet.PhaseProvisioned),
			to: func() fleet.Fleet {
				f := fleetOf("2", prune, clusterOf(keyA, "2", "x"), clusterOf(keyC, "2", "x"))
				f.Parts = []fleet.Part{{Folder: "clusters/prod/b", Clusters: []fleet.Key{keyB}, By: []fleet.Includer{{Folder: "clusters/prod/c"}}}}
				return f
			}(),
			want: standing{Revision: "1", Problems: 1},
		},
		"BrokenWhileDeleting": {
			reason: "One that Git still has, broken, is not deleted on the word of a record: its last good definition says.",
			record: record(fleet.PhaseDeleting),
			to: func() fleet.Fleet {
				f := fleetOf("2", prune, clusterOf(keyA, "2", "x"))
				f.Problems = []fleet.Problem{{Overlay: "clusters/prod/b", Message: "broken"}}
				return f
			}(),
			want: standing{Revision: "1", Problems: 1},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := follow(tc.record, tc.to).State
			for rev, keys := range s.MissingDefinitions() {
				if tc.found == nil {
					tc.found = &good
				}
				f := fleetOf("1", fleet.Prune{}, *tc.found)
				if diff := cmp.Diff([]fleet.Key{keyB}, keys); diff != "" {
					t.Errorf("wanted of %s (-want +got):\n%s", rev, diff)
				}
				s = Decide(Input{Before: s, Older: []Revision{{Revision: rev, Fleet: &f}}}).State
			}
			if diff := cmp.Diff(tc.want, standings(s)["prod/b"]); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestBehindAfterARestart: an agent that starts takes a cluster for behind where the
// status branch does not say that it is as the revision says.
func TestBehindAfterARestart(t *testing.T) {
	there := fleet.Report{Cluster: keyA, Digest: "x", Overlay: clusterOf(keyA, "1", "x").Overlay, Phase: fleet.PhaseProvisioned}
	for name, c := range map[string]struct {
		reason string
		change func(r *fleet.Report)
		want   []fleet.Key
	}{
		"there":              {"the report is of this definition", func(*fleet.Report) {}, nil},
		"another definition": {"it was pushed while nobody ran", func(r *fleet.Report) { r.Digest = "w" }, []fleet.Key{keyA}},
		"on its way":         {"it was not there yet", func(r *fleet.Report) { r.Phase = fleet.PhaseWorkers }, []fleet.Key{keyA}},
		"failing":            {"nobody knows", func(r *fleet.Report) { r.Failure = "no route" }, []fleet.Key{keyA}},
	} {
		t.Run(name, func(t *testing.T) {
			r := there
			c.change(&r)
			f := fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x"), clusterOf(keyB, "1", "x"))
			made := follow(Recorded(Record{Reports: []fleet.Report{r}}), f)
			if diff := cmp.Diff(append(c.want, keyB), made.State.Status().Behind); diff != "" { // nothing says that b is there
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			first := []fleet.Key{keyB, keyA}
			if c.want != nil {
				first = []fleet.Key{keyA, keyB}
			}
			if diff := cmp.Diff(first, made.Changed); diff != "" {
				t.Errorf("%s: what is behind comes first (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
