package hosts_test

import (
	"context"
	"testing"

	"fairlead.dev/providers/driver/claims"
	"fairlead.dev/providers/driver/claims/claimstest"
	"fairlead.dev/providers/infrastructure/hosts/hoststest"
)

// TestClaims: a claim of a host is a compare-and-swap, over real SSH servers.
func TestClaims(t *testing.T) {
	b := newBench(t, 2)
	claimstest.Run(t, claimstest.Options{
		Things: []string{"h0", "h1"}, Settle: settle,
		New: func(testing.TB) claims.Store {
			for _, h := range b.hosts {
				h.Set(hoststest.Fault{})
				h.Exec("rm -rf /var/lib/fairlead")
			}
			agents := severalAgents{make(chan claims.Store, 3)}
			for range cap(agents.turn) {
				agents.turn <- b.provider().ClaimStore(b.cluster())
			}
			return agents
		},
		Foreign: func(_ testing.TB, thing string) {
			for _, h := range b.hosts {
				if h.Name == thing {
					h.Write("/var/lib/fairlead/host/claim", "taken by hand")
				}
			}
		},
	})
}

// severalAgents claim in turn, each with a provider of its own that knows nothing of the
// others.
type severalAgents struct{ turn chan claims.Store }

func (a severalAgents) next() claims.Store {
	s := <-a.turn
	a.turn <- s
	return s
}

// Claims implements claims.Store.
func (a severalAgents) Claims(ctx context.Context) (map[string]claims.Claim, error) {
	return a.next().Claims(ctx)
}

// Claim implements claims.Store.
func (a severalAgents) Claim(ctx context.Context, thing string, c claims.Claim) error {
	return a.next().Claim(ctx, thing, c)
}

// Release implements claims.Store.
func (a severalAgents) Release(ctx context.Context, thing, id string) error {
	return a.next().Release(ctx, thing, id)
}
