package aws

import (
	"context"
	"log/slog"
	"net/url"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/driver/transport"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// Name is the name of the provider in the registry.
const Name = api.ProviderName

// ManagedControlPlane is the kind of control planes that EKS keeps.
const ManagedControlPlane = api.ManagedControlPlane

// ControlPlaneKinds returns the kinds of these.
func ControlPlaneKinds() []fleet.Kind { return api.ControlPlaneKinds() }

// A Provider is the infrastructure provider of AWS.
type Provider struct {
	*driver.Machines[*view, cloud.Instance]

	o        Options
	accounts *cloud.Accounts
	watch    *snapshot.Watch[*cloud.Place]

	asked    driver.Memory[asked, time.Time]          // when things were asked for that AWS may make twice
	tried    driver.Memory[snapshot.Owner, string]    // the subnets in which machines were asked for without an answer
	leaving  driver.Leaving                           // instances, by id, that left the endpoint
	names    driver.Memory[snapshot.Owner, string]    // of clusters of EKS, as they were last seen or asked for
	begun    driver.Memory[snapshot.Owner, string]    // versions that node groups were last asked to be upgraded to
	moved    driver.Memory[snapshot.Owner, string]    // versions of launch templates that node groups were last asked to move to
	asks     driver.Memory[ask, time.Time]            // what EKS took, and when that was
	trusted  driver.Memory[string, time.Time]         // when OIDC providers were last seen as Git says, by ARN
	unlisted driver.Memory[snapshot.Owner, time.Time] // when AWS denied to list launch templates
	denied   driver.Memory[denied, denial]            // steps that AWS denied
	refused  driver.Memory[snapshot.Owner, string]    // why the last deletion of what machines share was refused
}

var (
	_ providers.Infrastructure = (*Provider)(nil)
	_ providers.PoolKeeper     = (*Provider)(nil)
)

// Options are what a provider is made with. Zero values mean the defaults.
type Options struct {
	Cloud  cloud.Options
	Settle time.Duration `setting:"settle" usage:"maximum 'duration' until a change is visible in AWS"` // see DefaultSettle
	Log    *slog.Logger
	// Secret returns a Secret that Git does not hold; nil means that there are none.
	Secret func(ctx context.Context, k fleet.Key) (fleet.SecretData, error)
	// UserData returns that of the machines of a node group with an image of people; nil: such node groups are refused.
	UserData func(in providers.BootstrapInput) (providers.UserData, error)
}

// DefaultSettle is how long a change may take to show: what was asked for is listed some seconds
// later, and a request without an answer is carried out for a minute at most.
// Source: EC2 developer guide, "Eventual consistency".
const DefaultSettle = 75 * time.Second

// New returns a provider.
func New(o Options) *Provider {
	if o.Settle == 0 {
		o.Settle = DefaultSettle
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p := &Provider{o: o, accounts: cloud.NewAccounts(o.Cloud, o.Secret), watch: snapshot.NewWatch[*cloud.Place]()}
	p.Machines = driver.New(machines{p})
	return p
}

// Factory returns the factory of this provider. userData is Options.UserData.
func Factory(userData func(in providers.BootstrapInput) (providers.UserData, error)) providers.Factory {
	defaults := Options{Cloud: cloud.Options{Tick: cloud.DefaultTick}, Settle: DefaultSettle}
	return providers.Factory{Name: api.ProviderName, Kinds: api.Kinds(), New: open(userData), Limit: LimitUserData, Settings: providers.SettingsOf(defaults)}
}

func open(userData func(in providers.BootstrapInput) (providers.UserData, error)) func(context.Context, providers.Options) (providers.Infrastructure, error) {
	return func(_ context.Context, o providers.Options) (providers.Infrastructure, error) {
		p, err := fromOptions(o)
		if err != nil {
			return nil, err
		}
		p.o.UserData = userData
		return p, nil
	}
}

// fromOptions returns a provider with the settings of people.
func fromOptions(o providers.Options) (*Provider, error) {
	own := Options{Log: o.Log, Secret: o.Secret}
	if o.Requested != nil {
		own.Cloud.Sent = func(c transport.Call) {
			o.Requested(providers.Request{Service: c.URL.Host, Method: c.Method, Status: c.Status, Took: c.Took})
		}
	}
	if err := o.ReadSettings(api.ProviderName, &own, "is not above zero"); err != nil {
		return nil, err
	}
	if at := own.Cloud.Endpoint; at != "" {
		if u, err := url.Parse(at); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, fleet.Errorf(fleet.Invalid, "open infrastructure provider "+api.ProviderName, "setting endpoint: %q is no URL such as https://aws.example.com", at)
		}
	}
	return New(own), nil
}

// Abilities tells what it can do beyond the contract.
func (p *Provider) Abilities() providers.Abilities {
	return providers.Abilities{
		Watcher: p, Lister: p, OrphanRemover: p, UntaggedFinder: p, NodeIdentifier: p, Adopter: p, Checker: p, EndpointKeeper: p, PoolKeeper: p, Placer: p, Closer: p,
	}
}

// Close closes the connections to AWS.
func (p *Provider) Close() { p.accounts.Close() }

// Settle implements providers.Infrastructure.
func (p *Provider) Settle() time.Duration { return p.o.Settle }

// NodeID implements providers.NodeIdentifier: what the cloud controller manager of AWS would give a Node.
func (p *Provider) NodeID() string {
	return idPrefix + "{{ v1.availability_zone }}/{{ v1.instance_id }}"
}

// PlaceOf implements providers.Placer: the services of a region are silent for all of its accounts.
func (p *Provider) PlaceOf(_ context.Context, c *fleet.Cluster) (string, error) {
	spec, err := api.ReadShared(c)
	if err != nil {
		return "", err
	}
	return "AWS " + spec.Region, nil
}
