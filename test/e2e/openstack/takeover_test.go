package openstack_test

import (
	"os"
	"path/filepath"
	"testing"

	"fairlead.dev/test/system/takeover"
)

// TestTakeover: agents of two versions, which are programs, take the place of each other.
func TestTakeover(t *testing.T) {
	old, program := os.Getenv("FAIRLEAD_TEST_RELEASED"), os.Getenv("FAIRLEAD_TEST_PROGRAM")
	if old == "" || program == "" {
		t.Skip("FAIRLEAD_TEST_RELEASED and FAIRLEAD_TEST_PROGRAM name no programs: `make test-upgrade OLD=COMMIT` does")
	}
	w := newWorld(t)
	w.answer()
	h := w.newFleet("takeover")
	c := cluster{
		Name: "eu-1", CP: 1, Workers: 1, Components: []string{"load-balancer"},
		Patches: map[string]string{"MachineDeployment": "metadata:\n  annotations:\n    cluster.x-k8s.io/replicas-managed-by: people\n"},
	}
	h.put("one and one", c)
	settings := h.s.Providers["openstack"]
	takeover.Run(t, takeover.Fleet{
		Old: old, New: program, Source: h.s.Source, Bare: h.repo.bare, Secrets: h.s.Secrets,
		Flags:   []string{"--openstack-tick", settings["tick"], "--openstack-settle", settings["settle"], "--openstack-rate", settings["rate"]},
		Cluster: c.key(), Pool: "eu-1-md-0", Logs: takeoverLogs(t),
	})
}

// takeoverLogs is a folder of its own for the agents.
func takeoverLogs(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(logDir(t), t.Name())
	check(t, os.MkdirAll(dir, 0o700))
	return dir
}
