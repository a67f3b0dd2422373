package metrics

import (
	"strings"
	"testing"

	"fairlead.dev/fleet"
)

// page is what a proxy in front of a cloud answers, by somebody who means harm.
var page = strings.Repeat("<p>\x1b]0;owned\x07\x1b[2J502 Bad\u202e Gateway \xff</p>\r\n", 64<<10/40)

// What others say is in labels without what steers a terminal, and bounded. Bytes that are
// no text do not take the metrics away.
func TestLabelsArePlain(t *testing.T) {
	m := New("v0")
	p := passed()
	p.Report.Machines = []fleet.MachineReport{{
		Machine: fleet.Machine{
			Name: fleet.MachineName("m-1" + page), ProviderID: fleet.ProviderID(page), FailureDomain: page, Version: page, Addresses: []string{page},
		},
		Node: page, Version: page, Conditions: []fleet.Condition{{Type: page, Status: fleet.False, Reason: page, Message: page}},
	}}
	m.pass(t.Context(), p)
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
