package wiring

import (
	"net/http/httptest"
	"strings"
	"testing"

	"fairlead.dev/agent/ownership/replicas"
)

// TestReplicaThatDoesNotLead says where webhooks go on to, and that a replica is ready once it has
// seen a leader. A leader that does not act yet passes no webhook on to itself.
func TestReplicaThatDoesNotLead(t *testing.T) {
	own, other := replicas.NewIdentity("r0", "10.0.0.1"), replicas.NewIdentity("r1", "10.0.0.2")
	former := replicas.NewIdentity("r2", "10.0.0.3:9293")
	for name, tc := range map[string]struct {
		leader, address, says string
		code                  int
	}{
		"no leader was seen":    {"", "", "no leader was seen yet", 503},
		"another leads":         {other, "10.0.0.2:9292", "follows r1_10.0.0.2_", 200},
		"a former version does": {former, "10.0.0.3:9292", "follows r2_", 200},
		"this one does not act": {own, "", "does not act yet", 200},
	} {
		t.Run(name, func(t *testing.T) {
			r := &replica{identity: own, port: "9292"}
			if tc.leader != "" {
				r.leader.Store(&tc.leader)
			}
			if address, self := r.Leader(); address != tc.address || self {
				t.Errorf("webhooks go to %q, self %v, want %q", address, self, tc.address)
			}
			w := httptest.NewRecorder()
			r.ServeHTTP(w, httptest.NewRequest("GET", "/readyz", nil))
			if w.Code != tc.code || !strings.Contains(w.Body.String(), tc.says) {
				t.Errorf("/readyz answers %d %q, want %d with %q", w.Code, w.Body, tc.code, tc.says)
			}
		})
	}
}
