package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/observability/server"
)

// deadlines notes the deadlines of a connection.
type deadlines struct {
	*httptest.ResponseRecorder
	read, write time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error  { d.read = t; return nil }
func (d *deadlines) SetWriteDeadline(t time.Time) error { d.write = t; return nil }

// TestPagesHaveALimit: who sends or reads slowly does not hold a connection, but for
// profiles, which take as long as they are asked to.
func TestPagesHaveALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := func(text string) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
		}
		h := server.Pages{Metrics: page("numbers"), Health: page("well"), Ready: page("ready"), Profiling: true}.Handler()
		for path, want := range map[string]string{"/metrics": "numbers", "/healthz": "well", "/readyz": "ready"} {
			w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
			if until := time.Now().Add(30 * time.Second); w.Body.String() != want || !w.read.Equal(until) || !w.write.Equal(until) {
				t.Errorf("%s: %q, until %s and %s", path, w.Body, w.read, w.write)
			}
		}
		w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/pprof/cmdline", nil))
		if w.Code != http.StatusOK || !w.read.IsZero() || !w.write.IsZero() {
			t.Errorf("a profile: %d, until %s and %s", w.Code, w.read, w.write)
		}
	})
}

// TestProfilesAreAskedFor: profiles are not served to whoever may read metrics.
func TestProfilesAreAskedFor(t *testing.T) {
	none := http.NotFoundHandler()
	w := httptest.NewRecorder()
	server.Pages{Metrics: none, Health: none, Ready: none}.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/pprof/heap", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("got %d", w.Code)
	}
}
