package metal3

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
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
		if len(p.sites) > 4 {
			t.Errorf("%d sites are kept for one password that is in use", len(p.sites))
		}
	})
}
