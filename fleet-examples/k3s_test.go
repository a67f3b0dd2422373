package examples_test

import (
	"os"
	"slices"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/k3s"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/reconcile/plan"
	"fairlead.dev/test/run/exampletest"
)

// The example renders one cluster, whose infrastructure and secrets are what comes first.
func TestK3s(t *testing.T) {
	c := exampletest.One(t, os.DirFS("k3s"), inmemory.Kinds(), k3s.Kinds())
	want := map[string]int{"eu-1-cp v1.34.1+k3s1": 3, "eu-1-md-0 v1.34.1+k3s1": 2}
	for _, p := range c.Pools() {
		if name := string(p.Name) + " " + p.Version; want[name] != p.Replicas {
			t.Errorf("%s has %d machines, want %d", name, p.Replicas, want[name])
		}
	}
	if fleet.ObjectKind(fleet.RoleControlPlane, c.ControlPlane.Kind) != k3s.ControlPlane {
		t.Errorf("the control plane is a %s", c.ControlPlane.Kind)
	}
	d := k3s.New(nil)
	out := plan.Compute(plan.Input{Desired: &c, Observed: fleet.Observed{Distribution: fleet.Distribution{Traits: d.Traits(&c), Needs: d.Needs(&c)}}})
	if !slices.ContainsFunc(out.Actions, func(a fleet.Action) bool { return a.Kind == fleet.EnsureInfrastructure }) {
		t.Errorf("a plan for nothing does %v", out.Actions)
	}
}
