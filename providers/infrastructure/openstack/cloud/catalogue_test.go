package cloud_test

import (
	"net/http"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// A service that is added, moves or goes away while the agent runs is found, and a
// catalogue that cannot be read changes nothing.
func TestCatalogueChanges(t *testing.T) {
	inBubble(t, cloud.Options{}, func(t *testing.T, c *ost.Cloud, p *cloud.Project) {
		lb := c.Add("alpha", ost.LoadBalancers, ost.Object{"name": "lb", "provisioning_status": "ACTIVE"})
		without := func(types ...string) { c.Set(func(o *ost.Options) { o.Without = types }) }
		sees := func(when string, want bool) {
			t.Helper()
			for range 7 { // minutes
				time.Sleep(time.Minute)
				if _, err := p.Snapshot(t.Context(), snapshot.Owner{}); err != nil {
					t.Logf("%s: %v", when, err)
				}
			}
			s := see(t, p, snapshot.Owner{})
			if got := s.LoadBalancers.Get(lb) != nil; got != want {
				t.Errorf("%s: the load balancer is seen: %v, want %v", when, got, want)
			}
			_, err := p.LoadBalancer(t.Context())
			if want && err != nil || !want && fleet.KindOf(err) != fleet.Invalid {
				t.Errorf("%s: the client of Octavia: %v", when, err)
			}
		}
		without("load-balancer")
		sees("without Octavia", false)
		without()
		sees("Octavia is added", true)
		c.Move("load-balancer", "octavia-new")
		sees("Octavia is elsewhere", true)
		c.Move("compute", "nova-new")
		sees("Nova is elsewhere", true)
		take := c.Inject(ost.Fault{Service: "identity", Method: http.MethodGet, Status: http.StatusInternalServerError})
		sees("the catalogue cannot be read", true)
		take()
		without("load-balancer")
		sees("Octavia goes away", false)
	})
}

// What something else says at the address where Nova was does not prove that a server
// is gone.
func TestNoServerIsNovasWord(t *testing.T) {
	inBubble(t, cloud.Options{}, func(t *testing.T, c *ost.Cloud, p *cloud.Project) {
		const id = "00000000-1111-4222-8333-444444444444"
		if v, err := p.Server(t.Context(), id); v != nil || err != nil {
			t.Errorf("a server that Nova does not know: %v, %v, want none", v, err)
		}
		c.Inject(ost.Fault{Service: "compute", Path: "/servers/*", Status: http.StatusNotFound})
		if v, err := p.Server(t.Context(), id); fleet.KindOf(err) != fleet.Unavailable {
			t.Errorf("a proxy says that there is nothing: %v, %v, want kind Unavailable", v, err)
		}
	})
}
