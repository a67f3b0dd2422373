package health

import (
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

func expect[T comparable](t *testing.T, reason string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", reason, got, want)
	}
}

// healthz asks what a liveness probe asks.
func healthz(d *Watchdog) (int, string) {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequest("GET", "/healthz", nil))
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
		expect(t, "none ended yet", d.Ended(Polling).IsZero(), true)
		pollEnds()
		expect(t, "it is known when one ended", d.Ended(Polling), time.Now())
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

		var none *Watchdog
		expect(t, "one that is not there knows of nothing", none.Ended(Polling), time.Time{})
		never := NewWatchdog(0)
		never.Begin(Polling, "")
		time.Sleep(24 * time.Hour)
		code, _ = healthz(never)
		expect(t, "one that is switched off never complains", code, 200)
		code, _ = healthz(nil)
		expect(t, "nor does one that is not there", code, 200)
	})
}
