package decisions_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/agent/loop/decisions"
	"fairlead.dev/agent/loop/reports"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
)

var (
	keyA = fleet.Key{Namespace: "prod", Name: "a"}
	keyB = fleet.Key{Namespace: "prod", Name: "b"}
)

// queue notes what is added to it, with its lane.
type queue struct{ added []string }

func (q *queue) Add(k fleet.Key)     { q.added = append(q.added, "at once "+k.String()) }
func (q *queue) AddBulk(k fleet.Key) { q.added = append(q.added, "later "+k.String()) }

// revision returns a revision of these clusters.
func revision(digest string, keys ...fleet.Key) rollout.Input {
	rev := fleet.Revision{Ref: "main", Digest: "sha1:" + digest}
	f := &fleet.Fleet{ID: "f", Revision: rev}
	for _, k := range keys {
		f.Clusters = append(f.Clusters, fleet.Cluster{Key: k, Overlay: "clusters/" + k.String(), Revision: rev, Digest: digest})
	}
	return rollout.Input{Newest: &rollout.Revision{Revision: rev, Fleet: f}}
}

func expect(t *testing.T, reason string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", reason, diff)
	}
}

func always(fleet.Report) bool { return true }

// What a decision changes is queued, in the lane that it was made for, before those that
// follow learn of it.
func TestDecisionIsHandedOn(t *testing.T) {
	q := &queue{}
	d := decisions.New(q, reports.New())
	var seen []int
	d.Follow(func(made rollout.Decision) {
		expect(t, "it is decided already", d.Now().Revision(), made.State.Revision())
		seen = append(seen, len(q.added))
	})
	d.DecideBulk(revision("1", keyA))
	d.Decide(revision("2", keyA, keyB))
	expect(t, "clusters wait in their lanes", q.added, []string{"later prod/a", "at once prod/a", "at once prod/b"})
	expect(t, "followers are told afterwards", seen, []int{1, 3})
}

// Each decision follows from the one before it, whoever makes it.
func TestNoDecisionIsLost(t *testing.T) {
	d := decisions.New(&queue{}, reports.New())
	d.DecideBulk(revision("1", keyA, keyB))
	done := make(chan struct{})
	for _, k := range []fleet.Key{keyA, keyB} {
		go func() {
			d.Decide(rollout.Input{Requests: &rollout.Requests{}})
			target, _ := d.Now().Target(k)
			d.Passed(rollout.Pass{Target: target, Report: fleet.Report{Cluster: k, Phase: fleet.PhaseProvisioned}}, nil, always)
			done <- struct{}{}
		}()
	}
	<-done
	<-done
	expect(t, "both clusters are there", d.Now().Status().Behind, []fleet.Key(nil))
}

// The report of a pass that ends after its cluster was forgotten does not bring it back.
func TestForgottenDuringAPass(t *testing.T) {
	store, q := reports.New(), &queue{}
	d := decisions.New(q, store)
	d.DecideBulk(revision("1", keyA, keyB))
	target, _ := d.Now().Target(keyA)
	d.DecideBulk(revision("2", keyB))
	expect(t, "it is forgotten", d.Decide(rollout.Input{Gone: []fleet.Key{keyA}}).Forgotten, []fleet.Key{keyA})
	told := 0
	d.Follow(func(rollout.Decision) { told++ })
	_, known := d.Passed(rollout.Pass{Target: target, Report: fleet.Report{Cluster: keyA, Phase: fleet.PhaseProvisioned}}, nil, always)
	expect(t, "it is known", known, false)
	_, seen := d.Report(keyA)
	expect(t, "it has a report", seen, false)
	expect(t, "followers were told", told, 0)
}

// A fleet goes on from what the agent before this one decided, and nobody takes that for
// news.
func TestRestore(t *testing.T) {
	store, q := reports.New(), &queue{}
	d := decisions.New(q, store)
	store.Follow(func(reports.Change) { t.Error("it is told as a new report") })
	d.Follow(func(rollout.Decision) { t.Error("it is told as a decision") })
	before := fleet.Report{Cluster: keyA, Phase: fleet.PhaseWorkers}
	d.Restore(rollout.Recorded(rollout.Record{Fleet: "f", Reports: []fleet.Report{before}}), []fleet.Report{before})
	expect(t, "the cluster is known", d.Now().Has(keyA), true)
	got, seen := d.Report(keyA)
	expect(t, "with its report", got, before)
	expect(t, "this agent has seen it", seen, false)
	expect(t, "it is queued", q.added, []string(nil))
}
