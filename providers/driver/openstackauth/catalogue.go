package openstackauth

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/catalog"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
)

// catalogueTTL is how long the catalogue is taken for what it was: services are
// added, and their endpoints move, while an agent runs.
const catalogueTTL = 5 * time.Minute

// readCatalogue reads the catalogue again when it is old, and forgets the clients
// and the services that there are none of where it changed. Where it cannot be read
// the old one goes on to serve: what is wrong shows by itself.
func (s *Session) readCatalogue(ctx context.Context, provider *gophercloud.ProviderClient) {
	s.mu.Lock()
	if time.Since(s.catalogued) < catalogueTTL {
		s.mu.Unlock()
		return
	}
	s.catalogued = time.Now() // one reads, and a Keystone that fails is left alone for as long
	s.mu.Unlock()
	identity, err := openstack.NewIdentityV3(provider, gophercloud.EndpointOpts{})
	if err != nil {
		return
	}
	pages, err := catalog.List(identity).AllPages(ctx)
	if err != nil {
		return
	}
	entries, err := catalog.ExtractServiceCatalog(pages)
	if err != nil || len(entries) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if reflect.DeepEqual(entries, s.catalogue) {
		return
	}
	s.catalogue = entries
	clear(s.clients)
	clear(s.absent)
}

// catalogueOf returns the catalogue that came with a token.
func catalogueOf(r gophercloud.AuthResult) []tokens.CatalogEntry {
	var got *tokens.ServiceCatalog
	var err error
	switch r := r.(type) {
	case tokens.CreateResult:
		got, err = r.ExtractServiceCatalog()
	case tokens.GetResult:
		got, err = r.ExtractServiceCatalog()
	}
	if err != nil || got == nil {
		return nil
	}
	return got.Entries
}

// useCatalogue has provider find services in the catalogue as it was last read. It is
// called before anybody else has provider.
func (s *Session) useCatalogue(provider *gophercloud.ProviderClient) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.catalogue, s.catalogued = catalogueOf(provider.GetAuthResult()), time.Now()
	if len(s.catalogue) == 0 {
		return
	}
	provider.EndpointLocator = func(o gophercloud.EndpointOpts) (string, error) {
		s.mu.Lock()
		entries := s.catalogue
		s.mu.Unlock()
		return openstack.V3Endpoint(context.TODO(), provider, &tokens.ServiceCatalog{Entries: entries}, o)
	}
}

// ExpireCatalogue has the catalogue read again soon: a look failed, perhaps because a
// service is elsewhere now.
func (s *Session) ExpireCatalogue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.catalogued) > time.Minute {
		s.catalogued = time.Time{}
	}
}

// A Location is what the catalogue says of where a service is. It is equal for all
// names, interfaces and users by which one cloud is reached, as long as Keystone tells the id.
type Location struct {
	Service string // its id; empty: Keystone tells no ids
	Region  string
}

// Locate returns where the catalogue has v in the region of the credential.
func (s *Session) Locate(ctx context.Context, v Service) (Location, error) {
	if _, err := s.Client(ctx, v); err != nil {
		return Location{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.login.endpoint
	o.ApplyDefaults(v.Name)
	for _, entry := range s.catalogue {
		if !slices.Contains(o.Types(), entry.Type) {
			continue
		}
		for _, e := range entry.Endpoints {
			if e.Interface == string(o.Availability) && (o.Region == "" || e.Region == o.Region || e.RegionID == o.Region) {
				return Location{Service: entry.ID, Region: cmp.Or(e.RegionID, e.Region)}, nil
			}
		}
	}
	return Location{}, nil
}
