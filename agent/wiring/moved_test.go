package wiring

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"fairlead.dev/agent/observability/metrics"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// TestMovedStatus: a command that names the branch which the status was moved from reads no old status
// and writes no request that nobody answers. It says which branch has the status. Its history can be
// looked at.
func TestMovedStatus(t *testing.T) {
	url := repository(t)
	s := Settings{Source: url}
	from, err := s.OpenBranch("fairlead/status")
	if err != nil {
		t.Fatal(err)
	}
	to, err := s.OpenBranch("fleet/state")
	if err != nil {
		t.Fatal(err)
	}
	owner, err := status.NewArbiter(from).Claim(t.Context(), "a", "here")
	if err != nil {
		t.Fatal(err)
	}
	w := status.NewWriter(from, status.Options{Owner: owner})
	w.PutFleet(sources.FleetStatus{Fleet: "f"})
	if _, err := w.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ReadStatus(t.Context(), "fairlead/status"); err != nil {
		t.Fatal(err)
	}
	former, err := s.openBranch("fairlead/status", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := status.Move(t.Context(), former, to, "fleet/state"); err != nil {
		t.Fatal(err)
	}
	const want = `the status of the fleet was moved to branch "fleet/state", and what is here is old. Fix: set --status-branch fleet/state`
	_, err = s.ReadStatus(t.Context(), "fairlead/status")
	suspend := fleet.Request{Cluster: fleet.Key{Namespace: "prod", Name: "eu-1"}, Kind: fleet.RequestSuspend, By: "Ada <ada@example.com>", At: time.Now()}
	for what, err := range map[string]error{"the status": err, "the request": status.NewRequests(from).Ask(t.Context(), suspend)} {
		if fleet.KindOf(err) != fleet.NotFound || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if now, err := s.ReadStatus(t.Context(), "fleet/state"); err != nil || now.Owner.Agent != "a" {
		t.Errorf("the branch that has the status says %+v, %v", now.Owner, err)
	}
	if _, ok := from.(sources.Logged); !ok {
		t.Error("the history of the branch cannot be read")
	}
}

// TestSignpost: an agent on a branch of its own writes on the default branch where the status is. On the
// default branch, and in a folder, there is nothing to write.
func TestSignpost(t *testing.T) {
	folder := t.TempDir()
	for name, c := range map[string]struct {
		s    Settings
		want bool
	}{
		"fleet/state":     {Settings{Source: repository(t)}, true},
		"fairlead/status": {Settings{Source: repository(t)}, false},
		"in/folder":       {Settings{Source: folder}, false},
		"in/status":       {Settings{Source: repository(t), StatusRepository: folder}, false},
	} {
		c.s.Log = slog.New(slog.DiscardHandler)
		source, err := c.s.OpenSource()
		if err != nil {
			t.Fatal(err)
		}
		b, err := c.s.statusBranches(source, nil, metrics.New("v0"))(name)
		if err != nil {
			t.Fatal(err)
		}
		if (b.Signpost != nil) != c.want {
			t.Errorf("%s has a signpost: %v", name, !c.want)
		}
		if !c.want {
			continue
		}
		if err := b.Signpost(t.Context(), "f"); err != nil {
			t.Fatal(err)
		}
		at, err := c.s.OpenBranch("fairlead/status")
		if err != nil {
			t.Fatal(err)
		}
		_, tree, err := at.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if l, err := status.Locate(tree); err != nil || l.Signposts["f"] != name {
			t.Errorf("the default branch says %+v, %v", l, err)
		}
	}
}
