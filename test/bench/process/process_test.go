package process

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestReady: a program that answers is not ready until it says so.
func TestReady(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked < 3 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	p := &Process{Ended: make(chan error)}
	if err := p.Serves(t.Context(), server.URL); err != nil || asked != 1 {
		t.Errorf("asked %d times, %v; want the first answer to be enough", asked, err)
	}
	if err := p.Ready(t.Context(), server.URL); err != nil || asked != 3 {
		t.Errorf("asked %d times, %v; want the first good answer, the third", asked, err)
	}
}
