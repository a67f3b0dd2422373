package examples_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	example "fairlead.dev/fleet-examples/metal3"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/machine"
	"fairlead.dev/reconcile/forecast"
	"fairlead.dev/reconcile/plan"
	"fairlead.dev/test/run/exampletest"
)

func metal3Rendered(t *testing.T) map[string]fleet.Cluster {
	t.Helper()
	out := make(map[string]fleet.Cluster)
	for _, c := range exampletest.Render(t, example.Files(), api.Kinds()) {
		out[c.Key.String()] = c
	}
	return out
}

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
	for key, c := range metal3Rendered(t) {
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
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestMetal3Plan: on hosts that Ironic does not know yet each cluster is one to create with all of
// its machines, and each host one to enrol.
func TestMetal3Plan(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	got := make(map[string]string)
	for key, c := range metal3Rendered(t) {
		observed := fleet.Observed{At: now, Secrets: fleet.SecretState{Missing: fleet.Authorities()}}
		for _, h := range api.Hosts(c.Companions) {
			observed.Infrastructure.Hosts = append(observed.Infrastructure.Hosts, fleet.Host{
				Namespace: h.Namespace, Name: h.Name, State: fleet.HostUnmanaged, Next: fleet.HostStep{Do: "enrol it"},
			})
		}
		in := plan.Input{Desired: &c, Observed: observed, Since: now.Add(-time.Hour), Settle: time.Minute, Now: now}
		counts := make(map[forecast.ChangeKind]int)
		for _, change := range forecast.Of(in).Changes {
			counts[change.Kind]++
		}
		got[key] = fmt.Sprintf("%v, then %v", plan.Compute(in).Actions, counts)
	}
	const first = "[EnsureCertificates EnsureInfrastructure], then "
	want := map[string]string{
		"dev/small": first + `map[create:2 create cluster:1 prepare host:2]`,
		"prod/ha":   first + `map[create:5 create cluster:1 prepare host:7]`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestMetal3UserData: machines tell the kubelet the provider id that their host has.
func TestMetal3UserData(t *testing.T) {
	b := kubeadm.Distribution{}
	for key, c := range metal3Rendered(t) {
		authorities, err := b.NewSecrets(&c, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		data, err := b.UserData(providers.BootstrapInput{
			Cluster: &c, Pool: c.ControlPlane, Machine: "machine", Join: fleet.JoinInit, Endpoint: fleet.Endpoint{Host: "203.0.113.10", Port: 6443},
			Secrets: authorities, NodeID: machine.IDPrefix + "{{ ds.meta_data.providerid }}",
		})
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		for _, want := range []string{"metal3://{{ ds.meta_data.providerid }}", "{{ ds.meta_data.name }}"} {
			if !strings.Contains(string(data.Content.Reveal()), want) {
				t.Errorf("%s: user data has no %s", key, want)
			}
		}
	}
}
