package hosts

import (
	"strings"
	"testing"
)

// TestPortsOfMachinesStay: the load balancer leads to where each machine listens, whatever Git says
// of the first machine of a cluster since then. Claims of earlier versions note no port.
func TestPortsOfMachinesStay(t *testing.T) {
	for reason, tc := range map[string]struct {
		noted, first int32
		want         string
	}{
		"noted":                           {6443, 0, "10.0.0.0:6443"},
		"noted, and Git changed":          {6443, 7443, "10.0.0.0:6443"},
		"another one, and Git changed":    {8443, 7443, "10.0.0.0:8443"},
		"of an earlier version":           {0, 7443, "10.0.0.0:7443"},
		"of an earlier version, no other": {0, 0, "10.0.0.0:6443"},
	} {
		w := newTown()
		w.r[0].state.Claim.APIPort, w.c.ControlPlane.APIPort = tc.noted, tc.first
		b, err := w.r.balancer(w.c, w.spec)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(b.config), tc.want) {
			t.Errorf("%s: the load balancer does not lead to %s:\n%s", reason, tc.want, b.config)
		}
	}
}
