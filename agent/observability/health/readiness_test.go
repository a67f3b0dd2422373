package health

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// page is what a proxy in front of a cloud answers, by somebody who means harm.
var page = strings.Repeat("<p>\x1b]0;owned\x07\x1b[2J502 Bad\u202e Gateway \xff</p>\r\n", 64<<10/40)

// What is missing to be ready is told on a line each.
func TestReadyIsPlain(t *testing.T) {
	r := NewReadiness(map[string]string{"owner": page, "revision": "read tcp 10.0.0.5:43112->10.0.0.9:443: EOF"})
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest("GET", "/readyz", nil))
	got := w.Body.String()
	if strings.ContainsAny(got, "\x1b\x07\u202e\r") || strings.Count(got, "\n") != 2 || len(got) > 5000 {
		t.Errorf("%d bytes: %.300q", len(got), got)
	}
	if strings.Contains(got, "43112") {
		t.Errorf("it holds a port that is another each time: %q", got)
	}
}
