package guests

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// A probe decides for its interval: a server that is ready later is led to later.
func TestProbe(t *testing.T) {
	asked, ready := 0, false
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; !ready {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	p := new(probe)
	if p.succeeds(t.Context(), server.URL, time.Hour) {
		t.Error("the probe of a server that is not ready succeeds")
	}
	if ready = true; p.succeeds(t.Context(), server.URL, time.Hour) || asked != 1 {
		t.Errorf("within its interval, after %d requests, the probe says something else", asked)
	}
	if !p.succeeds(t.Context(), server.URL, 0) {
		t.Error("the next probe fails")
	}
	if server.Close(); p.succeeds(t.Context(), server.URL, 0) {
		t.Error("the probe of a server that is off succeeds")
	}
}
