package examples_test

import (
	"os"
	"slices"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/k3s"
	"fairlead.dev/providers/distribution/rke2"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/reconcile/plan"
	"fairlead.dev/test/run/exampletest"
)

// TestRancher: the examples of K3s and RKE2 render one cluster each, whose infrastructure and secrets are what comes first.
func TestRancher(t *testing.T) {
	for folder, tc := range map[string]struct {
		kinds   []fleet.Kind
		of      providers.Distribution
		plane   string
		version string
	}{
		"k3s":  {k3s.Kinds(), k3s.New(nil), k3s.ControlPlane, "v1.34.1+k3s1"},
		"rke2": {rke2.Kinds(), rke2.New(nil), rke2.ControlPlane, "v1.34.1+rke2r1"},
	} {
		c := exampletest.One(t, os.DirFS(folder), inmemory.Kinds(), tc.kinds)
		want := map[string]int{"eu-1-cp " + tc.version: 3, "eu-1-md-0 " + tc.version: 2}
		for _, p := range c.Pools() {
			if name := string(p.Name) + " " + p.Version; want[name] != p.Replicas {
				t.Errorf("%s: %s has %d machines, want %d", folder, name, p.Replicas, want[name])
			}
		}
		if fleet.ObjectKind(fleet.RoleControlPlane, c.ControlPlane.Kind) != tc.plane {
			t.Errorf("%s: the control plane is a %s", folder, c.ControlPlane.Kind)
		}
		out := plan.Compute(plan.Input{Desired: &c, Observed: fleet.Observed{Distribution: fleet.Distribution{Traits: tc.of.Traits(&c), Needs: tc.of.Needs(&c)}}})
		if !slices.ContainsFunc(out.Actions, func(a fleet.Action) bool { return a.Kind == fleet.EnsureInfrastructure }) {
			t.Errorf("%s: a plan for nothing does %v", folder, out.Actions)
		}
	}
}
