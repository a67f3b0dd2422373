package wiring

import (
	"log/slog"
	"testing"
	"time"

	"fairlead.dev/agent/observability/metrics"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/dir"
)

// TestCommitted: the page beside an agent hears of each commit of its status.
func TestCommitted(t *testing.T) {
	f, err := dir.New(dir.Options{Path: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	commits := 0
	s := Settings{StatusInterval: time.Second, Log: slog.New(slog.DiscardHandler), Committed: func() { commits++ }}
	b := s.statusBranch(f.Branch(), StatusKeys{}, metrics.New("test"))
	owner, err := b.Arbiter.Claim(t.Context(), "a", "")
	if err != nil {
		t.Fatal(err)
	}
	w := b.Writer(owner, nil)
	for range 2 { // the second time there is nothing to commit
		w.PutFleet(sources.FleetStatus{Fleet: "f", Revision: fleet.Revision{Ref: "main", Digest: "sha1:1"}})
		if _, err := w.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if commits != 1 {
		t.Errorf("%d commits were told, want 1", commits)
	}
}
