package cloud

import (
	"context"
	"reflect"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/catalog"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
)

// catalogueFor is how long the catalogue is taken for what it was: services are
// added, and their endpoints move, while an agent runs.
const catalogueTTL = 5 * time.Minute

// readCatalogue reads the catalogue anew where it is old, and forgets the clients
// and the services that there are none of where it changed. Where it cannot be read
// the old one goes on to serve: what is wrong shows by itself.
func (p *Project) readCatalogue(ctx context.Context, provider *gophercloud.ProviderClient) {
	p.mu.Lock()
	if time.Since(p.catalogued) < catalogueTTL {
		p.mu.Unlock()
		return
	}
	p.catalogued = time.Now() // one reads, and a Keystone that fails is left alone for as long
	p.mu.Unlock()
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
	p.mu.Lock()
	defer p.mu.Unlock()
	if reflect.DeepEqual(entries, p.catalogue) {
		return
	}
	p.catalogue = entries
	clear(p.clients)
	clear(p.absent)
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
func (p *Project) useCatalogue(provider *gophercloud.ProviderClient) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.catalogue, p.catalogued = catalogueOf(provider.GetAuthResult()), time.Now()
	if len(p.catalogue) == 0 {
		return
	}
	provider.EndpointLocator = func(o gophercloud.EndpointOpts) (string, error) {
		p.mu.Lock()
		entries := p.catalogue
		p.mu.Unlock()
		return openstack.V3Endpoint(context.TODO(), provider, &tokens.ServiceCatalog{Entries: entries}, o)
	}
}

// expireCatalogue has the catalogue read anew soon: a look failed, perhaps because a
// service is elsewhere now.
func (p *Project) expireCatalogue() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.catalogued) > time.Minute {
		p.catalogued = time.Time{}
	}
}
