package vcenter

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
)

// TestFormerAccountsAreForgotten: of accounts that are not used any more neither clients nor
// gates are kept.
func TestFormerAccountsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(Options{})
		defer p.Close()
		for i := range 20 {
			cred := Credential{Server: "vcenter.example.com", Insecure: true, User: fmt.Sprintf("u%d@vsphere.local", i), Password: fleet.NewSecret([]byte("p")), From: "Secret prod/vcenter"}
			if _, err := p.Client(cred); err != nil {
				t.Fatal(err)
			}
			time.Sleep(45 * time.Minute)
		}
		if clients, accounts := p.clients.Sizes(); clients > 2 || accounts > 2 {
			t.Errorf("%d clients and %d gates are kept for one account that is in use", clients, accounts)
		}
	})
}
