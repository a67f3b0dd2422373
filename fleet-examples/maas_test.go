package examples_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	example "fairlead.dev/fleet-examples/maas"
	"fairlead.dev/providers/infrastructure/maas"
	"fairlead.dev/providers/infrastructure/maas/api"
	"fairlead.dev/reconcile/forecast"
)

// TestMAASClusters: the overlays decide endpoints, zones, numbers and hosts.
func TestMAASClusters(t *testing.T) {
	got := make(map[string]string)
	for key, c := range rendered(t, example.Files(), api.Kinds()) {
		spec, err := api.ReadCluster(c.Infrastructure)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		fmt.Fprintf(&b, "domain %s, endpoint %s:%d, zones %v, virtual IP: %v\n", spec.DNSDomain, spec.ControlPlaneEndpoint.Host, spec.ControlPlaneEndpoint.Port, spec.FailureDomains, spec.VirtualIP != nil)
		for _, p := range c.Pools() {
			m, err := api.ReadMachine(p.Infrastructure)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s: %d %s, surge %d, %v, image %s, disks %s\n", p.Name, p.Replicas, p.Version, p.MaxSurge, m.Tags, m.Image, m.EraseDisks)
		}
		got[key] = b.String()
	}
	want := map[string]string{
		"dev/small": `domain maas, endpoint :6443, zones [], virtual IP: false
small-cp: 1 v1.34.1, surge 1, [control-plane], image custom/u-2404-0-k-1341-0, disks Quick
small-md-0: 1 v1.34.1, surge 0, [worker], image custom/u-2404-0-k-1341-0, disks Quick
`,
		"prod/ha": `domain maas, endpoint 203.0.113.20:6443, zones [rack-1 rack-2 rack-3], virtual IP: true
ha-cp: 3 v1.34.1, surge 1, [control-plane], image custom/u-2404-0-k-1341-0, disks Quick
ha-md-0: 2 v1.34.1, surge 0, [worker], image custom/u-2404-0-k-1341-0, disks Quick
`,
	}
	same(t, want, got)
}

// TestMAASPlan: each cluster is one to create with all of its machines.
func TestMAASPlan(t *testing.T) {
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
	if d := cmp.Diff(map[string]string{"dev/small": first + `map[create:2 create cluster:1]`, "prod/ha": first + `map[create:5 create cluster:1]`}, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestMAASUserData: a kubelet registers its Node with a provider id of MAAS, whose system id cloud-init fills in.
func TestMAASUserData(t *testing.T) {
	p := maas.New(maas.Options{})
	defer p.Close()
	for key, c := range rendered(t, example.Files(), api.Kinds()) {
		text := bootstrapped(t, &c, p.NodeID())[fleet.JoinInit]
		for _, want := range []string{p.NodeID(), "{{ v1.local_hostname }}", "## template: jinja", "swapoff -a"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: user data has no %q", key, want)
			}
		}
	}
}
