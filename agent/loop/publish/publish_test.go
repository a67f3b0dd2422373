package publish_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/agent/loop/publish"
	"fairlead.dev/agent/loop/reports"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// world is a status branch with its metrics, and what is decided.
type world struct {
	state rollout.State
	fleet sources.FleetStatus
	wrote []string
	ends  error // of the writer
}

func (w *world) Now() rollout.State        { return w.state }
func (w *world) Put(r fleet.Report)        { w.wrote = append(w.wrote, "put "+r.Cluster.String()) }
func (w *world) Forget(k fleet.Key)        { w.wrote = append(w.wrote, "forget "+k.String()) }
func (w *world) Run(context.Context) error { return w.ends }

func (w *world) PutFleet(s sources.FleetStatus) {
	w.fleet = s
	w.wrote = append(w.wrote, "put the fleet")
}

func (w *world) Flush(context.Context) (fleet.Revision, error) {
	w.wrote = append(w.wrote, "flush")
	return fleet.Revision{}, nil
}

func (w *world) SetFleet(_ sources.FleetStatus, clusters, blocked int) {
	w.wrote = append(w.wrote, fmt.Sprintf("show %d clusters, %d blocked", clusters, blocked))
}

func (w *world) publisher(owned error, problems ...func() (fleet.Problem, bool)) *publish.Publisher {
	return publish.New(publish.Parts{
		Writer: w, Fleet: w, Home: func() sources.HomeStatus { return sources.HomeStatus{Step: "begin"} }, Problems: problems, Made: func(fleet.Revision) time.Time { return time.Time{} },
		Owned: func(context.Context) error { return owned }, Metrics: w, Log: slog.New(slog.DiscardHandler),
	})
}

func TestPutFleet(t *testing.T) {
	rev := fleet.Revision{Ref: "main", Digest: "sha1:1"}
	k := fleet.Key{Namespace: "prod", Name: "a"}
	w := &world{}
	of := fleet.Problem{File: "fleet.yaml", Message: "of the revision"}
	damaged := rollout.Recorded(rollout.Record{Damaged: map[fleet.Key]string{k: "it is cut off"}})
	w.state = rollout.Decide(rollout.Input{Before: damaged, Newest: &rollout.Revision{Revision: rev, Fleet: &fleet.Fleet{ID: "f", Revision: rev, Problems: []fleet.Problem{of}}}}).State
	beside := fleet.Problem{Message: "of the escrow"}
	p := w.publisher(nil,
		func() (fleet.Problem, bool) { return fleet.Problem{Message: "none"}, false },
		func() (fleet.Problem, bool) { return beside, true },
	)
	if err := p.WriteFleet(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(w.fleet.Problems) != 3 || w.fleet.Problems[0] != of || w.fleet.Problems[1] != beside {
		t.Errorf("problems are not those of the revision, those beside it, and those of damaged clusters: %v", w.fleet.Problems)
	}
	if w.fleet.Home.Step != "begin" || w.fleet.Revision != rev {
		t.Errorf("the status is %+v", w.fleet)
	}
	if diff := cmp.Diff([]string{"show 1 clusters, 0 blocked", "put the fleet", "flush"}, w.wrote); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReport(t *testing.T) {
	w := &world{}
	p := w.publisher(nil)
	k := fleet.Key{Namespace: "prod", Name: "a"}
	p.Report(reports.Change{Cluster: k, Report: fleet.Report{Cluster: k}})
	p.Report(reports.Change{Cluster: k, Gone: true})
	if diff := cmp.Diff([]string{"put prod/a", "forget prod/a"}, w.wrote); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRun(t *testing.T) {
	lost, broken := errors.New("the fleet is b's"), errors.New("no space")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx               context.Context
		ends, owned, want error
	}{
		"another agent owns the fleet":     {t.Context(), fmt.Errorf("write: %w", status.ErrDeposed), lost, lost},
		"the owner cannot be read":         {t.Context(), status.ErrDeposed, nil, status.ErrDeposed},
		"nothing can be written":           {t.Context(), broken, lost, broken},
		"the agent ends":                   {ended, nil, nil, nil},
		"the agent ends, and cannot write": {ended, broken, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{ends: c.ends}
			if err := w.publisher(c.owned).Run(c.ctx); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("the error is %v, want %v", err, c.want)
			}
		})
	}
}
