package metal3

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/addresses"
)

// TestFormerPasswordsAreForgotten: an Ironic whose password changes each half an hour is kept as
// the few that were asked for within the hour, and not as all there ever were.
func TestFormerPasswordsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		password := 0
		p := New(Options{Secret: func(context.Context, fleet.Key) (fleet.SecretData, error) {
			return fleet.SecretData{
				"endpoint": fleet.NewSecret([]byte("http://ironic.example.com:6385")), "username": fleet.NewSecret([]byte("u")),
				"password": fleet.NewSecret(fmt.Append(nil, password)),
			}, nil
		}})
		defer p.Close()
		c := &fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "eu-1"}}
		var current *site
		for password = range 20 {
			time.Sleep(time.Minute) // a Secret is kept for some seconds
			first, _, err := p.siteOf(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(30 * time.Minute)
			if current, _, err = p.siteOf(t.Context(), c); err != nil || current != first {
				t.Fatalf("one password leads to two sites, %v", err)
			}
		}
		if sites, _ := p.sites.Sizes(); sites > 4 {
			t.Errorf("%d sites are kept for one password that is in use", sites)
		}
	})
}

// TestFormerIronicHoldsNoAddress: an address that was given in an Ironic to which nothing leads any more is
// given again after an hour, by the pool that had it.
func TestFormerIronicHoldsNoAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		endpoint := "http://former.example.com:6385"
		p := New(Options{Secret: func(context.Context, fleet.Key) (fleet.SecretData, error) {
			return fleet.SecretData{
				"endpoint": fleet.NewSecret([]byte(endpoint)), "username": fleet.NewSecret([]byte("u")), "password": fleet.NewSecret([]byte("p")),
			}, nil
		}})
		defer p.Close()
		c := &fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "eu-1"}}
		pool, err := addresses.NewPool("IPPool/prod/nodes", &addresses.PoolSpec{Addresses: []string{"10.0.0.10"}, Prefix: 24})
		if err != nil {
			t.Fatal(err)
		}
		look := func() error {
			t.Helper()
			if _, _, err := p.siteOf(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			_, err := p.ledger.Reserve(pool, "m", addresses.Known{Place: endpoint}, time.Now(), time.Now())
			return err
		}
		if err := look(); err != nil {
			t.Fatal(err)
		}
		p.ledger.Saw(endpoint, addresses.Holders{{Pool: pool.ID, Address: netip.MustParseAddr("10.0.0.10")}: {"a node"}})
		time.Sleep(time.Minute)
		endpoint = "http://next.example.com:6385"
		if err := look(); fleet.KindOf(err) != fleet.Exhausted {
			t.Errorf("while the former Ironic may be in use: %v, want kind Exhausted", err)
		}
		time.Sleep(2 * time.Hour)
		if err := look(); err != nil {
			t.Errorf("hours later: %v", err)
		}
	})
}

// TestSecretIsKept: looks ask the secret store for the Secret of an Ironic once within a tick.
func TestSecretIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		p := New(Options{Secret: func(context.Context, fleet.Key) (fleet.SecretData, error) {
			asked++
			return fleet.SecretData{
				"endpoint": fleet.NewSecret([]byte("http://ironic.example.com:6385")), "username": fleet.NewSecret([]byte("u")), "password": fleet.NewSecret([]byte("p")),
			}, nil
		}})
		defer p.Close()
		for _, name := range []string{"eu-1", "eu-2"} {
			if _, _, err := p.siteOf(t.Context(), &fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: name}}); err != nil {
				t.Fatal(err)
			}
		}
		if asked != 1 {
			t.Errorf("two looks asked %d times", asked)
		}
	})
}
