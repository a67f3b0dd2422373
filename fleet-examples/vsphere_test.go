package examples_test

import (
	"fmt"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	example "fairlead.dev/fleet-examples/vsphere"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/test/run/exampletest"
)

// vSphereDescribe says what of a cluster its overlay decides.
func vSphereDescribe(t *testing.T, c fleet.Cluster) string {
	t.Helper()
	spec, err := api.ReadCluster(c.Infrastructure)
	if err != nil {
		t.Fatal(err)
	}
	zones, err := api.Zones(&c, spec)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	at := spec.ControlPlaneEndpoint.Host
	if ref := spec.EndpointPool(); ref != nil {
		at = "of pool " + ref.Name
	}
	fmt.Fprintf(&b, "endpoint %s, virtual IP %v\n", at, spec.VirtualIP != nil)
	for _, z := range zones {
		fmt.Fprintf(&b, "zone %s: %s\n", z.Name, z.ResourcePool)
	}
	for _, p := range c.Pools() {
		m, err := api.ReadMachine(p.Infrastructure)
		if err != nil {
			t.Fatal(err)
		}
		zone, err := api.FindZone(&c, spec, p.FailureDomain)
		if err != nil {
			t.Fatal(err)
		}
		if m, err = zone.Place(spec, m); err != nil {
			t.Fatal(err)
		}
		from := "DHCP"
		if pools := m.Network.Devices[0].AddressesFromPools; len(pools) > 0 {
			from = "pool " + pools[0].Name
		}
		fmt.Fprintf(&b, "%s: %d %s in %s, %d CPUs, address of %s\n", p.Name, p.Replicas, p.Version, m.ResourcePool, m.NumCPUs, from)
	}
	return b.String()
}

func TestVSphereClusters(t *testing.T) {
	got := make(map[string]string)
	for _, c := range exampletest.Render(t, example.Files(), api.Kinds()) {
		got[c.Key.String()] = vSphereDescribe(t, c)
	}
	want := map[string]string{
		"dev/small": `endpoint 198.51.100.10, virtual IP true
small-cp: 1 v1.34.1 in /DC0/host/C0/Resources/kubernetes, 4 CPUs, address of DHCP
small-md-0: 1 v1.34.1 in /DC0/host/C0/Resources/kubernetes, 4 CPUs, address of DHCP
`,
		"prod/ha": `endpoint 198.51.100.11, virtual IP true
ha-cp: 3 v1.34.1 in /DC0/host/C0/Resources/kubernetes, 4 CPUs, address of pool machines
ha-md-0: 3 v1.34.1 in /DC0/host/C0/Resources/kubernetes, 4 CPUs, address of pool machines
`,
		"prod/pooled": `endpoint of pool endpoints, virtual IP true
pooled-cp: 1 v1.34.1 in /DC0/host/C0/Resources/kubernetes, 4 CPUs, address of DHCP
pooled-md-0: 1 v1.34.1 in /DC0/host/C0/Resources/kubernetes, 4 CPUs, address of DHCP
`,
		"prod/volumes": `endpoint 198.51.100.13, virtual IP true
volumes-cp: 1 v1.34.1 in /DC0/host/C0/Resources/kubernetes, 4 CPUs, address of DHCP
volumes-md-0: 1 v1.34.1 in /DC0/host/C0/Resources/kubernetes, 4 CPUs, address of DHCP
`,
		"prod/zones": `endpoint 198.51.100.12, virtual IP true
zone c0: /DC0/host/C0/Resources/kubernetes
zone c1: /DC0/host/C1/Resources/kubernetes
zone c2: /DC0/host/C2/Resources/kubernetes
zones-cp: 3 v1.34.1 in /DC0/host/C0/Resources/kubernetes, 4 CPUs, address of DHCP
zones-md-0: 1 v1.34.1 in /DC0/host/C0/Resources/kubernetes, 4 CPUs, address of DHCP
zones-md-1: 1 v1.34.1 in /DC0/host/C1/Resources/kubernetes, 4 CPUs, address of DHCP
zones-md-2: 1 v1.34.1 in /DC0/host/C2/Resources/kubernetes, 4 CPUs, address of DHCP
`,
	}
	same(t, want, got)
}
