package agent

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

var (
	keyA = fleet.Key{Namespace: "prod", Name: "a"}
	keyB = fleet.Key{Namespace: "prod", Name: "b"}
	keyC = fleet.Key{Namespace: "prod", Name: "c"}
)

func revision(n string) fleet.Revision { return fleet.Revision{Ref: "main", Digest: "sha1:" + n} }

// clusterOf returns cluster k at revision rev with that content.
func clusterOf(k fleet.Key, rev, content string) fleet.Cluster {
	return fleet.Cluster{Key: k, Overlay: "clusters/" + k.String(), Revision: revision(rev), Digest: content, Provider: "inmemory"}
}

func fleetOf(rev string, prune fleet.Prune, clusters ...fleet.Cluster) fleet.Fleet {
	return fleet.Fleet{ID: "f", Revision: revision(rev), Clusters: clusters, Config: fleet.Config{Prune: prune}}
}

// standing is what a test says of one cluster.
type standing struct {
	Revision string // of the definition that is held to; empty: none
	Delete   bool
	Orphan   bool
	Problems int
}

func standings(d desired) map[string]standing {
	out := make(map[string]standing)
	for k, h := range d.clusters {
		s := standing{Orphan: h.orphan, Problems: len(h.problems)}
		if h.cluster != nil {
			s.Revision, s.Delete = h.cluster.Revision.Hash(), h.cluster.Delete
		}
		out[k.String()] = s
	}
	return out
}

