package examples_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	example "fairlead.dev/fleet-examples/hosted"
	"fairlead.dev/providers/hosted/external"
	hosts "fairlead.dev/providers/infrastructure/hosts/api"
	"fairlead.dev/reconcile/forecast"
	"fairlead.dev/reconcile/plan"
	"fairlead.dev/test/run/exampletest"
)

func hostedRendered(t *testing.T) fleet.Cluster {
	t.Helper()
	return exampletest.One(t, example.Files(), external.Kinds(), hosts.Kinds())
}

func TestHostedCluster(t *testing.T) {
	c := hostedRendered(t)
	got := []string{c.Key.String() + " by " + c.ControlPlaneKind() + " " + c.Version() + " at " + c.NamedEndpoint().Host}
	for _, p := range c.Pools() {
		got = append(got, fmt.Sprintf("%s: %d %s", p.Name, p.Replicas, p.Version))
	}
	want := []string{"prod/edge by ExternalControlPlane v1.34.1 at edge.planes.example.com", "edge-workers: 2 v1.34.1"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestHostedPlan: it comes to two machines, and to no control plane.
func TestHostedPlan(t *testing.T) {
	c := hostedRendered(t)
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	in := plan.Input{
		Desired: &c, Since: now.Add(-time.Hour), Settle: time.Minute, Now: now,
		Observed: fleet.Observed{At: now, ControlPlane: &fleet.HostedState{External: true, Ready: true, Endpoint: c.NamedEndpoint(), Stale: true}},
	}
	got := map[string]int{}
	for _, change := range forecast.Of(in).Changes {
		got[fmt.Sprintf("%s %s", change.Kind, change.Pool)]++
	}
	want := map[string]int{"create cluster ": 1, "create edge-workers": 2}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
