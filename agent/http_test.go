package agent

import (
	"net/http/httptest"
)

// get asks the agent's own pages.
func get(a *Agent, path string) (code int, body string) {
	w := httptest.NewRecorder()
	a.Handler(false).ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w.Code, w.Body.String()
}
