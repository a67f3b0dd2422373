package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReadSample reads what programs with totals show, and what those without do.
func TestReadSample(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want sample
	}{
		"totals": {`# HELP fairlead_clusters Clusters by their phase.
fairlead_fleet_problems 2
fairlead_clusters{namespace="a",phase="Provisioned"} 3
fairlead_clusters{namespace="b",phase="Provisioned"} 4
fairlead_clusters{namespace="b",phase="Workers"} 1
fairlead_cluster_phase{name="x",namespace="b",phase="Workers"} 1
`, sample{map[string]int{"Provisioned": 7, "Workers": 1}, 2}},
		"no totals": {`fairlead_cluster_phase{name="x",namespace="b",phase="Workers"} 1
fairlead_cluster_phase{name="y",namespace="b",phase="Deleted"} 1
fairlead_fleet_problems 0
`, sample{map[string]int{"Workers": 1, "Deleted": 1}, 0}},
	} {
		got, err := readSample(strings.NewReader(c.text))
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(sample{})); err != nil || diff != "" {
			t.Errorf("%s: %v, -want +got:\n%s", name, err, diff)
		}
	}
}
