package plan_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
)

// TestOperationsOfFleets: two fleets that have a cluster of one key share an account,
// and no operation.
func TestOperationsOfFleets(t *testing.T) {
	operations := func(id fleet.ID) (out []fleet.OperationID) {
		w := newWorld(change(cluster(1, 2), func(c *fleet.Cluster) { c.Fleet = id }))
		for range 60 {
			for _, a := range w.pass().Actions {
				out = append(out, a.Operation)
			}
			w.advance(10 * time.Second)
		}
		return out
	}
	one, two := operations("one"), operations("two")
	if slices.ContainsFunc(one, func(op fleet.OperationID) bool { return slices.Contains(two, op) }) {
		t.Errorf("operations of one fleet are those of another: %v, %v", one, two)
	}
	if len(one) == 0 || !slices.Equal(one, operations("one")) {
		t.Errorf("operations %v are others when another agent begins them", one)
	}
}

func TestLife(t *testing.T) {
	w, err := rested(cluster(3, 3, 2))
	if err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		name   string
		change func(*fleet.Cluster)
	}{
		{"scale up", func(c *fleet.Cluster) { c.Workers[0].Replicas = 5 }},
		{"scale down", func(c *fleet.Cluster) { c.Workers[0].Replicas = 2 }},
		{"upgrade", upgrade("v1.35.0")},
		{"control plane to one", func(c *fleet.Cluster) { c.ControlPlane.Replicas = 1 }},
		{"control plane to three", func(c *fleet.Cluster) { c.ControlPlane.Replicas = 3 }},
		{"pool vanishes", func(c *fleet.Cluster) { c.Workers = c.Workers[:1] }},
		{"delete", func(c *fleet.Cluster) { c.Delete = true }},
	}
	for _, s := range steps {
		w.desired = change(w.desired, s.change)
		if err := w.rest(1000); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if len(w.violations) > 0 {
			t.Fatalf("%s: %s", s.name, w.violations[0])
		}
	}
	t.Log(strings.Join(w.log, "\n"))
}
