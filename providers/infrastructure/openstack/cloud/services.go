package cloud

import (
	"context"
	"errors"
	"fmt"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"

	"fairlead.dev/fleet"
)

// A service is one of OpenStack's.
type service string

const (
	compute      service = "compute"
	network      service = "network"
	image        service = "image"
	blockStorage service = "block-storage"
	loadBalancer service = "load-balancer"
)

// novaMicroversion is that of Stein (2019). From it on a listing tells of servers
// whose cell is down, which older ones leave out as if they were gone.
// Source: https://docs.openstack.org/api-guide/compute/down_cells.html
const novaMicroversion = "2.69"

// Compute returns the client of Nova.
func (p *Project) Compute(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return p.client(ctx, compute)
}

// Network returns the client of Neutron.
func (p *Project) Network(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return p.client(ctx, network)
}

// Image returns the client of Glance.
func (p *Project) Image(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return p.client(ctx, image)
}

// BlockStorage returns the client of Cinder. A cloud without it gives the kind
// Invalid.
func (p *Project) BlockStorage(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return p.client(ctx, blockStorage)
}

// LoadBalancer returns the client of Octavia. A cloud without it gives the kind
// Invalid.
func (p *Project) LoadBalancer(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return p.client(ctx, loadBalancer)
}

// has reports whether the catalogue has s.
func (p *Project) has(ctx context.Context, s service) (bool, error) {
	_, err := p.client(ctx, s)
	if err == nil {
		return true, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.absent[s] {
		return false, nil
	}
	return false, err
}

// client makes each client when it is first needed, and anew where the catalogue
// changed.
func (p *Project) client(ctx context.Context, s service) (*gophercloud.ServiceClient, error) {
	provider, err := p.connect(ctx)
	if err != nil {
		return nil, err
	}
	p.readCatalogue(ctx, provider)
	p.mu.Lock()
	c, absent := p.clients[s], p.absent[s]
	p.mu.Unlock()
	if c != nil {
		return c, nil
	}
	if absent {
		return nil, p.without(s)
	}
	open := map[service]func(*gophercloud.ProviderClient, gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error){
		compute: openstack.NewComputeV2, network: openstack.NewNetworkV2, image: openstack.NewImageV2,
		blockStorage: openstack.NewBlockStorageV3, loadBalancer: openstack.NewLoadBalancerV2,
	}[s]
	c, err = open(provider, p.login.endpoint)
	if err != nil && !missingService(err) {
		return nil, WrapLook(fmt.Sprintf("find the %s service", s), err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.absent[s] = true
		return nil, p.without(s)
	}
	if s == compute {
		c.Microversion = novaMicroversion
	}
	p.endpoints.add(c.Endpoint, string(s))
	p.clients[s] = c
	return c, nil
}

func (p *Project) without(s service) error {
	where := "catalogue"
	if r := p.Region(); r != "" {
		where += " of region " + r
	}
	return fleet.Errorf(fleet.Invalid, fmt.Sprintf("use the %s service", s), "the %s has none (correct the region, or ask for nothing that needs it)", where)
}

func missingService(err error) bool {
	if _, ok := errors.AsType[*gophercloud.ErrEndpointNotFound](err); ok {
		return true
	}
	_, ok := errors.AsType[gophercloud.ErrEndpointNotFound](err)
	return ok
}
