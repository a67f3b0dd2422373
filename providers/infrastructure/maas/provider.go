package maas

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/endpoint"
	"fairlead.dev/providers/driver/objects"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/driver/transport/logins"
	"fairlead.dev/providers/infrastructure/maas/api"
	"fairlead.dev/providers/infrastructure/maas/region"
)

// A Provider is the infrastructure provider of MAAS.
type Provider struct {
	*driver.Machines[*observation, *host]

	o        Options
	secrets  objects.Secrets
	watch    *snapshot.Watch[*site]
	sites    *logins.Pool[region.Credential, *site]
	deciding driver.Locks[string] // hosts that something is requested of, by system id

	found  driver.Memory[snapshot.Owner, bool] // clusters without anything of their own in MAAS that this process made ready
	failed driver.Memory[string, time.Time]    // hosts on which a deployment failed, by system id, and when that was seen
}

var _ providers.Infrastructure = (*Provider)(nil)

// Options are what a provider is made with. Zero values mean the defaults.
type Options struct {
	Region region.Options
	Tick   time.Duration `setting:"tick" usage:"maximum age of cached MAAS data, as a 'duration'; clusters of that MAAS share the cache"`
	Settle time.Duration `setting:"settle" usage:"maximum 'duration' until a change is visible in MAAS"`
	Relist time.Duration `setting:"relist" usage:"'duration' after which machines are listed again although MAAS has no new events"`
	Log    *slog.Logger
	// Secret returns a Secret that Git does not hold; nil means that there are none.
	Secret func(ctx context.Context, k fleet.Key) (fleet.SecretData, error)
}

// The defaults. A change shows in the next listing; one whose answer was lost was carried out within the time
// limit of a request. MAAS asks for the power of its hosts every five minutes.
const (
	DefaultTick   = 10 * time.Second
	DefaultSettle = 75 * time.Second
	DefaultRelist = 5 * time.Minute
	DefaultRate   = 20
)

// mistrusted is how long other hosts are tried before one on which a deployment failed.
const mistrusted = 6 * time.Hour

// New returns a provider.
func New(o Options) *Provider {
	o.Tick, o.Settle, o.Relist = cmp.Or(o.Tick, DefaultTick), cmp.Or(o.Settle, DefaultSettle), cmp.Or(o.Relist, DefaultRelist)
	o.Region.Rate = cmp.Or(o.Region.Rate, DefaultRate)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p := &Provider{
		o: o, watch: snapshot.NewWatch[*site](), sites: logins.New[region.Credential, *site](nil),
		secrets: objects.Secrets{Store: objects.Kept(o.Secret, o.Tick), Example: api.EndpointKey + "=FILE --from-file " + api.APIKeyKey + "=FILE"},
	}
	p.Machines = driver.New(machines{p})
	return p
}

// machines are those of a provider, for package driver.
type machines struct{ *Provider }

var _ driver.Driver[*observation, *host] = machines{}

// Look implements driver.Driver.
func (p machines) Look(ctx context.Context, c *fleet.Cluster, o snapshot.Owner) (*observation, error) {
	return p.look(ctx, c, o)
}

// Seen implements driver.Driver. A released machine is no part of the cluster.
func (p machines) Seen(_ *fleet.Cluster, got *observation) []driver.Seen[*host] {
	var out []driver.Seen[*host]
	for _, h := range got.hosts {
		if h.machine.State != fleet.MachineReleased {
			out = append(out, driver.Seen[*host]{Machine: h.machine, Where: h.String(), Thing: h})
		}
	}
	return out
}

// Exists implements driver.Driver.
func (p machines) Exists(c *fleet.Cluster, got *observation) bool {
	return len(p.Seen(c, got)) > 0 || len(got.ours()) > 0 || p.found.Has(snapshot.OwnerOf(c))
}

// Wrap implements driver.Driver.
func (p machines) Wrap(what string, err error) error { return region.Wrap(what, err) }

// Abilities returns what the provider can do beyond the contract.
func (p *Provider) Abilities() providers.Abilities {
	return providers.Abilities{
		Watcher: p, Lister: p, OrphanRemover: p, Adopter: p, UntaggedFinder: p, NodeIdentifier: p, VirtualIPs: p,
		Checker: p, Rebooter: p, EndpointKeeper: p, Placer: p, Closer: p,
	}
}

// Close closes the connections.
func (p *Provider) Close() { p.sites.Close() }

// Settle implements providers.Infrastructure.
func (p *Provider) Settle() time.Duration { return p.o.Settle }

// NodeID implements providers.NodeIdentifier. The instance id of cloud-init is the system id. The zone is
// filled in when the host is known.
func (p *Provider) NodeID() string { return idPrefix + zoneHere + "/{{ v1.instance_id }}" }

// VirtualIP implements providers.VirtualIPs.
func (p *Provider) VirtualIP(c *fleet.Cluster) (*endpoint.VirtualIP, error) {
	spec, err := api.ReadCluster(c.Infrastructure)
	if err != nil {
		return nil, err
	}
	return spec.VirtualIP, nil
}

// PlaceOf implements providers.Placer.
func (p *Provider) PlaceOf(ctx context.Context, c *fleet.Cluster) (string, error) {
	s, err := p.siteOf(ctx, c)
	if err != nil {
		return "", err
	}
	return s.place().ID, nil
}
