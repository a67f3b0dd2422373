package docker

import (
	"cmp"
	"context"
	"log/slog"
	"regexp"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/cloudconfig/userdata"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/driver/transport"
	"fairlead.dev/providers/infrastructure/docker/api"
	"fairlead.dev/providers/infrastructure/docker/engine"
)

// A Provider is the infrastructure provider of one Docker daemon.
type Provider struct {
	*driver.Machines[*observation, *box]

	o        Options
	client   *engine.Client
	watch    *snapshot.Watch[string]
	listings *snapshot.Cache[*listing]
	ended    driver.Memory[string, result] // of the user data, by id of the container
	pulls    pulls
	wake     chan struct{}                       // something changed, or events came to an end
	found    driver.Memory[snapshot.Owner, bool] // clusters without a load balancer that this process made ready
}

var _ providers.Infrastructure = (*Provider)(nil)

// Options are what a provider is made with. Zero values mean the defaults.
type Options struct {
	Engine  engine.Options
	Network string        `setting:"network" usage:"name of the network of containers, which is created if it is missing (default kind)"`
	Tick    time.Duration `setting:"tick" usage:"maximum age of a listing of containers, as a 'duration'"`
	Settle  time.Duration `setting:"settle" usage:"maximum 'duration' until a change is visible in a listing"`
	Log     *slog.Logger
}

// The defaults. A change shows in the next listing; one whose answer was lost was carried out within the time limit
// of a request.
const (
	DefaultNetwork = "kind"
	DefaultTick    = 3 * time.Second
	DefaultSettle  = 70 * time.Second
)

// networkName is what Docker takes for the name of a network. Source: moby/moby, daemon/names.
var networkName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]*$`)

// New returns a provider.
func New(o Options) (*Provider, error) {
	o.Network, o.Tick, o.Settle = cmp.Or(o.Network, DefaultNetwork), cmp.Or(o.Tick, DefaultTick), cmp.Or(o.Settle, DefaultSettle)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	client, err := engine.New(o.Engine)
	if err != nil {
		return nil, err
	}
	p := &Provider{o: o, client: client, watch: snapshot.NewWatch[string](), wake: make(chan struct{}, 1)}
	p.listings = snapshot.NewCache(o.Tick, "list containers", p.list)
	p.Machines = driver.New(machines{p})
	return p, nil
}

// Factory returns the factory of this provider.
func Factory() providers.Factory {
	return providers.Factory{
		Name: api.ProviderName, Kinds: api.Kinds(), Limit: limitUserData,
		Settings: providers.SettingsOf(Options{Network: DefaultNetwork, Tick: DefaultTick, Settle: DefaultSettle}),
		New: func(_ context.Context, o providers.Options) (providers.Infrastructure, error) {
			own := Options{Log: o.Log}
			if o.Requested != nil {
				own.Engine.Sent = func(c transport.Call) {
					o.Requested(providers.Request{Service: "docker", Method: c.Method, Status: c.Status, Took: c.Took})
				}
			}
			if err := o.ReadSettings(api.ProviderName, &own, "is not above zero"); err != nil {
				return nil, err
			}
			if own.Network != "" && !networkName.MatchString(own.Network) {
				return nil, fleet.Errorf(fleet.Invalid, "open infrastructure provider "+api.ProviderName, "setting network: %q is no name of a network", own.Network)
			}
			return New(own)
		},
	}
}

// Abilities returns what the provider can do beyond the contract.
func (p *Provider) Abilities() providers.Abilities {
	return providers.Abilities{
		Watcher: p, Lister: p, OrphanRemover: p, NodeIdentifier: p, Checker: p, Rebooter: p, EndpointKeeper: p, Placer: p, Closer: p,
	}
}

// Close ends pulls of images, and closes the connections.
func (p *Provider) Close() {
	p.pulls.close()
	p.client.Close()
}

// Settle implements providers.Infrastructure.
func (p *Provider) Settle() time.Duration { return p.o.Settle }

// NodeID implements providers.NodeIdentifier.
func (p *Provider) NodeID() string { return userdata.NodeID }

// PlaceOf implements providers.Placer.
func (p *Provider) PlaceOf(context.Context, *fleet.Cluster) (string, error) { return p.place().ID, nil }

func (p *Provider) place() fleet.Place { return fleet.Place{ID: "Docker " + p.client.Host} }

// machines are those of a provider, for package driver.
type machines struct{ *Provider }

var _ driver.Driver[*observation, *box] = machines{}

// Look implements driver.Driver.
func (p machines) Look(ctx context.Context, c *fleet.Cluster, o snapshot.Owner) (*observation, error) {
	return p.look(ctx, c, o)
}

// Seen implements driver.Driver.
func (p machines) Seen(_ *fleet.Cluster, got *observation) []driver.Seen[*box] {
	var out []driver.Seen[*box]
	for _, b := range got.boxes {
		out = append(out, driver.Seen[*box]{Machine: b.machine, Where: b.String(), Thing: b})
	}
	return out
}

// Exists implements driver.Driver.
func (p machines) Exists(c *fleet.Cluster, got *observation) bool {
	return len(got.boxes) > 0 || len(got.balancers) > 0 || p.found.Has(snapshot.OwnerOf(c))
}

// Wrap implements driver.Driver.
func (p machines) Wrap(what string, err error) error { return engine.Wrap(what, err) }
