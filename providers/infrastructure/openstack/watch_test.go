package openstack_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// Clusters are told once that their project cannot be looked at any more, and
// not of a cloud that fails now and then.
func TestWatchTellsOfFailures(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		w.settle()
		ctx, cancel := context.WithCancel(w.Context())
		told, ended := 0, make(chan error, 1)
		go func() {
			ended <- w.provider.Watch(ctx, func(k fleet.Key) {
				if k == w.cluster.Key {
					told++
				}
			})
		}()
		rest := func(want int, when string) {
			w.Helper()
			time.Sleep(20 * tick)
			synctest.Wait()
			if told != want {
				w.Errorf("%s: told %d times, want %d", when, told, want)
			}
		}
		rest(0, "at rest")
		w.cloud.Inject(ost.Fault{Service: "network", Method: http.MethodGet, Path: "/ports", Times: 2, Status: http.StatusInternalServerError})
		rest(0, "after two failures")
		w.cloud.SetPassword("alice", "another")
		w.cloud.RevokeTokens()
		rest(1, "after the credential was withdrawn")
		w.cloud.SetPassword("alice", "alice-secret")
		rest(1, "after it was given back")
		w.cloud.RevokeTokens()
		w.cloud.SetPassword("alice", "another")
		rest(2, "after it was withdrawn again")
		cancel()
		<-ended
	})
}

// A cloud that does not answer delays no other.
func TestWatchInParallel(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		other := ost.New(ost.Options{})
		two := newCluster(t, other.CloudsYAML("http://silent.test", "alice"), clusterSpec(), machineSpec())
		two.Key.Name = "eu-2"
		p := openstack.New(openstack.Options{Cloud: cloud.Options{Tick: tick, Rate: -1, Base: byHost{"silent.test": other.Client(), "openstack.test": w.client}}, Settle: settle})
		w.provider = p
		w.settle()
		if _, err := p.Observe(w.Context(), &two); err != nil {
			w.Fatal(err)
		}
		other.Inject(ost.Fault{Hang: ost.Before})
		told := make(chan fleet.Key, 100)
		ctx, cancel := context.WithCancel(w.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.Watch(ctx, func(k fleet.Key) { told <- k }) }()
		time.Sleep(4 * tick)
		began := time.Now()
		w.cloud.Edit(ost.LoadBalancers, w.cloud.Objects(ost.LoadBalancers)[0].ID(), func(o ost.Object) { o["operating_status"] = "OFFLINE" })
		if k := <-told; k != w.cluster.Key || time.Since(began) > 5*tick {
			w.Errorf("told of %v after %s, want %v within %s", k, time.Since(began), w.cluster.Key, 5*tick)
		}
		cancel()
		<-ended
		time.Sleep(time.Hour) // until the look at the other cloud is given up
	})
}

// byHost leads each request to the cloud of its host.
type byHost map[string]http.RoundTripper

// RoundTrip implements http.RoundTripper.
func (b byHost) RoundTrip(r *http.Request) (*http.Response, error) {
	return b[r.URL.Hostname()].RoundTrip(r)
}

// TestSilentCloudHidesNoOther: where one cloud does not answer, the clusters and the orphans of
// the others are listed with its error.
func TestSilentCloudHidesNoOther(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		other := ost.New(ost.Options{Name: "silent"})
		two := newCluster(t, other.CloudsYAML("http://silent.test", "alice"), clusterSpec(), machineSpec())
		two.Key.Name = "eu-2"
		w.provider = openstack.New(openstack.Options{Cloud: cloud.Options{Tick: tick, Rate: -1, Base: byHost{"silent.test": other.Client(), "openstack.test": w.client}}, Settle: settle})
		w.settle()
		if _, err := w.provider.Observe(w.Context(), &two); err != nil {
			w.Fatal(err)
		}
		other.Inject(ost.Fault{Service: "compute", Cut: ost.Before})
		time.Sleep(2 * tick) // no look is good enough
		got, err := w.provider.Clusters(w.Context(), "fleet-a")
		if !slices.Equal(got, []fleet.Key{w.cluster.Key}) || fleet.KindOf(err) != fleet.Unavailable || !strings.Contains(err.Error(), "list clusters") {
			t.Errorf("Clusters = %v, %v, want those of the cloud that answers, and the error of the other", got, err)
		}
		lost := w.cluster
		lost.Key.Name = "eu-3" // its project is that of eu-1, which is not in the fleet any more
		orphans, err := w.provider.Orphans(w.Context(), "fleet-a", []*fleet.Cluster{&two, &lost})
		if len(orphans) == 0 || fleet.KindOf(err) != fleet.Unavailable {
			t.Errorf("Orphans = %v, %v, want those of the cloud that answers, and the error of the other", orphans, err)
		}
	})
}
