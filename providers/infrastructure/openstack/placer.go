package openstack

import (
	"context"

	"fairlead.dev/fleet"
)

// PlaceOf implements providers.Placer: a cloud is silent for all of its projects. Regions have
// their services each for itself.
func (p *Provider) PlaceOf(ctx context.Context, c *fleet.Cluster) (string, error) {
	home, _, err := p.home(ctx, c)
	if err != nil {
		return "", err
	}
	name := "OpenStack " + home.Origin()
	if region := home.Region(); region != "" {
		name += inRegion + region
	}
	return name, nil
}
