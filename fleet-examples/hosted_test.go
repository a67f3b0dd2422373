package examples_test

import (
	"fmt"
	"testing"

	"fairlead.dev/fleet"
	example "fairlead.dev/fleet-examples/hosted"
	"fairlead.dev/providers/hosted/external"
	hosts "fairlead.dev/providers/infrastructure/hosts/api"
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
	same(t, want, got)
}

// TestHostedPlan: it comes to two machines, and to no control plane.
func TestHostedPlan(t *testing.T) {
	c := hostedRendered(t)
	_, changes := planned(&c, fleet.Observed{ControlPlane: &fleet.HostedState{External: true, Ready: true, Endpoint: c.NamedEndpoint(), Stale: true}})
	got := map[string]int{}
	for _, change := range changes {
		got[fmt.Sprintf("%s %s", change.Kind, change.Pool)]++
	}
	want := map[string]int{"create cluster ": 1, "create edge-workers": 2}
	same(t, want, got)
}
