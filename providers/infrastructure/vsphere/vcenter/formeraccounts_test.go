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
		if len(p.clients) > 2 || len(p.gates) > 2 {
			t.Errorf("%d clients and %d gates are kept for one account that is in use", len(p.clients), len(p.gates))
		}
	})
}
