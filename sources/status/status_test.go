package status_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

var update = flag.Bool("update", false, "write the expected files")

var self = fleet.Owner{Agent: "agent-a", Epoch: 1}

// owned returns a branch whose owner is self.
func owned(t *testing.T) *branch {
	t.Helper()
	b := &branch{}
	if o, err := status.NewArbiter(b).Claim(t.Context(), "agent-a", ""); err != nil || o != self {
		t.Fatalf("claim gives %v, %v", o, err)
	}
	return b
}

func writer(b sources.Branch, o status.Options) *status.Writer {
	o.Owner = self
	if o.Now == nil {
		o.Now = clock
	}
	return status.NewWriter(b, o)
}

func flush(t *testing.T, w *status.Writer) fleet.Revision {
	t.Helper()
	rev, err := w.Flush(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return rev
}

func TestFiles(t *testing.T) {
	b := owned(t)
	w := writer(b, status.Options{})
	w.PutFleet(sources.FleetStatus{
		Fleet: "demo", Revision: report("").Revision,
		Problems: []fleet.Problem{{Overlay: "clusters/dev/us-1", File: "clusters/dev/us-1/cluster.yaml", Object: "Cluster dev/us-1", Field: "spec.paussed", Message: "unknown field", Hint: "did you mean paused?"}},
		Orphans:  []fleet.Key{{Namespace: "dev", Name: "old"}},
	})
	w.Put(report(fleet.PhaseWorkers))
	flush(t, w)
	for _, path := range []string{"clusters/prod/eu-1.yaml", "fleet.yaml", "owner.yaml"} {
		golden(t, filepath.Join("testdata", filepath.Base(path)), b.file(t, path))
	}
	_, tr, _ := b.Read(t.Context())
	s, err := status.Read(tr)
	if err != nil {
		t.Fatal(err)
	}
	want := report(fleet.PhaseWorkers)
	want.Actions = nil
	c, ok := s.Cluster(eu1)
	if diff := cmp.Diff(want, c.Report); !ok || diff != "" {
		t.Errorf("the report is not read back: %s", diff)
	}
	if s.Owner != self || s.Fleet.Fleet != "demo" || len(s.Fleet.Problems) != 1 || s.Fleet.Problems[0].Field != "spec.paussed" || len(s.Fleet.Orphans) != 1 {
		t.Errorf("read back: %+v %+v", s.Owner, s.Fleet)
	}
}

// TestDamagedMachineIsReadBack: a machine whose tags are damaged has no name that anybody
// knows. The next agent reads what is told of it all the same.
func TestDamagedMachineIsReadBack(t *testing.T) {
	b := owned(t)
	w := writer(b, status.Options{})
	want := report(fleet.PhaseWorkers)
	want.Actions = nil
	want.Machines = []fleet.MachineReport{{
		Machine: fleet.Machine{ProviderID: "inmemory://one", Role: fleet.RoleWorker, State: fleet.MachineRunning, Message: "its tags are damaged"},
		Phase:   fleet.MachinePhaseRunning,
	}}
	w.Put(want)
	flush(t, w)
	_, tr, _ := b.Read(t.Context())
	s, err := status.Read(tr)
	if err != nil {
		t.Fatal(err)
	}
	c, ok := s.Cluster(eu1)
	if diff := cmp.Diff(want, c.Report); !ok || diff != "" {
		t.Errorf("the report is not read back: %s", diff)
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (run with -update to accept): %s", path, diff)
	}
}

// Safety: same facts, no commit; by the same writer and by one that starts
// with nothing but the branch, at any later time.
func TestSameFactsNoCommit(t *testing.T) {
	b := owned(t)
	w := writer(b, status.Options{})
	w.Put(report(fleet.PhaseWorkers))
	w.PutFleet(sources.FleetStatus{Fleet: "demo", Revision: report("").Revision})
	flush(t, w)
	n := len(b.log)
	later := writer(b, status.Options{Now: func() time.Time { return clock().Add(time.Hour) }})
	for _, w := range []*status.Writer{w, later} {
		w.Put(report(fleet.PhaseWorkers))
		w.PutFleet(sources.FleetStatus{Fleet: "demo", Revision: report("").Revision})
		flush(t, w)
	}
	if len(b.log) != n || b.commits != n {
		t.Errorf("%d commits, %d asked for, want %d", len(b.log), b.commits, n)
	}
}

// A condition that did not change its status keeps its time, one that did has
// the time of the change.
func TestTransitionTimes(t *testing.T) {
	b := owned(t)
	w := writer(b, status.Options{})
	w.Put(report(fleet.PhaseWorkers))
	flush(t, w)
	later := writer(b, status.Options{Now: func() time.Time { return clock().Add(time.Hour) }})
	r := report(fleet.PhaseProvisioned)
	r.Conditions[0].Status = fleet.True
	r.Conditions[1].Message = "another message"
	later.Put(r)
	flush(t, later)
	_, tr, _ := b.Read(t.Context())
	s, err := status.Read(tr)
	if err != nil {
		t.Fatal(err)
	}
	c, _ := s.Cluster(eu1)
	var got []string
	for _, cond := range c.Cluster.Status.Conditions {
		got = append(got, cond.Type+" "+cond.LastTransitionTime.UTC().Format(time.TimeOnly))
	}
	if diff := cmp.Diff([]string{"Available 04:04:05", "InfrastructureReady 03:04:05"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestMessages(t *testing.T) {
	b := owned(t)
	w := writer(b, status.Options{})
	w.Put(report(fleet.PhaseWorkers))
	flush(t, w)
	r := report(fleet.PhaseProvisioned)
	r.Actions = []string{"SyncNode eu-1-md-0-9xw4t: label tier is missing"}
	w.Put(r)
	flush(t, w)
	other := report(fleet.PhaseControlPlane)
	other.Cluster.Name, other.Actions = "eu-2", nil
	r.Failure, r.Actions = "cannot create machine: no capacity\nin zone a", nil
	w.Put(other)
	w.Put(r)
	flush(t, w)
	w.Forget(eu1)
	flush(t, w)
	var got []string
	for _, l := range b.log {
		got = append(got, l.Message, strings.Join(l.Trailers, "\n"))
	}
	trailers := "Fairlead-Revision: main@sha1:5b3c7e0a1f2d4c6b8a9e0f1d2c3b4a5968778695\nFairlead-Agent: agent-a\nFairlead-Epoch: 1"
	want := []string{
		"owner: agent-a (epoch 1)", "Fairlead-Agent: agent-a\nFairlead-Epoch: 1",
		"prod/eu-1: Workers\n\nprod/eu-1: CreateMachine eu-1-md-0-9xw4t: pool eu-1-md-0 has 0 of 1 machines", trailers,
		"prod/eu-1: Workers → Provisioned\n\nprod/eu-1: SyncNode eu-1-md-0-9xw4t: label tier is missing", trailers,
		"2 clusters: 1 failed, 1 → ControlPlane\n\nprod/eu-1: cannot create machine: no capacity", trailers,
		"prod/eu-1: gone", "Fairlead-Agent: agent-a\nFairlead-Epoch: 1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, fs := b.head(); fs["clusters/prod/eu-1.yaml"] != nil || strings.Contains(b.file(t, "fleet.yaml"), "prod/eu-1") {
		t.Error("what was forgotten is still there")
	}
}

// Files that somebody broke are written again; a broken owner.yaml stops
// everything.
func TestBrokenFiles(t *testing.T) {
	b := owned(t)
	w := writer(b, status.Options{})
	w.Put(report(fleet.PhaseWorkers))
	head := flush(t, w)
	want := b.file(t, "clusters/prod/eu-1.yaml")
	_, err := b.Commit(t.Context(), head, sources.Commit{Message: "break", Edits: map[string][]byte{"clusters/prod/eu-1.yaml": []byte("a: [")}})
	if err != nil {
		t.Fatal(err)
	}
	_, tr, _ := b.Read(t.Context())
	s, err := status.Read(tr)
	if damage := s.DamageOf(report("").Cluster); err != nil || fleet.KindOf(damage) != fleet.Invalid || !strings.Contains(damage.Error(), "clusters/prod/eu-1.yaml") {
		t.Errorf("reading a broken file gives %v, %v", damage, err)
	}
	if s.Whole() == nil || s.DamageOf(fleet.Key{Namespace: "prod", Name: "eu-2"}) != nil {
		t.Errorf("of all clusters %v", s.Damaged)
	}
	again := writer(b, status.Options{})
	again.Put(report(fleet.PhaseWorkers))
	head = flush(t, again)
	if got := b.file(t, "clusters/prod/eu-1.yaml"); got != want {
		t.Error(cmp.Diff(want, got))
	}
	if _, err := b.Commit(t.Context(), head, sources.Commit{Message: "break", Edits: map[string][]byte{"owner.yaml": []byte("agent: agent-a")}}); err != nil {
		t.Fatal(err)
	}
	if _, err := status.NewArbiter(b).Claim(t.Context(), "agent-b", ""); fleet.KindOf(err) != fleet.Invalid {
		t.Errorf("claiming with a broken owner.yaml gives %v", err)
	}
}
