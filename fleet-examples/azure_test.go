package examples_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	example "fairlead.dev/fleet-examples/azure"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/test/run/exampletest"
)

// aksText tells of a cluster of AKS.
func aksText(t *testing.T, c *fleet.Cluster) string {
	spec, name, err := api.ReadControlPlane(c)
	if err != nil {
		t.Fatal(err)
	}
	out := fmt.Sprintf("AKS %s %s in group %s of %s, %d companions\n", name, c.Hosted.Version, spec.ResourceGroupName, spec.Location, len(c.Companions))
	for _, p := range c.KeptPools {
		pool, err := api.ReadPool(p.Infrastructure)
		if err != nil {
			t.Fatal(err)
		}
		out += fmt.Sprintf("%s: %d %s, %s, %s\n", pool.Name, p.Count, p.Version, pool.Mode, pool.SKU)
	}
	return out
}

// TestAzureClusters: the overlays decide resource groups, numbers, sizes and disks.
func TestAzureClusters(t *testing.T) {
	got := make(map[string]string)
	for _, c := range exampletest.Render(t, example.Files(), slices.Concat(api.Kinds(), api.ControlPlaneKinds())) {
		if c.Hosted != nil {
			got[c.Key.String()] = aksText(t, &c)
			continue
		}
		spec, err := api.ReadCluster(c.Infrastructure)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		fmt.Fprintf(&b, "group %s in %s, %s load balancer, %d companions\n", spec.ResourceGroup, spec.Location, spec.NetworkSpec.APIServerLB.Type, len(c.Companions))
		for _, p := range c.Pools() {
			m, err := api.ReadMachine(p.Infrastructure)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s: %d %s, %s, %d data disks\n", p.Name, p.Replicas, p.Version, m.VMSize, len(m.DataDisks))
		}
		got[c.Key.String()] = b.String()
	}
	want := map[string]string{
		"dev/small": `group small in westeurope, Public load balancer, 1 companions
small-cp: 1 v1.34.1, Standard_D4s_v5, 0 data disks
small-md-0: 1 v1.34.1, Standard_D4s_v5, 0 data disks
`,
		"prod/aks": `AKS aks v1.34.1 in group fleet-aks of westeurope, 1 companions
nodes: 2 v1.34.1, User, Standard_D4s_v5
system: 1 v1.34.1, System, Standard_D4s_v5
`,
		"prod/classed": `AKS classed v1.34.1 in group classed of westeurope, 1 companions
batch: 3 v1.34.1, User, Standard_D8s_v5
system: 1 v1.34.1, System, Standard_D4s_v5
web: 2 v1.34.1, User, Standard_D4s_v5
`,
		"prod/ha": `group fleet-ha in westeurope, Public load balancer, 1 companions
ha-cp: 3 v1.34.1, Standard_D4s_v5, 1 data disks
ha-md-0: 3 v1.34.1, Standard_D4s_v5, 0 data disks
`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
