package decode_test

import (
	"strings"
	"testing"
)

// TestMachineConditionsOfHealthChecks takes over those that can be judged.
func TestMachineConditionsOfHealthChecks(t *testing.T) {
	const old = "unhealthyNodeConditions: [{type: Ready, status: Unknown, timeoutSeconds: 300}]"
	for _, kind := range []string{"NodeReady", "NodeHealthy", "InfrastructureReady", "UpToDate", "example.com/Disk"} {
		c := mustDecode(t, replaced(t, newest, old, "unhealthyMachineConditions: [{type: "+kind+", status: \"False\", timeoutSeconds: 9}]"))
		got := c.HealthChecks[0].Spec.Checks.UnhealthyMachineConditions
		if len(got) != 1 || got[0].Type != kind || got[0].Status != "False" || *got[0].TimeoutSeconds != 9 {
			t.Errorf("%s: got %v", kind, got)
		}
	}
	for name, condition := range map[string]string{
		"a summary":      "{type: Ready, status: \"False\", timeoutSeconds: 9}",
		"its own":        "{type: HealthCheckSucceeded, status: \"False\", timeoutSeconds: 9}",
		"of each member": "{type: EtcdMemberHealthy, status: \"False\", timeoutSeconds: 9}",
		"no status":      "{type: NodeReady, timeoutSeconds: 9}",
		"odd status":     "{type: NodeReady, status: Maybe, timeoutSeconds: 9}",
		"no timeout":     "{type: NodeReady, status: \"False\"}",
		"no type":        "{status: \"False\", timeoutSeconds: 9}",
		"no name":        "{type: a b, status: \"False\", timeoutSeconds: 9}",
	} {
		t.Run(name, func(t *testing.T) {
			clusters, problems := decodeAll(replaced(t, newest, old, "unhealthyMachineConditions: ["+condition+"]"))
			if len(clusters) > 0 || len(problems) != 1 || !strings.Contains(problems[0].Field, "unhealthyMachineConditions[0]") {
				t.Errorf("%d clusters with %v; want one problem of the condition", len(clusters), problems)
			}
		})
	}
}

func TestPausedHealthCheck(t *testing.T) {
	paused := replaced(t, newest, "{name: eu-hc, namespace: prod}", "{name: eu-hc, namespace: prod, annotations: {cluster.x-k8s.io/paused: \"\"}}")
	if c := mustDecode(t, paused); len(c.HealthChecks) != 0 {
		t.Errorf("a health check that is paused looks after %v", c.HealthChecks)
	}
}
