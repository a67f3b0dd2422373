package e2e

import (
	"os"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/test/takeover"
)

// Agents of two versions take the place of each other on hosts.
func TestTakeover(t *testing.T) {
	old := os.Getenv("FAIRLEAD_TEST_RELEASED")
	if old == "" {
		t.Skip("FAIRLEAD_TEST_RELEASED names no program of another version of Fairlead: `make test-upgrade OLD=COMMIT` does")
	}
	w := newWorld(t, "", "control-plane", "worker", "worker", "worker", "balancer")
	c := w.cluster("takeover", 1, 1)
	c.Managed = true
	w.put("a cluster of one and one", c)
	takeover.Run(t, takeover.Fleet{
		Old: old, New: w.binary, Source: w.source, Bare: w.repo.bare, Secrets: w.secrets,
		Cluster: fleet.Key{Namespace: "prod", Name: c.Name}, Pool: c.Name + "-md-0", Logs: w.logs,
	})
}
