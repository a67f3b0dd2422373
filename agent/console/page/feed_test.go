package page_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/console/page"
	"fairlead.dev/agent/loop/reports"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/dir"
	"fairlead.dev/sources/status"
)

// A branch is the status branch in a folder, which can be away.
type branch struct {
	sources.Branch
	mu   sync.Mutex
	away error
}

func (b *branch) set(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.away = err
}

func (b *branch) Read(ctx context.Context) (fleet.Revision, sources.Tree, error) {
	b.mu.Lock()
	err := b.away
	b.mu.Unlock()
	if err != nil {
		return fleet.Revision{}, nil, err
	}
	return b.Branch.Read(ctx)
}

func report(name string, phase fleet.Phase) fleet.Report {
	return fleet.Report{Cluster: fleet.Key{Namespace: "prod", Name: name}, Phase: phase, Version: "v1.36.0"}
}

// write has the branch say reports.
func (b *branch) write(t *testing.T, list ...fleet.Report) {
	t.Helper()
	w := status.NewWriter(b.Branch, status.Options{Owner: fleet.Owner{Agent: "a", Epoch: 1}, Log: slog.New(slog.DiscardHandler)})
	for _, r := range list {
		w.Put(r)
	}
	w.PutFleet(sources.FleetStatus{Fleet: "f", Revision: fleet.Revision{Ref: "main", Digest: "sha1:1"}})
	if _, err := w.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestFeed: the page says what the branch says, what passes report comes first, and what
// cannot be read is told.
func TestFeed(t *testing.T) {
	f, err := dir.New(dir.Options{Path: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	b := &branch{Branch: f.Branch()}
	if _, err := status.NewArbiter(b).Claim(t.Context(), "a", ""); err != nil {
		t.Fatal(err)
	}
	b.write(t, report("eu-1", fleet.PhaseWorkers), report("eu-2", fleet.PhaseProvisioned))
	synctest.Test(t, func(t *testing.T) {
		p, err := page.New(options())
		if err != nil {
			t.Fatal(err)
		}
		feed := page.NewFeed(p, page.FeedParts{Branch: b, Interval: 10 * time.Second, Log: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- feed.Run(ctx) }()
		expect := func(what string, after time.Duration, words ...string) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			body := get(p, "/").Body.String()
			for _, w := range words {
				w, not := strings.CutPrefix(w, "!")
				if strings.Contains(body, w) == not {
					t.Errorf("%s: it says %q: %v", what, w, !not)
				}
			}
		}
		expect("at first", 0, "2 clusters", "<td>Workers</td>", "prod/eu-2")

		ends := time.Date(2030, 1, 31, 0, 0, 0, 0, time.UTC)
		feed.Changed(reports.Change{Cluster: report("eu-1", "").Cluster, Report: report("eu-1", fleet.PhaseProvisioned), Pass: &reports.Pass{NotAfter: map[string]time.Time{"apiserver": ends}}})
		feed.Changed(reports.Change{Cluster: report("eu-2", "").Cluster, Gone: true})
		expect("before the branch says it", time.Second, "1 cluster<", "<td>Provisioned</td>", "!<td>Workers</td>", "!prod/eu-2")
		if body := get(p, "/c/prod/eu-1").Body.String(); !strings.Contains(body, "31 Jan 2030") {
			t.Error("it does not say when certificates end")
		}

		b.set(errors.New("no route to the forge"))
		expect("while it is away", 10*time.Second, "not the newest: no route to the forge", "prod/eu-1")
		b.set(nil)
		expect("once it is back", 10*time.Second, "!no route", "prod/eu-1")

		b.write(t, report("eu-3", fleet.PhaseWorkers))
		expect("before it is read again", 3*time.Second, "!prod/eu-3")
		feed.Written()
		feed.Written() // the second commit of these seconds is read with the first
		expect("once this process committed", 3*time.Second, "prod/eu-3")

		plan := status.Plan{Number: 7, Head: "59b20b8d", Base: "main@sha1:1", Verdict: "success", Summary: "create 1 machine"}
		owner, err := status.NewArbiter(b).Owner(ctx)
		if err == nil {
			err = status.NewPlans(b).Write(ctx, owner, []status.Plan{plan}, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		expect("once a pull request was planned", 10*time.Second, `Pull requests <span class="badge">1</span>`)
		if body := get(p, "/pull-requests").Body.String(); !strings.Contains(body, "create 1 machine") {
			t.Error("it does not say what the pull request would change")
		}

		feed.Over()
		expect("once another process works on the fleet", time.Second, "3 clusters", "<td>Workers</td>", "prod/eu-2")
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
