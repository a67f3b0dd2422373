package cloud

import (
	"context"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"

	"fairlead.dev/providers/driver/openstackauth"
)

// novaMicroversion is that of Stein (2019). From it on a listing tells of servers
// whose cell is down, which older ones leave out as if they were gone.
// Source: https://docs.openstack.org/api-guide/compute/down_cells.html
const novaMicroversion = "2.69"

func compute() openstackauth.Service {
	return openstackauth.Service{Name: "compute", Open: openstack.NewComputeV2, Microversion: novaMicroversion}
}

func blockStorage() openstackauth.Service {
	return openstackauth.Service{Name: "block-storage", Open: openstack.NewBlockStorageV3}
}

func loadBalancer() openstackauth.Service {
	return openstackauth.Service{Name: "load-balancer", Open: openstack.NewLoadBalancerV2}
}

// Compute returns the client of Nova.
func (p *Project) Compute(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return p.Client(ctx, compute())
}

// Network returns the client of Neutron.
func (p *Project) Network(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return p.Client(ctx, openstackauth.Service{Name: "network", Open: openstack.NewNetworkV2})
}

// Image returns the client of Glance.
func (p *Project) Image(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return p.Client(ctx, openstackauth.Service{Name: "image", Open: openstack.NewImageV2})
}

// BlockStorage returns the client of Cinder. A cloud without it gives the kind
// Invalid.
func (p *Project) BlockStorage(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return p.Client(ctx, blockStorage())
}

// LoadBalancer returns the client of Octavia. A cloud without it gives the kind
// Invalid.
func (p *Project) LoadBalancer(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return p.Client(ctx, loadBalancer())
}