func TestAdvance(t *testing.T) {
	no := fleet.Prune{}
	one := fleet.Prune{Enabled: true, Limit: 1}
	marked := func(c fleet.Cluster) fleet.Cluster { c.Delete = true; return c }
	protected := func(c fleet.Cluster) fleet.Cluster { c.Protect = true; return c }
	broken := func(f fleet.Fleet, p ...fleet.Problem) fleet.Fleet { f.Problems = p; return f }
	included := func(f fleet.Fleet, p ...fleet.Part) fleet.Fleet { f.Parts = p; return f }
	elsewhere := func(c fleet.Cluster, dir string) fleet.Cluster { c.Overlay = dir; return c }
	two := fleetOf("1", no, clusterOf(keyA, "1", "x"), clusterOf(keyB, "1", "x"))

	tests := map[string]struct {
		reason   string
		from     []fleet.Fleet
		to       fleet.Fleet
		want     map[string]standing
		changed  []fleet.Key
		problems int
	}{
		"Unchanged": {
			reason: "Equal content is the same definition: nothing is worked on, and the revision is that of the last change.",
			from:   []fleet.Fleet{two},
			to:     fleetOf("2", no, clusterOf(keyA, "2", "x"), clusterOf(keyB, "2", "y")),
			want:   map[string]standing{"prod/a": {Revision: "1"}, "prod/b": {Revision: "2"}},

			changed: []fleet.Key{keyB},
		},
		"BrokenOverlay": {
			reason: "A cluster whose overlay is broken stays at its last good definition; the others go on.",
			from:   []fleet.Fleet{two},
			to: broken(fleetOf("2", no, clusterOf(keyB, "2", "y")),
				fleet.Problem{Overlay: "clusters/prod/a", Message: "broken"}),
			want:     map[string]standing{"prod/a": {Revision: "1", Problems: 1}, "prod/b": {Revision: "2"}},
			changed:  []fleet.Key{keyA, keyB},
			problems: 1,
		},
		"BrokenCluster": {
			reason: "A problem that names a cluster holds that one, wherever it lies now.",
			from:   []fleet.Fleet{two},
			to: broken(fleetOf("2", no, clusterOf(keyB, "2", "x")),
				fleet.Problem{Overlay: "elsewhere", Cluster: keyA, Message: "broken"}),
			want:     map[string]standing{"prod/a": {Revision: "1", Problems: 1}, "prod/b": {Revision: "1"}},
			changed:  []fleet.Key{keyA},
			problems: 1,
		},
		"BrokenWithPrune": {
			reason: "A broken cluster did not vanish: pruning does not see it.",
			from:   []fleet.Fleet{two},
			to: broken(fleetOf("2", one, clusterOf(keyB, "2", "x")),
				fleet.Problem{Message: "somewhere"}),
			want:     map[string]standing{"prod/a": {Revision: "1", Problems: 1}, "prod/b": {Revision: "1"}},
			changed:  []fleet.Key{keyA},
			problems: 1,
		},
		"Vanished": {
			reason:  "A cluster that vanishes is an orphan and is not deleted.",
			from:    []fleet.Fleet{two},
			to:      fleetOf("2", no, clusterOf(keyA, "2", "x")),
			want:    map[string]standing{"prod/a": {Revision: "1"}, "prod/b": {Revision: "1", Orphan: true}},
			changed: []fleet.Key{keyB},
		},
		"VanishedWithPrune": {
			reason:  "Where the fleet says to prune, it is deleted with its last definition.",
			from:    []fleet.Fleet{two},
			to:      fleetOf("2", one, clusterOf(keyA, "2", "x")),
			want:    map[string]standing{"prod/a": {Revision: "1"}, "prod/b": {Revision: "1", Delete: true}},
			changed: []fleet.Key{keyB},
		},
		"ProtectedWithPrune": {
			reason:  "Protection is stronger than pruning.",
			from:    []fleet.Fleet{fleetOf("1", no, clusterOf(keyA, "1", "x"), protected(clusterOf(keyB, "1", "x")))},
			to:      fleetOf("2", one, clusterOf(keyA, "2", "x")),
			want:    map[string]standing{"prod/a": {Revision: "1"}, "prod/b": {Revision: "1", Orphan: true}},
			changed: []fleet.Key{keyB},
		},
		"OverPruneLimit": {
			reason: "More than the limit at once is taken for an accident: none is deleted.",
			from:   []fleet.Fleet{fleetOf("1", no, clusterOf(keyA, "1", "x"), clusterOf(keyB, "1", "x"), clusterOf(keyC, "1", "x"))},
			to:     fleetOf("2", one, clusterOf(keyA, "2", "x")),
			want: map[string]standing{
				"prod/a": {Revision: "1"}, "prod/b": {Revision: "1", Orphan: true}, "prod/c": {Revision: "1", Orphan: true},
			},
			changed:  []fleet.Key{keyB, keyC},
			problems: 1,
		},
		"AllVanished": {
			reason:   "A revision without any cluster deletes nothing, whatever it says about pruning.",
			from:     []fleet.Fleet{fleetOf("1", no, clusterOf(keyA, "1", "x"))},
			to:       fleetOf("2", one),
			want:     map[string]standing{"prod/a": {Revision: "1", Orphan: true}},
			changed:  []fleet.Key{keyA},
			problems: 1,
		},
		"Included": {
			reason: "A cluster whose folder another overlay includes did not vanish: both are held, and the other is not applied.",
			from:   []fleet.Fleet{two},
			to: included(fleetOf("2", one, clusterOf(keyB, "2", "x"), clusterOf(keyC, "2", "x")),
				fleet.Part{Folder: "clusters/prod/a", Clusters: []fleet.Key{keyA}, By: []fleet.Includer{{Folder: "clusters/prod/c"}}}),
			want:     map[string]standing{"prod/a": {Revision: "1", Problems: 1}, "prod/b": {Revision: "1"}},
			changed:  []fleet.Key{keyA},
			problems: 2,
		},
		"IncludedAndTakenOver": {
			reason: "Nor does the other define it.",
			from:   []fleet.Fleet{two},
			to: included(fleetOf("2", one, elsewhere(clusterOf(keyA, "2", "y"), "clusters/dev"), clusterOf(keyB, "2", "x")),
				fleet.Part{Folder: "clusters/prod/a", Clusters: []fleet.Key{keyA}, By: []fleet.Includer{{Folder: "clusters/dev"}}}),
			want:     map[string]standing{"prod/a": {Revision: "1", Problems: 1}, "prod/b": {Revision: "1"}},
			changed:  []fleet.Key{keyA},
			problems: 2,
		},
		"IncludedAndMoved": {
			reason: "Nor is it gone where its folder was moved to one that is included.",
			from:   []fleet.Fleet{two},
			to: included(fleetOf("2", one, clusterOf(keyB, "2", "x")),
				fleet.Part{Folder: "clusters/elsewhere", Clusters: []fleet.Key{keyA}, By: []fleet.Includer{{Folder: "clusters/dev"}}}),
			want:     map[string]standing{"prod/a": {Revision: "1", Problems: 1}, "prod/b": {Revision: "1"}},
			changed:  []fleet.Key{keyA},
			problems: 2,
		},
		"IncludedBase": {
			reason: "A folder that is included and of which nothing lives is no cluster and no problem.",
			from:   []fleet.Fleet{two},
			to: included(fleetOf("2", one, clusterOf(keyA, "2", "x"), clusterOf(keyB, "2", "x")),
				fleet.Part{Folder: "clusters/base", Clusters: []fleet.Key{keyC}, By: []fleet.Includer{{Folder: "clusters/prod/a"}}}),
			want: map[string]standing{"prod/a": {Revision: "1"}, "prod/b": {Revision: "1"}},
		},
		"IncludedOrphan": {
			reason: "An orphan is not live: whose folder is included stays one.",
			from:   []fleet.Fleet{two, fleetOf("2", no, clusterOf(keyA, "2", "x"))},
			to: included(fleetOf("3", one, clusterOf(keyA, "3", "x")),
				fleet.Part{Folder: "clusters/prod/b", Clusters: []fleet.Key{keyB}, By: []fleet.Includer{{Folder: "clusters/prod/a"}}}),
			want: map[string]standing{"prod/a": {Revision: "1"}, "prod/b": {Revision: "1", Orphan: true}},
		},
		"OldOrphan": {
			reason: "A cluster that vanished before pruning was switched on stays an orphan.",
			from:   []fleet.Fleet{two, fleetOf("2", no, clusterOf(keyA, "2", "x"))},
			to:     fleetOf("3", one, clusterOf(keyA, "3", "x")),
			want:   map[string]standing{"prod/a": {Revision: "1"}, "prod/b": {Revision: "1", Orphan: true}},
		},
		"PrunedAndMore": {
			reason: "A pruned cluster stays one with the revisions that follow.",
			from:   []fleet.Fleet{two, fleetOf("2", one, clusterOf(keyA, "2", "x"))},
			to:     fleetOf("3", no, clusterOf(keyA, "3", "x")),
			want:   map[string]standing{"prod/a": {Revision: "1"}, "prod/b": {Revision: "1", Delete: true}},
		},
		"Deleting": {
			reason:  "A deletion that was asked for goes on when the files go.",
			from:    []fleet.Fleet{fleetOf("1", no, clusterOf(keyA, "1", "x"), marked(clusterOf(keyB, "1", "x")))},
			to:      fleetOf("2", no, clusterOf(keyA, "2", "x")),
			want:    map[string]standing{"prod/a": {Revision: "1"}, "prod/b": {Revision: "1", Delete: true}},
			changed: []fleet.Key{keyB},
		},
		"Back": {
			reason:  "An orphan that comes back is held to what came.",
			from:    []fleet.Fleet{two, fleetOf("2", no, clusterOf(keyA, "2", "x"))},
			to:      fleetOf("3", no, clusterOf(keyA, "3", "x"), clusterOf(keyB, "3", "x")),
			want:    map[string]standing{"prod/a": {Revision: "1"}, "prod/b": {Revision: "3"}},
			changed: []fleet.Key{keyB},
		},
		"PrunedBack": {
			reason:  "A pruned cluster that comes back is not deleted any more.",
			from:    []fleet.Fleet{two, fleetOf("2", one, clusterOf(keyA, "2", "x"))},
			to:      fleetOf("3", one, clusterOf(keyA, "3", "x"), clusterOf(keyB, "3", "x")),
			want:    map[string]standing{"prod/a": {Revision: "1"}, "prod/b": {Revision: "3"}},
			changed: []fleet.Key{keyB},
		},
		"Repaired": {
			reason: "Repaired with its old content, a cluster loses its problem.",
			from: []fleet.Fleet{two, broken(fleetOf("2", no, clusterOf(keyB, "2", "x")),
				fleet.Problem{Overlay: "clusters/prod/a", Message: "broken"})},
			to:      fleetOf("3", no, clusterOf(keyA, "3", "x"), clusterOf(keyB, "3", "x")),
			want:    map[string]standing{"prod/a": {Revision: "1"}, "prod/b": {Revision: "1"}},
			changed: []fleet.Key{keyA},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var d desired
			for _, f := range tc.from {
				d, _ = d.advance(f)
			}
			got, changed := d.advance(tc.to)
			if diff := cmp.Diff(tc.want, standings(got)); diff != "" {
				t.Errorf("%s\nstandings (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.changed, changed); diff != "" {
				t.Errorf("%s\nchanged (-want +got):\n%s", tc.reason, diff)
			}
			if len(got.problems) != tc.problems {
				t.Errorf("%s\ngot problems %v, want %d", tc.reason, got.problems, tc.problems)
			}
		})
	}
}

