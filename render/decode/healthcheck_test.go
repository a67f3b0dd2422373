package decode_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
)

// conditionsOf lists the conditions of nodes that health checks look for.
func conditionsOf(c fleet.Cluster) []string {
	var out []string
	for _, h := range c.HealthChecks {
		for _, n := range h.Spec.Checks.UnhealthyNodeConditions {
			out = append(out, string(n.Type)+"="+string(n.Status))
		}
	}
	return out
}

func TestMachineConditionsOfHealthChecks(t *testing.T) {
	const old = "unhealthyNodeConditions: [{type: Ready, status: Unknown, timeoutSeconds: 300}]"
	for name, c := range map[string]struct {
		conditions string
		want       []string
	}{
		"ready":   {"{type: NodeReady, status: Unknown, timeoutSeconds: 300}", []string{"Ready=Unknown"}},
		"healthy": {"{type: NodeHealthy, status: \"False\", timeoutSeconds: 9}", []string{"Ready=False", "MemoryPressure=True", "DiskPressure=True", "PIDPressure=True"}},
		"unknown": {"{type: NodeHealthy, status: Unknown, timeoutSeconds: 9}", []string{"Ready=Unknown", "MemoryPressure=Unknown", "DiskPressure=Unknown", "PIDPressure=Unknown"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := mustDecode(t, replaced(t, newest, old, "unhealthyMachineConditions: ["+c.conditions+"]"))
			if d := cmp.Diff(c.want, conditionsOf(got)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
	for name, condition := range map[string]string{
		"the provider's":  "{type: InfrastructureReady, status: \"False\", timeoutSeconds: 9}",
		"well is not ill": "{type: NodeHealthy, status: \"True\", timeoutSeconds: 9}",
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
