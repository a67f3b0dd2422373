package vsphere

import (
	"context"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/api"
)

// PlaceOf implements providers.Placer: the vCenter of what machines share is silent for all
// who ask it, whatever their accounts.
func (p *Provider) PlaceOf(_ context.Context, c *fleet.Cluster) (string, error) {
	spec, err := api.ReadCluster(c.Infrastructure)
	if err != nil {
		return "", err
	}
	return "vCenter " + strings.TrimSuffix(strings.ToLower(spec.Server), ":443"), nil
}
