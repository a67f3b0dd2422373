package metal3_test

import (
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// TestSilentIronicHidesNoOther: the clusters of the Ironics that answer are listed, with what could not be
// asked.
func TestSilentIronicHidesNoOther(t *testing.T) {
	t.Parallel()
	w, silent := doubled(t, "m1"), doubled(t, "m1")
	w.create(&w.c, worker)
	silent.p = w.p
	silent.until(&silent.c, "available", allFree)
	p := w.provider() // another agent, which looked at both and made neither ready
	for _, c := range []*fleet.Cluster{&w.c, &silent.c} {
		if _, err := p.Observe(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	silent.FailCalls(metal3test.CallFault{Status: 503})
	w.pause()
	got, err := p.Clusters(t.Context(), "acme")
	if err == nil || len(got) != 1 || got[0] != w.c.Key {
		t.Errorf("Clusters = %v, %v, want %s and an error", got, err, w.c.Key)
	}
}

// TestTwoAddressesOfOneIronic: what two addresses lead to is told once.
func TestTwoAddressesOfOneIronic(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	w.create(&w.c, worker)
	a, b := w.c, w.c
	a.Key.Name, b.Key = "eu-2", fleet.Key{Namespace: "another", Name: "eu-3"}
	b.Infrastructure.Secrets = map[fleet.Key]fleet.SecretData{{Namespace: "another", Name: "ironic"}: secretOf(map[string]string{
		"endpoint": w.Ironic.URL(), "username": metal3test.User, "password": metal3test.Password, "ca.crt": string(w.Ironic.CA()),
	})}
	if w.Ironic.URL() == w.URL() {
		t.Fatal("the Ironic has one address")
	}
	w.pause()
	got, err := w.p.Orphans(t.Context(), "acme", []*fleet.Cluster{&a, &b})
	if err != nil || len(got) != 1 || got[0].Cluster != w.c.Key {
		t.Errorf("Orphans = %+v, %v, want one", got, err)
	}
}
