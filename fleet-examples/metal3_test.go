package examples_test

import (
	"fmt"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	example "fairlead.dev/fleet-examples/metal3"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/machine"
	"fairlead.dev/reconcile/forecast"
)

// metal3Describe says what of a cluster its overlay decides.
func metal3Describe(t *testing.T, c fleet.Cluster) string {
	t.Helper()
	spec, err := api.ReadCluster(c.Infrastructure)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "endpoint: %s:%d, failure domains: %d, virtual IP: %v\n", spec.ControlPlaneEndpoint.Host, spec.ControlPlaneEndpoint.Port, len(spec.FailureDomains), spec.VirtualIP != nil)
	var hosts []string
	for _, h := range api.Hosts(c.Companions) {
		hosts = append(hosts, h.Name+"/"+h.Labels["use"]+"/"+h.Labels[api.FailureDomainLabel])
	}
	fmt.Fprintf(&b, "hosts: %s\n", strings.Join(hosts, " "))
	for _, p := range c.Pools() {
		m, err := api.ReadMachine(p.Infrastructure)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s: %d %s, surge %d, hosts %v, image %s\n", p.Name, p.Replicas, p.Version, p.MaxSurge, m.HostSelector.MatchLabels, m.Image.DiskFormat)
	}
	return b.String()
}

func TestMetal3Clusters(t *testing.T) {
	got := make(map[string]string)
	for key, c := range rendered(t, example.Files(), api.Kinds()) {
		got[key] = metal3Describe(t, c)
	}
	want := map[string]string{
		"dev/small": `endpoint: 203.0.113.10:6443, failure domains: 0, virtual IP: true
hosts: dev-1/control-plane/rack-1 dev-2/worker/rack-1
small-cp: 1 v1.34.1, surge 1, hosts map[use:control-plane], image qcow2
small-md-0: 1 v1.34.1, surge 0, hosts map[use:worker], image qcow2
`,
		"prod/ha": `endpoint: 203.0.113.20:6443, failure domains: 3, virtual IP: true
hosts: cp-1/control-plane/rack-1 cp-2/control-plane/rack-2 cp-3/control-plane/rack-3 cp-4/control-plane/rack-1 md-1/worker/rack-1 md-2/worker/rack-2 md-3/worker/rack-3
ha-cp: 3 v1.34.1, surge 1, hosts map[use:control-plane], image qcow2
ha-md-0: 2 v1.34.1, surge 0, hosts map[use:worker], image qcow2
`,
	}
	same(t, want, got)
}

// TestMetal3Plan: on hosts that Ironic does not know yet each cluster is one to create with all of
// its machines, and each host one to enrol.
func TestMetal3Plan(t *testing.T) {
	got := make(map[string]string)
	for key, c := range rendered(t, example.Files(), api.Kinds()) {
		actions, changes := planned(&c, unmade(&c))
		counts := make(map[forecast.ChangeKind]int)
		for _, change := range changes {
			counts[change.Kind]++
		}
		got[key] = fmt.Sprintf("%v, then %v", actions, counts)
	}
	const first = "[EnsureCertificates EnsureInfrastructure], then "
	want := map[string]string{
		"dev/small": first + `map[create:2 create cluster:1 prepare host:2]`,
		"prod/ha":   first + `map[create:5 create cluster:1 prepare host:7]`,
	}
	same(t, want, got)
}

// TestMetal3UserData: machines tell the kubelet the provider id that their host has.
func TestMetal3UserData(t *testing.T) {
	for key, c := range rendered(t, example.Files(), api.Kinds()) {
		text := bootstrapped(t, &c, machine.IDPrefix+"{{ ds.meta_data.providerid }}")[fleet.JoinInit]
		for _, want := range []string{"metal3://{{ ds.meta_data.providerid }}", "{{ ds.meta_data.name }}"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: user data has no %s", key, want)
			}
		}
	}
}
