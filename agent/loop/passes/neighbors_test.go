package passes

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
)

// TestNeighborsCome: a cluster that draws addresses comes to its pass with what it has to know of
// the others.
func TestNeighborsCome(t *testing.T) {
	other := fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "b"}, Digest: "y", Endpoint: fleet.Endpoint{Host: "10.0.0.2"}}
	w := newWorld(cluster(), other)
	m := w.maker(Options{})
	c := cluster()
	m.pass(t.Context(), &c)
	expect(t, "neighbors of a cluster without pools", w.over.Neighbors, fleet.Neighbors{})
	c.Companions = []fleet.Object{{GVK: schema.GroupVersionKind{Group: "ipam.cluster.x-k8s.io", Kind: "InClusterIPPool"}, Name: "nodes"}}
	m.pass(t.Context(), &c)
	expect(t, "neighbors of a cluster with a pool", w.over.Neighbors, fleet.Neighbors{Endpoints: []string{"10.0.0.2"}})
}
