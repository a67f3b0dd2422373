package e2e

import (
	"os"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/test/system/takeover"
)

// Agents of two versions take the place of each other on hosts.
func TestTakeover(t *testing.T) {
	old := released(t)
	w := newWorld(t, "", "control-plane", "worker", "worker", "worker", "balancer")
	w.takeOver(old, w.cluster("takeover", 1, 1))
}

// Agents of two versions take the place of each other on VMs of a vCenter.
func TestVSphereTakeover(t *testing.T) {
	old := released(t)
	v := newVSphere(t, 4)
	v.takeOver(old, v.c)
}

// Agents of two versions take the place of each other on hosts of an Ironic.
func TestMetalTakeover(t *testing.T) {
	old := released(t)
	m := newMetal(t, 4)
	m.takeOver(old, m.c)
}

// released is the program of another version, without which t is skipped.
func released(t *testing.T) string {
	t.Helper()
	old := os.Getenv("FAIRLEAD_TEST_RELEASED")
	if old == "" {
		t.Skip("FAIRLEAD_TEST_RELEASED names no program of another version of Fairlead: `make test-upgrade OLD=COMMIT` does")
	}
	return old
}

// takeOver has the agent of the old program make c, which has one control plane and one worker,
// and then the two programs take the place of each other.
func (w *world) takeOver(old string, c cluster) {
	w.t.Helper()
	c.Managed = true
	w.put("a cluster of one and one", c)
	takeover.Run(w.t, takeover.Fleet{
		Old: old, New: w.binary, Source: w.source, Bare: w.repo.bare, Secrets: w.secrets, Flags: w.flags,
		Cluster: fleet.Key{Namespace: "prod", Name: c.Name}, Pool: c.Name + "-md-0", Logs: w.logs,
	})
}
