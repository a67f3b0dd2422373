package inmemory

import (
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/test/run/waits"
)

// A network is found by the tags that it has now, and nothing is left of one that was deleted.
func TestNetworksByOwner(t *testing.T) {
	c := NewCloud(CloudOptions{})
	defer c.Close()
	of := func(name string) map[string]string {
		return map[string]string{fleet.TagFleet: "f", fleet.TagCluster: name}
	}
	n, err := c.CreateNetwork(t.Context(), NetworkSpec{Name: "a", Tags: of("prod/a")})
	if err == nil {
		err = c.SetTags(t.Context(), n.ID, of("prod/b"))
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"prod/a": 0, "prod/b": 1} {
		if got, err := c.Networks(t.Context(), of(name)); err != nil || len(got) != want {
			t.Errorf("%s has networks %v, %v", name, got, err)
		}
	}
	if err := c.DeleteNetwork(t.Context(), n.ID); err != nil {
		t.Fatal(err)
	}
	left := func() int {
		c.lock()
		defer c.unlock()
		return len(c.networks) + len(c.owned.networks)
	}
	for deadline := time.Now().Add(waits.Limit); left() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d entries are left", left())
		}
	}
}
