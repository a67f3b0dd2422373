package examples_test

import (
	"fmt"
	"strings"
	"testing"

	example "fairlead.dev/fleet-examples/docker"
	"fairlead.dev/providers/infrastructure/docker/api"
	"fairlead.dev/test/run/exampletest"
)

// TestDockerClusters: the overlays decide failure domains and numbers.
func TestDockerClusters(t *testing.T) {
	got := make(map[string]string)
	for _, c := range exampletest.Render(t, example.Files(), api.Kinds()) {
		spec, err := api.ReadCluster(c.Infrastructure)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		fmt.Fprintf(&b, "provider %s", c.Provider)
		for _, d := range spec.FailureDomains {
			fmt.Fprintf(&b, ", domain %s", d.Name)
		}
		for _, p := range c.Pools() {
			m, err := api.ReadMachine(p.Infrastructure)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "; %s: %d %s, image %q in %s", p.Name, p.Replicas, p.Version, m.CustomImage, m.BootstrapTimeout.Duration)
		}
		got[c.Key.String()] = b.String()
	}
	want := map[string]string{
		"dev/small": `provider docker; small-cp: 1 v1.34.0, image "" in 5m0s; small-md-0: 1 v1.34.0, image "" in 5m0s`,
		"dev/ha":    `provider docker, domain a, domain b, domain c; ha-cp: 3 v1.34.0, image "" in 5m0s; ha-md-0: 2 v1.34.0, image "" in 5m0s`,
	}
	same(t, want, got)
}
