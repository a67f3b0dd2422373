package status_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/git/gitserver"
	"fairlead.dev/sources/status"
)

// A compacted history tells of each cluster as before; the owner, requests and readers go
// on with it, and nothing else is written.
func TestCompactedStatus(t *testing.T) {
	bare, url := served(t, gitserver.Options{})
	b := status.Watch(gitBranch(t, url))
	if _, err := status.NewArbiter(b).Claim(t.Context(), "agent-a", ""); err != nil {
		t.Fatal(err)
	}
	w := writer(b, status.Options{Now: time.Now})
	reader := status.NewRequests(gitBranch(t, url))
	put := func(name string, round int) {
		r := report(fleet.PhaseWorkers)
		r.Cluster.Name, r.Waiting = name, []string{fmt.Sprint("round ", round)}
		w.Put(r)
		if _, err := w.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	put("quiet", 0)
	for i := range 12 {
		put("busy", i)
	}
	if _, err := reader.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	story := run(t, "-C", bare, "log", "-1", "--format=%s %cI", "fairlead/status", "--", "clusters/prod/quiet.yaml")
	owner := run(t, "-C", bare, "show", "fairlead/status:owner.yaml")
	bound := fleet.HistoryBound{Commits: 8}
	h, err := w.Compact(t.Context(), bound)
	if err != nil || h.Commits != 9 {
		t.Fatalf("compacted to %+v, %v", h, err)
	}
	head := run(t, "-C", bare, "rev-parse", "fairlead/status")
	if !b.Wrote(head) {
		t.Error("a webhook that tells of it would be news")
	}
	if got := run(t, "-C", bare, "log", "-1", "--format=%s %(trailers:key=Fairlead-Agent,valueonly)", "fairlead/status"); strings.TrimSpace(got) != "history: compacted to 8 commits agent-a" {
		t.Errorf("the newest commit says %q", got)
	}
	if got := run(t, "-C", bare, "log", "-1", "--format=%s %cI", "fairlead/status", "--", "clusters/prod/quiet.yaml"); got != story {
		t.Errorf("the story of a cluster ends with %q, and was %q", got, story)
	}
	if got := run(t, "-C", bare, "show", "fairlead/status:owner.yaml"); got != owner {
		t.Errorf("the owner is %q", got)
	}
	if err := reader.Ask(t.Context(), fleet.Request{Kind: fleet.RequestSuspend, Cluster: eu1, By: "me", At: clock(), Reason: "test"}); err != nil {
		t.Error(err)
	}
	put("busy", 9)
	if h, err = w.Compact(t.Context(), bound); err != nil || h.Commits != 10 {
		t.Errorf("within the bound it is %+v, %v", h, err)
	}
	if got := run(t, "-C", bare, "merge-base", head, "fairlead/status"); got != head {
		t.Error("it was compacted again")
	}
	_, tr, err := b.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := status.Read(tr)
	if err != nil || len(s.Clusters) != 2 || len(s.Requests) != 1 || s.Owner != self {
		t.Errorf("read %d clusters, %d requests, owner %v, %v", len(s.Clusters), len(s.Requests), s.Owner, err)
	}
}

// An agent that lost the fleet compacts nothing.
func TestDeposedCompactsNothing(t *testing.T) {
	bare, url := served(t, gitserver.Options{})
	b := gitBranch(t, url)
	arbiter := status.NewArbiter(b)
	if _, err := arbiter.Claim(t.Context(), "agent-a", ""); err != nil {
		t.Fatal(err)
	}
	w := writer(status.Watch(gitBranch(t, url)), status.Options{})
	if _, err := arbiter.HandOver(t.Context(), self, "agent-b", ""); err != nil {
		t.Fatal(err)
	}
	head := run(t, "-C", bare, "rev-parse", "fairlead/status")
	for range 2 {
		if _, err := w.Compact(t.Context(), fleet.HistoryBound{Commits: 1}); !errors.Is(err, status.ErrDeposed) {
			t.Errorf("it gives %v", err)
		}
	}
	if got := run(t, "-C", bare, "rev-parse", "fairlead/status"); got != head {
		t.Error("the history is another")
	}
}

// A branch without history, as that in a folder, has nothing to compact.
func TestNothingToCompact(t *testing.T) {
	for name, b := range map[string]sources.Branch{"plain": owned(t), "watched": status.Watch(owned(t))} {
		t.Run(name, func(t *testing.T) {
			if h, err := writer(b, status.Options{}).Compact(t.Context(), fleet.HistoryBound{Commits: 1}); err != nil || h != (sources.History{}) {
				t.Errorf("it gives %+v, %v", h, err)
			}
		})
	}
}

// A racing branch loses each compaction to another push.
type racing struct {
	*branch

	tries int
}

func (r *racing) Compact(context.Context, fleet.Revision, sources.Compaction) (fleet.Revision, sources.History, error) {
	r.tries++
	return fleet.Revision{}, sources.History{}, fleet.Errorf(fleet.Conflict, "compact", "another push came first")
}

// A compaction that is overtaken is given up after three pushes, each of a whole history.
func TestOvertakenCompactions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &racing{branch: owned(t)}
		if _, err := writer(r, status.Options{}).Compact(t.Context(), fleet.HistoryBound{Commits: 1}); fleet.KindOf(err) != fleet.Conflict || r.tries != 3 {
			t.Errorf("after %d pushes: %v", r.tries, err)
		}
	})
}
