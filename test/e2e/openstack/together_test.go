package openstack_test

import (
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"fairlead.dev/fleet"
)

// TestTwoFleets: two fleets with clusters of the same names share a project and
// never meet.
func TestTwoFleets(t *testing.T) {
	w := newWorld(t)
	a, b := w.newShip("fleet-a"), w.newShip("fleet-b")
	c := cluster{Name: "eu-1", CP: 1, Workers: 1, Components: []string{"load-balancer"}}
	a.put("the same", c)
	b.put("the same", c)
	a.waitComplete(c)
	b.waitComplete(c)
	ofA, ofB := a.report(c), b.report(c)
	if ofA.Endpoint == ofB.Endpoint {
		t.Errorf("both answer at %v", ofA.Endpoint)
	}
	check(t, servers.Delete(t.Context(), w.project.Admin.Compute, uuid(machine(ofA, fleet.RoleWorker).ProviderID)).ExtractErr())
	a.waitFor("mended", c.key(), func(r fleet.Report) bool { return complete(c)(r) && same(ofA, r) == 1 })
	a.delete(c)
	if n := same(ofB, b.report(c)); n != 2 {
		t.Errorf("%d machines of the other fleet are as they were, want 2", n)
	}
	for _, x := range w.things() {
		if strings.Contains(x.Text, "fleet=fleet-a ") {
			t.Errorf("left of the deleted cluster: %v", x)
		}
	}
	b.waitComplete(c)
	if ids, err := w.boots.network.Servers(t.Context(), ofB.Endpoint.Host+":6443"); err != nil || len(ids) != 1 {
		t.Errorf("the other fleet's API server is on %v (%v), want its one machine", ids, err)
	}
	b.delete(c)
	w.wantNothingLeft()
}

// TestRotation: a new password touches no node. While the old one is in Git, the
// cluster tells why nothing is known of it.
func TestRotation(t *testing.T) {
	w := newWorld(t)
	h := w.newShip("rotation")
	c := cluster{Name: "eu-1", CP: 1, Workers: 1}
	h.put("a cluster", c)
	h.waitComplete(c)
	before := h.report(c)
	check(t, w.project.SetPassword(t.Context(), "another-"+w.project.Password))
	h.waitFor("tells of the refused password", c.key(), func(r fleet.Report) bool {
		return strings.Contains(told(r), "The request you have made requires authentication")
	})
	h.put("the new password", c)
	h.waitComplete(c)
	after := h.report(c)
	if n := same(before, after); n != 2 || len(after.Machines) != 2 {
		t.Errorf("of the machines before, %d of %d are there, want 2 of 2", n, len(after.Machines))
	}
	h.delete(c)
	w.wantNothingLeft()
}

// TestCrash: the agent dies at each change that it makes, after the cloud has
// done it and before it knows, and starts again. All comes about once.
func TestCrash(t *testing.T) {
	w := newWorld(t)
	h := w.newShip("crash")
	died := make(chan call, 1)
	w.proxy.onAnswer(func(c call) bool {
		if !c.changes() {
			return true
		}
		select {
		case died <- c:
		default:
		}
		return false
	})
	deaths := 0
	// until has the agent die and start until done.
	until := func(what string, done func(fleet.Report) bool) {
		h.wait(what, func() (bool, string) {
			select {
			case c := <-died:
				deaths++
				w.log.Info("the agent dies", "after", c.String())
				h.stop()
				w.proxy.mend()
				h.start()
			default:
			}
			s, err := h.status()
			if err != nil {
				return false, err.Error()
			}
			r, _ := s.Cluster(fleet.Key{Namespace: "prod", Name: "eu-1"})
			return done(r.Report), describe(r.Report)
		})
	}
	c := cluster{Name: "eu-1", CP: 1, Workers: 1, Components: []string{"load-balancer"}}
	h.put("a cluster", c)
	until("complete", complete(c))
	count := make(map[string]int)
	for _, x := range w.things() {
		count[x.Kind]++
	}
	for kind, want := range map[string]int{"server": 2, "load balancer": 1, "network": 1, "router": 1, "floating IP": 1, "port": 2} {
		if count[kind] != want {
			t.Errorf("there are %d of kind %s, want %d: %v", count[kind], kind, want, w.things())
		}
	}
	c.Delete = true
	h.put("delete", c)
	until("deleted", func(r fleet.Report) bool { return r.Phase == fleet.PhaseDeleted })
	w.wantNothingLeft()
	t.Logf("the agent died %d times", deaths)
	if deaths < 20 {
		t.Errorf("the agent died %d times, want 20 at least: a cluster is more changes than that", deaths)
	}
}
