package examples_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	example "fairlead.dev/fleet-examples/azure"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/test/run/exampletest"
)

// TestAzureClusters: the overlays decide resource groups, numbers, sizes and disks.
func TestAzureClusters(t *testing.T) {
	got := make(map[string]string)
	for _, c := range exampletest.Render(t, example.Files(), api.Kinds()) {
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
		"prod/ha": `group fleet-ha in westeurope, Public load balancer, 1 companions
ha-cp: 3 v1.34.1, Standard_D4s_v5, 1 data disks
ha-md-0: 3 v1.34.1, Standard_D4s_v5, 0 data disks
`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
