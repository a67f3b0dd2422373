package openstack_test

import "testing"

// TestSmall: a cluster without a load balancer, whose API server answers at a
// floating IP on its machine, comes and goes.
func TestSmall(t *testing.T) {
	w := newWorld(t)
	h := w.newShip("small")
	c := cluster{Name: "eu-1", CP: 1, Workers: 1}
	h.put("a small cluster", c)
	h.waitComplete(c)
	h.delete(c)
	w.wantNothingLeft()
}
