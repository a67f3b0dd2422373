package openstackauth

import (
	"context"
	"errors"
	"fmt"

	"github.com/gophercloud/gophercloud/v2"

	"fairlead.dev/fleet"
)

// A Service is one of OpenStack's, as its user wants it.
type Service struct {
	Name         string // for people and metrics: "compute"
	Microversion string // empty: that of the service
	// Open makes its client, as openstack.NewComputeV2 does.
	Open func(*gophercloud.ProviderClient, gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error)
}

// Has reports whether the catalogue has s.
func (s *Session) Has(ctx context.Context, v Service) (bool, error) {
	_, err := s.Client(ctx, v)
	if err == nil {
		return true, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.absent[v.Name] {
		return false, nil
	}
	return false, err
}

// Client returns the client of v, which is made when it is first needed, and again when
// the catalogue changed. A cloud without v gives the kind Invalid.
func (s *Session) Client(ctx context.Context, v Service) (*gophercloud.ServiceClient, error) {
	provider, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	s.readCatalogue(ctx, provider)
	s.mu.Lock()
	c, absent := s.clients[v.Name], s.absent[v.Name]
	s.mu.Unlock()
	if c != nil {
		return c, nil
	}
	if absent {
		return nil, s.without(v)
	}
	c, err = v.Open(provider, s.login.endpoint)
	if err != nil && !missingService(err) {
		return nil, WrapLook(fmt.Sprintf("find the %s service", v.Name), err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.absent[v.Name] = true
		return nil, s.without(v)
	}
	if v.Microversion != "" {
		c.Microversion = v.Microversion
	}
	s.endpoints.add(c.Endpoint, v.Name)
	s.clients[v.Name] = c
	return c, nil
}

func (s *Session) without(v Service) error {
	where := "catalogue"
	if r := s.Region(); r != "" {
		where += " of region " + r
	}
	return fleet.Errorf(fleet.Invalid, fmt.Sprintf("use the %s service", v.Name), "the %s has none (correct the region, or ask for nothing that needs it)", where)
}

func missingService(err error) bool {
	if _, ok := errors.AsType[*gophercloud.ErrEndpointNotFound](err); ok {
		return true
	}
	_, ok := errors.AsType[gophercloud.ErrEndpointNotFound](err)
	return ok
}
