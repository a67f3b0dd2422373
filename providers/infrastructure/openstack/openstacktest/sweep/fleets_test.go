package sweep_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// Two fleets have clusters of the same name in one project, at the same time.
// Each comes to exactly its own; when one goes nothing of the other changes.
func TestTwoFleets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := aCloud()
		empty, none := everything(c), counts(c)
		a, b := newLife(t, c, newCluster(t, c)), newLife(t, c, newCluster(t, c))
		b.Cluster.Fleet = "fleet-b"
		for range 20 {
			a.Pass()
			b.Pass()
			time.Sleep(15 * time.Second)
		}
		a.Rest()
		b.Rest()
		both, of, ofBoth := counts(c), counts(c), everything(c)
		a.Cluster.Delete = true
		a.Rest()
		for k := range of {
			of[k] = (none[k] + both[k]) / 2
		}
		if got := counts(c); !maps.Equal(got, of) || of[ost.Servers] != 2 {
			t.Errorf("%v is left of %v, want half of what both made: %v", got, both, of)
		}
		now := everything(c)
		for k, v := range ofBoth {
			marked := strings.Contains(v, "fleet=fleet-b ") || strings.Contains(v, `"fairlead.dev:fleet":"fleet-b"`)
			if marked && now[k] != v {
				t.Errorf("%s was %s, is %s", k, v, now[k])
			}
		}
		b.Cluster.Delete = true
		b.Rest()
		same(t, "left", everything(c), empty)
		for _, err := range append(a.Errors, b.Errors...) {
			t.Errorf("in peace: %v", err)
		}
	})
}

// Fifty clusters in one project share what is asked of the cloud: while nothing
// changes, a tick costs one listing of each kind, however many look.
func TestFiftyClustersShareOneLook(t *testing.T) {
	const clusters = 50
	synctest.Test(t, func(t *testing.T) {
		c := ost.New(ost.Options{})
		client := c.Client()
		p := newProvider(client)
		var all []*clusterLife
		for i := range clusters {
			cluster := newCluster(t, c)
			cluster.Key.Name = fmt.Sprintf("eu-%d", i)
			cluster.ControlPlane.Name, cluster.Workers[0].Name = fleet.PoolName(cluster.Key.Name+"-cp"), fleet.PoolName(cluster.Key.Name+"-md-0")
			one := newLife(t, c, cluster)
			one.client, one.Provider = client, p
			all = append(all, one)
		}
		calm := func() bool {
			for _, one := range all {
				if !one.Pass() {
					return false
				}
			}
			return true
		}
		for range 12 {
			for _, one := range all {
				one.Pass()
			}
			time.Sleep(30 * time.Second)
			if calm() {
				break
			}
		}
		if !calm() {
			t.Fatalf("not calm: %v", all[0].Errors)
		}
		made := len(client.Calls())
		time.Sleep(time.Minute)
		before := len(client.Calls())
		for _, one := range all {
			one.Pass()
		}
		listings := map[string]int{}
		for _, call := range client.Calls()[before:] {
			listings[call.Method+" "+call.Service+call.Path]++
		}
		t.Logf("%d calls for %d servers made, %d for a look at %d clusters", made, 2*clusters, len(client.Calls())-before, clusters)
		for path, n := range listings {
			if n != 1 || !strings.HasPrefix(path, "GET ") {
				t.Errorf("%d times %s in one tick, want each listing once", n, path)
			}
		}
		if len(listings) > 15 {
			t.Errorf("%d calls in one tick: %v", len(listings), listings)
		}
	})
}
