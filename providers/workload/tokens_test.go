package workload_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/providers/workload"
)

// TestTokensOfAnAPIServer: a cluster whose API server accepts tokens of some seconds alone is observed for an
// hour, also after its tokens were revoked, and with a source that is another one after each push.
func TestTokensOfAnAPIServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := inmemory.NewPipeNetwork()
		cloud := inmemory.NewCloud(inmemory.CloudOptions{Listen: network.Listen})
		defer cloud.Close()
		plane, err := cloud.CreatePlane(t.Context(), inmemory.PlaneSpec{Version: "v1.34.1", TokenLife: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		client := workload.New(workload.Options{Dial: network.DialContext})
		defer client.Close()
		given := 0
		access := func() providers.Access {
			return providers.Access{Cluster: key, Kubeconfig: fleet.NewSecret(plane.Kubeconfig), Tokens: func(ctx context.Context, _ fleet.Secret) (providers.Token, error) {
				given++
				return cloud.PlaneToken(ctx, plane.Endpoint)
			}}
		}
		look := func(when string, tokens int) {
			t.Helper()
			w, err := client.Observe(t.Context(), access())
			if err != nil || !w.Reachable || given != tokens {
				t.Errorf("%s: reachable %t with %d tokens, want %d: %v", when, w.Reachable, given, tokens, err)
			}
		}
		look("first", 1)
		look("again", 1)
		time.Sleep(10 * time.Second)
		look("in its life", 1)
		time.Sleep(7 * time.Second)
		look("before its end", 2)
		for i := range 60 {
			time.Sleep(time.Minute)
			look("after its end", 3+i)
		}
		if err := cloud.RevokePlaneTokens(t.Context(), plane.Endpoint); err != nil {
			t.Fatal(err)
		}
		look("after they were revoked", 63)

		none := access()
		none.Tokens = nil
		if _, err := client.Observe(t.Context(), none); fleet.KindOf(err) != fleet.Unauthorized {
			t.Errorf("without a token: %v, want kind Unauthorized", err)
		}
		look("with one again", 64)
	})
}
