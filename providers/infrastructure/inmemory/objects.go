package inmemory

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
)

// Object returns an object as the API server of the cluster on that network has
// it, and whether it has. It is no call: nothing is counted, late or lost.
func (c *Cloud) Object(network string, kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, bool) {
	c.lock()
	defer c.unlock()
	if n, ok := c.networks[network]; ok && n.cluster != nil {
		return n.cluster.api.Get(kind, namespace, name)
	}
	return nil, false
}

// PutObject has the API server of the cluster on that network store an object, as
// people of the cluster do. Where no cluster was initialised the error is of kind
// NotFound.
func (c *Cloud) PutObject(network string, object runtime.Object) error {
	c.lock()
	defer c.unlock()
	n, ok := c.networks[network]
	if !ok || n.cluster == nil {
		return fleet.Errorf(fleet.NotFound, "store an object", "network %s has no cluster", network)
	}
	return n.cluster.api.Upsert(object)
}

// RemoveObject takes what PutObject stored away. Nothing there is fine.
func (c *Cloud) RemoveObject(network string, kind schema.GroupVersionKind, namespace, name string) {
	c.lock()
	defer c.unlock()
	if n, ok := c.networks[network]; ok && n.cluster != nil {
		n.cluster.api.Delete(kind, namespace, name)
	}
}
