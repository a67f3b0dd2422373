package examples_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	example "fairlead.dev/fleet-examples/mixed"
	hosts "fairlead.dev/providers/infrastructure/hosts/api"
	metal3 "fairlead.dev/providers/infrastructure/metal3/api"
	openstack "fairlead.dev/providers/infrastructure/openstack/api"
	vsphere "fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/test/run/exampletest"
)

// mixedRendered returns the clusters by name: web, with workers on hosts over SSH, and batch, with workers
// on hosts of an Ironic.
func mixedRendered(t *testing.T) map[string]fleet.Cluster {
	t.Helper()
	out := make(map[string]fleet.Cluster)
	for _, c := range exampletest.Render(t, example.Files(), openstack.Kinds(), hosts.Kinds(), vsphere.Kinds(), metal3.Kinds()) {
		out[c.Key.Name] = c
	}
	return out
}

func TestMixedClusters(t *testing.T) {
	got := make(map[string][]string)
	for name, c := range mixedRendered(t) {
		text := []string{c.Key.String() + " on " + fmt.Sprint(c.Providers())}
		for _, p := range c.Pools() {
			text = append(text, fmt.Sprintf("%s: %d %s %q", p.Name, p.Replicas, p.Version, p.Provider))
		}
		got[name] = text
	}
	want := map[string][]string{
		"web":   {"prod/web on [openstack hosts]", `web-cp: 3 v1.34.1 ""`, `web-metal: 2 v1.34.1 "hosts"`, `web-servers: 2 v1.34.1 ""`},
		"batch": {"prod/batch on [vsphere metal3]", `batch-cp: 3 v1.34.1 ""`, `batch-metal: 2 v1.34.1 "metal3"`},
	}
	same(t, want, got)
}

// TestMixedSites: each provider sees its own pools, and guests an endpoint that is given.
func TestMixedSites(t *testing.T) {
	for name, sites := range map[string]map[string]string{
		"web":   {"": "[web-cp web-servers] OpenStackCluster false", "hosts": "[web-metal] HostCluster true"},
		"batch": {"": "[batch-cp] VSphereCluster false", "metal3": "[batch-metal] Metal3Cluster true"},
	} {
		c := mixedRendered(t)[name]
		for provider, sees := range sites {
			at := c.At(provider)
			var pools []fleet.PoolName
			for _, p := range at.Pools() {
				pools = append(pools, p.Name)
			}
			if got := fmt.Sprint(pools, " ", at.Infrastructure.GVK.Kind, " ", at.ServedElsewhere()); got != sees {
				t.Errorf("%s: the provider %q sees %s, want %s", name, provider, got, sees)
			}
		}
	}
	c := mixedRendered(t)["batch"]
	if r := c.Reboots["batch-metal"]; r.Provider != "metal3" || r.RetryLimit != 1 || r.Timeout != 15*time.Minute {
		t.Errorf("workers of batch are rebooted as %+v", r)
	}
}

// TestMixedPlan: what machines each cluster comes to, on two sites.
func TestMixedPlan(t *testing.T) {
	for name, want := range map[string]map[string]int{
		"web":   {"create cluster ": 1, "update infrastructure ": 1, "create web-cp": 3, "create web-metal": 2, "create web-servers": 2},
		"batch": {"create cluster ": 1, "update infrastructure ": 1, "prepare host ": 2, "create batch-cp": 3, "create batch-metal": 2},
	} {
		c := mixedRendered(t)[name]
		guest := c.GuestProviders()[0]
		seen := unmade(c.At(guest))
		seen.Guests = []fleet.GuestSeen{{Provider: guest}}
		_, changes := planned(&c, seen)
		got := map[string]int{}
		for _, change := range changes {
			got[fmt.Sprintf("%s %s", change.Kind, change.Pool)]++
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
