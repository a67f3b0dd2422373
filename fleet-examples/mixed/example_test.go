package mixed_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	example "fairlead.dev/fleet-examples/mixed"
	hosts "fairlead.dev/providers/infrastructure/hosts/api"
	openstack "fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/reconcile/forecast"
	"fairlead.dev/reconcile/plan"
	"fairlead.dev/test/exampletest"
)

func rendered(t *testing.T) fleet.Cluster {
	t.Helper()
	return exampletest.One(t, example.Files(), openstack.Kinds(), hosts.Kinds())
}

func TestCluster(t *testing.T) {
	c := rendered(t)
	got := []string{c.Key.String() + " on " + fmt.Sprint(c.Providers())}
	for _, p := range c.Pools() {
		got = append(got, fmt.Sprintf("%s: %d %s %q", p.Name, p.Replicas, p.Version, p.Provider))
	}
	want := []string{
		"prod/web on [openstack hosts]", `web-cp: 3 v1.34.1 ""`, `web-metal: 2 v1.34.1 "hosts"`, `web-servers: 2 v1.34.1 ""`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	for provider, sees := range map[string]string{"": "[web-cp web-servers] OpenStackCluster false", "hosts": "[web-metal] HostCluster true"} {
		at := c.At(provider)
		var pools []fleet.PoolName
		for _, p := range at.Pools() {
			pools = append(pools, p.Name)
		}
		if got := fmt.Sprint(pools, " ", at.Infrastructure.GVK.Kind, " ", at.ServedElsewhere()); got != sees {
			t.Errorf("the provider %q sees %s, want %s", provider, got, sees)
		}
	}
}

// TestPlan: it comes to seven machines on two sites.
func TestPlan(t *testing.T) {
	c := rendered(t)
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	in := plan.Input{
		Desired: &c, Since: now.Add(-time.Hour), Settle: time.Minute, Now: now,
		Observed: fleet.Observed{At: now, Guests: []fleet.GuestSeen{{Provider: "hosts"}}, Secrets: fleet.SecretState{Missing: fleet.Authorities()}},
	}
	got := map[string]int{}
	for _, change := range forecast.Of(in).Changes {
		got[fmt.Sprintf("%s %s", change.Kind, change.Pool)]++
	}
	want := map[string]int{"create cluster ": 1, "update infrastructure ": 1, "create web-cp": 3, "create web-metal": 2, "create web-servers": 2}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
