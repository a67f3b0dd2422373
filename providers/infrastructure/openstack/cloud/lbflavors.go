package cloud

import (
	"context"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/pagination"
)

// LoadBalancerFlavors returns the flavors of Octavia, remembered for some minutes.
func (p *Project) LoadBalancerFlavors(ctx context.Context) ([]flavors.Flavor, error) {
	return Lookup(p, "flavors of Octavia", func() ([]flavors.Flavor, error) {
		return List(ctx, "the flavors of Octavia", p.LoadBalancer, func(c *gophercloud.ServiceClient) pagination.Pager {
			return flavors.List(c, flavors.ListOpts{})
		}, flavors.ExtractFlavors)
	}, func([]flavors.Flavor) bool { return true })
}

// nameFlavors enters the names of flavors where a load balancer of a fleet has
// one. Where the project may not list them nothing depends on it: the names tell
// only that Git asks for another one.
func (p *Project) nameFlavors(ctx context.Context, s *Snapshot) {
	has := false
	for _, o := range s.LoadBalancers.Owners() {
		for _, lb := range s.LoadBalancers.SharedBy(o) {
			has = has || lb.FlavorID != ""
		}
	}
	if !has {
		return
	}
	all, err := p.LoadBalancerFlavors(ctx)
	if err != nil {
		return
	}
	s.LoadBalancerFlavors = make(map[string]string, len(all))
	for _, f := range all {
		s.LoadBalancerFlavors[f.ID] = f.Name
	}
}