// recorded returns what is held to after reports.
func recorded(reports map[fleet.Key]fleet.Report, s sources.FleetStatus) desired {
	out := status.Status{Fleet: s}
	for k, r := range reports {
		r.Cluster = k
		out.Clusters = append(out.Clusters, status.Cluster{Report: r})
	}
	return recall(out)
}

func TestAdvanceFromRecord(t *testing.T) {
	record := func(phase fleet.Phase, orphans ...fleet.Key) desired {
		return recorded(map[fleet.Key]fleet.Report{
			keyB: {Revision: revision("1"), Overlay: "clusters/prod/b", Phase: phase},
		}, sources.FleetStatus{Orphans: orphans})
	}
	prune := fleet.Prune{Enabled: true, Limit: 5}
	good := clusterOf(keyB, "1", "x")
	protected := good
	protected.Protect = true
	tests := map[string]struct {
		reason string
		record desired
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
			record: recorded(map[fleet.Key]fleet.Report{
				keyB: {Revision: revision("1"), Overlay: "clusters/prod/b", Phase: fleet.PhaseProvisioned, Digest: "x"},
			}, sources.FleetStatus{}),
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
			d, _ := tc.record.advance(tc.to)
			h := d.clusters[keyB]
			if h.cluster == nil && h.recorded != nil && !h.orphan {
				if tc.found == nil {
					tc.found = &good
				}
				d.clusters[keyB] = h.restored(tc.found)
			}
			if diff := cmp.Diff(tc.want, standings(d)["prod/b"]); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
