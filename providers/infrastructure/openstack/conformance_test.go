package openstack_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/conformance"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

func TestConformance(t *testing.T) {
	clouds := make(map[providers.Infrastructure]*ost.Cloud)
	var last *ost.Cloud
	conformance.Run(t, conformance.Options{
		New: func(t testing.TB) providers.Infrastructure {
			last = ost.New(ost.Options{Delays: ost.Delays{
				Listing: 3 * time.Second, Server: 10 * time.Second, ServerDelete: 4 * time.Second, LoadBalancer: 5 * time.Second, Volume: 3 * time.Second,
			}})
			p := newProvider(last, last.Client())
			clouds[p] = last
			t.Cleanup(p.Close)
			return p
		},
		Cluster: func() fleet.Cluster {
			return newCluster(t, last.CloudsYAML(ost.URL, "alice"), clusterSpec(), machineSpec())
		},
		Foreign: func(_ testing.TB, p providers.Infrastructure, name string) func() bool {
			c := clouds[p]
			id := c.Add("alpha", ost.Servers, ost.Object{"name": name})
			return func() bool { _, ok := c.Object(ost.Servers, id); return ok }
		},
		FailListing: func(t testing.TB, p providers.Infrastructure, nth int) {
			time.Sleep(2 * tick) // so that no snapshot is good enough
			remove := clouds[p].Inject(ost.Fault{Method: http.MethodGet, Skip: nth - 1, Times: 1, Status: http.StatusInternalServerError})
			t.Cleanup(remove)
		},
		Around: synctest.Test,
	})
}
