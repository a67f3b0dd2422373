package reconcile_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/reconcile"
)

// TestSecretsThatPeopleGiveAreSeen: what an external etcd needs is not missing where people
// gave it to the agent, each part that has to be there.
func TestSecretsThatPeopleGiveAreSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, store := newWorld(t), secrets.NewMemory()
		defer w.cloud.Close()
		c := clusterSpec{1, 1, "v1.33.5", false}.cluster(t)
		c.ControlPlane.Bootstrap.Spec = []byte(`{"clusterConfiguration":{"etcd":{"external":{"endpoints":["https://etcd:2379"]}}}}`)
		missing := func() []fleet.SecretName {
			t.Helper()
			o, err := reconcile.NewLooker(reconcile.LookerOptions{
				Infrastructure: func(string) (providers.Observer, error) { return inmemory.NewProvider(w.cloud, settle), nil },
				Distributions:  w.distributions(nil), Secrets: store,
				Given: func(ctx context.Context, id fleet.ID, k fleet.Key) (fleet.SecretData, error) {
					if id != c.Fleet {
						t.Errorf("asked for fleet %s", id)
					}
					return store.GetSecret(ctx, k)
				},
			}).Look(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			return slices.DeleteFunc(o.Secrets.Missing, func(n fleet.SecretName) bool { return n != fleet.EtcdCA && n != fleet.EtcdClient })
		}
		give := func(name fleet.SecretName, keys ...string) {
			t.Helper()
			d := make(fleet.SecretData)
			for _, key := range keys {
				d[key] = fleet.NewSecret([]byte("x"))
			}
			if err := store.SetSecret(t.Context(), c.SecretKey(name), d); err != nil {
				t.Fatal(err)
			}
		}
		expect := func(when string, want ...fleet.SecretName) {
			t.Helper()
			if got := missing(); !slices.Equal(got, want) {
				t.Errorf("%s: missing %q, want %q", when, got, want)
			}
		}
		expect("nothing given", fleet.EtcdCA, fleet.EtcdClient)
		give(fleet.EtcdCA, fleet.TLSCertKey)
		give(fleet.EtcdClient, fleet.TLSCertKey)
		expect("no key of the client", fleet.EtcdClient)
		give(fleet.EtcdClient, fleet.TLSCertKey, fleet.TLSKeyKey)
		expect("all given")
		if want := []fleet.Key{{Namespace: "prod", Name: "eu-1-apiserver-etcd-client"}, {Namespace: "prod", Name: "eu-1-etcd"}}; !slices.Equal(c.StoredSecrets(), want) {
			t.Errorf("Secrets in the store %v, want %v: the escrow and a pivot take them along", c.StoredSecrets(), want)
		}
	})
}
