package openstack_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
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
