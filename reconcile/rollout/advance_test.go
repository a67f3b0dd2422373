package rollout

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
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

func standings(s State) map[string]standing {
	out := make(map[string]standing)
	for _, k := range s.Keys() {
		t, _ := s.Target(k)
		now := standing{Orphan: t.Why == whyRemoved, Problems: len(t.Problems)}
		if t.Cluster != nil {
			now.Revision, now.Delete = t.Cluster.Revision.Hash(), t.Cluster.Delete
		}
		out[k.String()] = now
	}
	return out
}

// follow returns the decision on f as the newest revision.
func follow(s State, f fleet.Fleet) Decision {
	return Decide(Input{Before: s, Newest: &Revision{Revision: f.Revision, Fleet: &f}})
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
			var s State
			for _, f := range tc.from {
				s = follow(s, f).State
			}
			got := follow(s, tc.to)
			if diff := cmp.Diff(tc.want, standings(got.State)); diff != "" {
				t.Errorf("%s\nstandings (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.changed, got.Changed); diff != "" {
				t.Errorf("%s\nchanged (-want +got):\n%s", tc.reason, diff)
			}
			if problems := got.State.Problems(); len(problems) != tc.problems {
				t.Errorf("%s\ngot problems %v, want %d", tc.reason, problems, tc.problems)
			}
		})
	}
}
