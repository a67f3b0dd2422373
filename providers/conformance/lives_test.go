package conformance_test

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// byName remembers what is to go by its name alone.
func byName() mutant {
	going := map[fleet.MachineName]bool{}
	return mutant{
		remove: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster, n fleet.MachineName, id fleet.ProviderID) error {
			going[n] = true
			return p.DeleteMachine(ctx, "", c, n, id)
		},
		observe: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
			got, err := p.Observe(ctx, c)
			for i := range got.Machines {
				got.Machines[i].Interrupted = got.Machines[i].Interrupted || going[got.Machines[i].Name]
			}
			return got, err
		},
	}
}
