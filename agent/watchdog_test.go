package agent

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/observability/health"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// healthz asks what a liveness probe asks.
func healthz(d *health.Watchdog) (int, string) {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequest("GET", "/healthz", nil))
	return w.Code, w.Body.String()
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
		d := health.NewWatchdog(30 * time.Minute)
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
