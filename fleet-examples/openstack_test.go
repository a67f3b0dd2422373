package examples_test

import (
	"fmt"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	example "fairlead.dev/fleet-examples/openstack"
	"fairlead.dev/providers/infrastructure/openstack/api"
)

// openStackDescribe says what of a cluster its overlay decides.
func openStackDescribe(t *testing.T, c fleet.Cluster) string {
	t.Helper()
	spec, err := api.ReadCluster(c.Infrastructure)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "endpoint: load balancer %v", spec.APIServer.ManagedLoadBalancer.IsEnabled())
	if lb := spec.APIServer.ManagedLoadBalancer; lb != nil {
		fmt.Fprintf(&b, " for %v", lb.AllowedCIDRs)
	}
	fmt.Fprintf(&b, "\nzones: %v\nbastion: %v\n", spec.ControlPlaneAvailabilityZones, spec.Bastion.IsEnabled())
	for _, p := range c.Pools() {
		m, err := api.ReadMachine(p.Infrastructure)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s: %d %s %s %s, format %q, zone %q, volume %v\n", p.Name, p.Replicas, p.Version,
			*m.Image.Filter.Name, *m.Flavor.Filter.Name, strings.Trim(string(p.Bootstrap.Field("format")), `"`), p.FailureDomain, m.RootVolume != nil)
	}
	return b.String()
}

func TestOpenStackClusters(t *testing.T) {
	got := make(map[string]string)
	for key, c := range rendered(t, example.Files(), api.Kinds()) {
		got[key] = openStackDescribe(t, c)
	}
	want := map[string]string{
		"dev/small": `endpoint: load balancer false
zones: []
bastion: false
small-cp: 1 v1.34.1 ubuntu m1.medium, format "", zone "", volume false
small-md-0: 1 v1.34.1 ubuntu m1.small, format "", zone "", volume false
`,
		"edge/flatcar": `endpoint: load balancer false
zones: []
bastion: false
flatcar-cp: 1 v1.34.1 flatcar m1.medium, format "ignition", zone "", volume false
flatcar-md-0: 1 v1.34.1 flatcar m1.small, format "ignition", zone "", volume false
`,
		"prod/ha": `endpoint: load balancer true for [203.0.113.0/24]
zones: []
bastion: true
ha-cp: 3 v1.34.1 ubuntu m1.medium, format "", zone "", volume false
ha-md-0: 3 v1.34.1 ubuntu m1.small, format "", zone "", volume false
`,
		"prod/zones": `endpoint: load balancer true for [0.0.0.0/0]
zones: [az1 az2 az3]
bastion: false
zones-cp: 3 v1.34.1 ubuntu m1.medium, format "", zone "", volume true
zones-md-0: 1 v1.34.1 ubuntu m1.small, format "", zone "az1", volume true
zones-md-1: 1 v1.34.1 ubuntu m1.small, format "", zone "az2", volume true
zones-md-2: 1 v1.34.1 ubuntu m1.small, format "", zone "az3", volume true
`,
		"team/web": `endpoint: load balancer true for [203.0.113.0/24]
zones: []
bastion: false
web-pmzmj: 3 v1.34.1 ubuntu m1.medium, format "", zone "", volume false
web-md-0-8hq8j: 2 v1.34.1 ubuntu m1.medium, format "", zone "", volume false
`,
	}
	same(t, want, got)
}

// TestOpenStackPlan: in an empty project each cluster is one to create with all of its
// machines, and begins with its certificates and what the machines share.
func TestOpenStackPlan(t *testing.T) {
	got := make(map[string]string)
	for key, c := range rendered(t, example.Files(), api.Kinds()) {
		actions, changes := planned(&c, unmade(&c))
		got[key] = fmt.Sprintf("%v, then %d changes from %q", actions, len(changes), changes[0].Kind)
	}
	const first = "[EnsureCertificates EnsureInfrastructure], then "
	want := map[string]string{
		"dev/small":    first + `3 changes from "create cluster"`,
		"edge/flatcar": first + `3 changes from "create cluster"`,
		"prod/ha":      first + `7 changes from "create cluster"`,
		"prod/zones":   first + `7 changes from "create cluster"`,
		"team/web":     first + `6 changes from "create cluster"`,
	}
	same(t, want, got)
}

// TestOpenStackUserData: what is configured can be written for the first machine of each
// control plane and for a worker.
func TestOpenStackUserData(t *testing.T) {
	for key, c := range rendered(t, example.Files(), api.Kinds()) {
		for join, text := range bootstrapped(t, &c, "") {
			want := "{{ local_hostname }}"
			if key == "edge/flatcar" {
				want = `"10-flatcar.conf"`
			}
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: %s: %s is not in:\n%s", key, join, want, text)
			}
		}
	}
}
