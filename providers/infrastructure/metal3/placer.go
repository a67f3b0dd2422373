package metal3

import (
	"context"

	"fairlead.dev/fleet"
)

// PlaceOf implements providers.Placer: an Ironic is silent for all who ask it, whatever
// their accounts.
func (p *Provider) PlaceOf(ctx context.Context, c *fleet.Cluster) (string, error) {
	s, _, err := p.siteOf(ctx, c)
	if err != nil {
		return "", err
	}
	return s.place().ID, nil
}
