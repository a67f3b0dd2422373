package agent

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/metrics"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// healthz asks what a liveness probe asks.
func healthz(d *Watchdog) (int, string) {
	w := httptest.NewRecorder()
	Pages(metrics.New("v0"), d, d, false, discard()).ServeHTTP(w, httptest.NewRequest("GET", "/healthz", nil))
	return w.Code, w.Body.String()
}

func TestWatchdog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := NewWatchdog(30 * time.Minute)
		code, text := healthz(d)
		expect(t, "a process that does nothing is well", code, 200)
		expect(t, "and says so", text, "ok\n")
		_, ends := d.Begin(Passing, "prod/a")
		goesOn, pollEnds := d.Begin(Polling, "")
		time.Sleep(29 * time.Minute)
		goesOn()
		time.Sleep(29 * time.Minute)
		code, _ = healthz(d)
		expect(t, "what goes on is well, and a pass may take longer", code, 200)
		time.Sleep(2 * time.Minute)
		code, text = healthz(d)
		expect(t, "a poll that does not end is a hang", code, 503)
		expect(t, "which is named", text, "poll is under way for 31m0s, more than 30m0s\n")
		pollEnds()
		code, text = healthz(d)
		expect(t, "until it ends", code, 200)
		expect(t, "which is told", text, "ok\nthe last poll ended 0s ago\n")
		time.Sleep(time.Minute)
		code, text = healthz(d)
		expect(t, "a pass that does not end is one too", code, 503)
		expect(t, "which is named, and what is well", text, "pass prod/a is under way for 1h1m0s, more than 1h0m0s\nthe last poll ended 1m0s ago\n")
		ends()
		code, _ = healthz(d)
		expect(t, "until it ends", code, 200)

		never := NewWatchdog(0)
		never.Begin(Polling, "")
		time.Sleep(24 * time.Hour)
		code, _ = healthz(never)
		expect(t, "one that is switched off never complains", code, 200)
		code, _ = healthz(nil)
		expect(t, "nor does one that is not there", code, 200)
	})
}

// stuck renders for ever once it is told to.
type stuck struct {
	*world
	from string
}

func (s stuck) Render(ctx context.Context, rev fleet.Revision, t sources.Tree) (fleet.Fleet, error) {
	if rev.Hash() == s.from {
		<-ctx.Done()
	}
	return s.world.Render(ctx, rev, t)
}

// A restart heals a hang, and nothing else is one: not a source or a cloud that does
// not answer, for however long.
func TestHungAgentIsNotHealthy(t *testing.T) {
	s := &wire{down: make(map[string]error), world: newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x")), fleetOf("2", fleet.Prune{}))}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		a := s.agent(Options{})
		d := NewWatchdog(30 * time.Minute)
		a.p.Source, a.p.Renderer, a.p.Watchdog = s, stuck{s.world, "2"}, d
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		time.Sleep(time.Minute)
		s.set("", fleet.Errorf(fleet.Unavailable, "resolve", "no route to host"))
		s.set("2", errors.New("no route to host"))
		time.Sleep(24 * time.Hour)
		code, text := healthz(d)
		expect(t, "an agent without a network is healthy: "+text, code, 200)
		s.set("", nil)
		s.set("2", nil)
		s.push("2")
		time.Sleep(29*time.Minute - time.Second)
		code, _ = healthz(d)
		expect(t, "a render may take long", code, 200)
		time.Sleep(3 * time.Minute)
		code, text = healthz(d)
		expect(t, "one that does not end is a hang", code, 503)
		for _, want := range []string{"poll is under way for", "render main@sha1:2 is under way for"} {
			if !strings.Contains(text, want) {
				t.Errorf("healthz lacks %q:\n%s", want, text)
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
