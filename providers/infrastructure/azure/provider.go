package azure

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/objects"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/driver/transport/logins"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// ManagedControlPlane is the kind of control planes that AKS keeps.
const ManagedControlPlane = api.ManagedControlPlane

// ControlPlaneKinds returns the kinds of these.
func ControlPlaneKinds() []fleet.Kind { return api.ControlPlaneKinds() }

// A Provider is the infrastructure provider of Azure.
type Provider struct {
	*driver.Machines[*view, *vm]

	o       Options
	secrets objects.Secrets
	sites   *logins.Pool[arm.Credential, *site]
	watch   *snapshot.Watch[*place]

	full     driver.Memory[room, time.Time]        // where there was no capacity, and when that was seen
	leaving  driver.Leaving                        // VMs, by their vmId, that left the endpoint
	extended driver.Memory[string, bool]           // VMs, by their vmId, that had all their extensions
	refused  driver.Memory[snapshot.Owner, string] // why the last deletion of what machines share was refused
	names    driver.Memory[snapshot.Owner, string] // of clusters of AKS, as they were last seen or asked for
	admins   driver.Memory[snapshot.Owner, admin]  // their credentials
	asks     driver.Memory[ask, time.Time]         // what AKS took, and when that was first
}

var (
	_ providers.Infrastructure = (*Provider)(nil)
	_ providers.PoolKeeper     = (*Provider)(nil)
)

// Options are what a provider is made with. Zero values mean the defaults.
type Options struct {
	ARM    arm.Options
	Agent  Agent
	Tick   time.Duration `setting:"tick" usage:"maximum age of cached data of a resource group, as a 'duration'; clusters there share the cache"`
	Settle time.Duration `setting:"settle" usage:"maximum 'duration' until a change is visible in Azure"`
	Log    *slog.Logger
	// Secret returns a Secret that Git does not hold; nil means that there are none.
	Secret func(ctx context.Context, k fleet.Key) (fleet.SecretData, error)
}

// The defaults. A request without an answer is carried out for a minute at most, and shows within a tick then.
const (
	DefaultTick   = 10 * time.Second
	DefaultSettle = 75 * time.Second
)

// New returns a provider.
func New(o Options) *Provider {
	o.Tick, o.Settle = cmp.Or(o.Tick, DefaultTick), cmp.Or(o.Settle, DefaultSettle)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p := &Provider{
		o: o, watch: snapshot.NewWatch[*place](), sites: logins.New[arm.Credential, *site](nil),
		secrets: objects.Secrets{Store: objects.Kept(o.Secret, o.Tick), Example: api.SecretKey + "=FILE"},
	}
	p.Machines = driver.New(machines{p})
	return p
}

// machines are those of a provider, for package driver.
type machines struct{ *Provider }

var _ driver.Driver[*view, *vm] = machines{}

// Look implements driver.Driver.
func (p machines) Look(ctx context.Context, c *fleet.Cluster, o snapshot.Owner) (*view, error) {
	return p.look(ctx, c, o)
}

// Seen implements driver.Driver.
func (p machines) Seen(_ *fleet.Cluster, v *view) []driver.Seen[*vm] {
	var out []driver.Seen[*vm]
	for _, m := range v.vms {
		out = append(out, driver.Seen[*vm]{Machine: m.machine, Where: m.String(), Thing: m})
	}
	return out
}

// Exists implements driver.Driver: machines have a subnet.
func (p machines) Exists(_ *fleet.Cluster, v *view) bool {
	n := v.network(new(steps.Decision))
	return n.subnet(fleet.RoleWorker, "") != nil && n.subnet(fleet.RoleControlPlane, "") != nil
}

// Wrap implements driver.Driver.
func (p machines) Wrap(what string, err error) error { return arm.Wrap(what, err) }

// Abilities returns what the provider can do beyond the contract.
func (p *Provider) Abilities() providers.Abilities {
	return providers.Abilities{
		Watcher: p, Lister: p, OrphanRemover: p, UntaggedFinder: p, NodeIdentifier: p, Checker: p, EndpointKeeper: p, SecretAnswerer: p, PoolKeeper: p, Placer: p, Adopter: p, Closer: p,
	}
}

// Close closes the connections.
func (p *Provider) Close() { p.sites.Close() }

// Settle implements providers.Infrastructure.
func (p *Provider) Settle() time.Duration { return p.o.Settle }

// NodeID implements providers.NodeIdentifier: the id of the VM, as the cloud controller manager gives it to a Node,
// which is filled in when the machine is made.
func (p *Provider) NodeID() string { return idPrefix + idHere }

// PlaceOf implements providers.Placer: Azure Resource Manager is silent for a subscription.
func (p *Provider) PlaceOf(_ context.Context, c *fleet.Cluster) (string, error) {
	spec, err := api.ReadShared(c)
	if err != nil {
		return "", err
	}
	return "Azure subscription " + spec.SubscriptionID, nil
}
