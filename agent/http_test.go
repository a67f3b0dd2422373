package agent

import (
	"net/http/httptest"

	"fairlead.dev/agent/observability/server"
)

// get asks the agent's own pages.
func get(a *Agent, path string) (code int, body string) {
	w := httptest.NewRecorder()
	server.Pages{Metrics: a.p.Metrics.Handler(discard()), Health: a.p.Watchdog, Ready: a.ready}.Handler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w.Code, w.Body.String()
}
