package agent

import (
	"net/http/httptest"
	"strings"
	"testing"

	"fairlead.dev/fleet"
)

// page is what a proxy in front of a cloud answers, by somebody who means harm.
var page = strings.Repeat("<p>\x1b]0;owned\x07\x1b[2J502 Bad\u202e Gateway \xff</p>\r\n", 64<<10/40)

// What others say is in labels without what steers a terminal, and bounded. Bytes that are
// no text do not take the metrics away.
func TestLabelsArePlain(t *testing.T) {
	m := NewMetrics("v0")
	p := passed()
	p.Report.Machines = []fleet.MachineReport{{
		Machine: fleet.Machine{
			Name: fleet.MachineName("m-1" + page), ProviderID: fleet.ProviderID(page), FailureDomain: page, Version: page, Addresses: []string{page},
		},
		Node: page, Version: page, Conditions: []fleet.Condition{{Type: page, Status: fleet.False, Reason: page, Message: page}},
	}}
	m.Passed(t.Context(), p)
	got := scrape(m)
	if !strings.Contains(got, "502 Bad") {
		t.Fatalf("the machine has no series: %.500q", got)
	}
	for line := range strings.Lines(got) {
		if strings.ContainsAny(line, "\x1b\x07\u202e\r") || len(line) > 20_000 {
			t.Errorf("%d bytes: %.200q", len(line), line)
		}
	}
}

// What is missing to be ready is told on a line each.
func TestReadyIsPlain(t *testing.T) {
	r := newReadiness(map[string]string{readyOwner: page, readyRevision: "read tcp 10.0.0.5:43112->10.0.0.9:443: EOF"})
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
