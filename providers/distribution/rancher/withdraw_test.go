package rancher

import (
	"testing"

	"fairlead.dev/fleet"
)

// TestWithdrawals: what Fairlead asked for, and is not met yet, can be taken back; what other
// people asked for stays.
func TestWithdrawals(t *testing.T) {
	const remove, removed = "etcd.k3s.cattle.io/remove", "etcd.k3s.cattle.io/removed-node-name"
	d := Distribution{program: Program{Name: "k3s"}}
	for name, c := range map[string]struct {
		notes map[string]string
		agent bool
		want  bool
	}{
		"asked by Fairlead": {notes: map[string]string{remove: "true", askedAnnotation: "true"}, want: true},
		"asked by people":   {notes: map[string]string{remove: "true"}},
		"met":               {notes: map[string]string{remove: "true", askedAnnotation: "true", removed: "a-1234"}},
		"asked once":        {notes: map[string]string{remove: "false", askedAnnotation: "true"}},
		"not asked":         {},
		"no server":         {notes: map[string]string{remove: "true", askedAnnotation: "true"}, agent: true},
	} {
		t.Run(name, func(t *testing.T) {
			steps := d.Steps(&fleet.Cluster{}, &fleet.Workload{Nodes: []fleet.Node{{Name: "a", ControlPlane: !c.agent, Annotations: c.notes}}})
			if got := len(steps) == 1 && steps[0].Node == "a" && steps[0].When == fleet.UnlessLeaving; got != c.want || len(steps) > 1 {
				t.Errorf("Steps = %v, want one: %t", steps, c.want)
			}
		})
	}
}
