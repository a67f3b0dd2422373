package examples_test

import (
	"os"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/test/run/exampletest"
)

// The example renders two clusters of the class, with the pools, versions and
// variables that they ask for.
func TestClusterClass(t *testing.T) {
	want := map[string]int{"eu-1-cp v1.34.1": 3, "eu-1-md-0 v1.34.1": 3, "eu-1-slow v1.34.1": 1, "eu-2-cp v1.33.5": 1, "eu-2-md-0 v1.33.5": 1}
	templates := map[fleet.TemplateHash]string{}
	for _, c := range exampletest.Render(t, os.DirFS("clusterclass"), inmemory.Kinds()) {
		for _, p := range c.Pools() {
			name := string(p.Name) + " " + p.Version
			if want[name] != p.Replicas {
				t.Errorf("%s has %d machines, want %d", name, p.Replicas, want[name])
			}
			delete(want, name)
			if other := templates[p.Template]; other != "" {
				t.Errorf("%s has the template of %s: its variables make no difference", name, other)
			}
			templates[p.Template] = name
		}
	}
	for name := range want {
		t.Errorf("there is no %s", name)
	}
}
