package openstack

import (
	"context"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/objects"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	"fairlead.dev/providers/infrastructure/openstack/image"
	"fairlead.dev/providers/infrastructure/openstack/machine"
	"fairlead.dev/providers/infrastructure/openstack/network"
)

// A Provider is the infrastructure provider of OpenStack.
type Provider struct {
	*driver.Machines[*observation, serverIn]

	o        Options
	sessions *cloud.Sessions
	keeper   *machine.Keeper
	images   *image.Keeper
	watch    *snapshot.Watch[*cloud.Project]
	secrets  objects.Secrets                       // with clouds.yaml
	leaving  driver.Leaving                        // servers, by id, that left the endpoint and are not deleted yet
	refused  driver.Memory[snapshot.Owner, string] // why the last removal of what a cluster has was refused
}

var _ providers.Infrastructure = (*Provider)(nil)

// Options say how to reach clouds. Zero values mean the defaults.
type Options struct {
	Cloud  cloud.Options
	Settle time.Duration `setting:"settle" usage:"maximum 'duration' until a change is visible in OpenStack"` // see DefaultSettle
	// Secret returns a Secret that Git does not hold; nil means that there are none.
	Secret func(ctx context.Context, k fleet.Key) (fleet.SecretData, error)
}

// DefaultSettle is how long a change may take to show. A call whose answer was
// lost is carried out for as long as the service waits for its own parts, which
// is a minute with the defaults of Nova and Neutron (rpc_response_timeout), and
// shows in the first snapshot after that.
const DefaultSettle = 75 * time.Second

// New returns a provider.
func New(o Options) *Provider {
	if o.Settle == 0 {
		o.Settle = DefaultSettle
	}
	sessions := cloud.NewSessions(o.Cloud)
	p := &Provider{
		o: o, sessions: sessions, images: image.NewKeeper(o.Settle), watch: snapshot.NewWatch[*cloud.Project](),
		secrets: objects.Secrets{Store: objects.Kept(o.Secret, sessions.Tick()), Example: "clouds.yaml=FILE"},
	}
	p.Machines = driver.New(machines{p})
	p.keeper = machine.NewKeeper(o.Settle, p.Locks())
	return p
}

// Abilities tells what it can do beyond the contract.
func (p *Provider) Abilities() providers.Abilities {
	return providers.Abilities{Watcher: p, Lister: p, OrphanRemover: p, Adopter: p, Checker: p, EndpointKeeper: p, Placer: p, Closer: p}
}

// Close closes the connections to the clouds.
func (p *Provider) Close() { p.sessions.Close() }

// Settle implements providers.Infrastructure.
func (p *Provider) Settle() time.Duration { return p.o.Settle }

// Observe implements providers.Infrastructure.
func (p *Provider) Observe(ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
	got, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return fleet.Infrastructure{}, openstackauth.WrapLook("observe "+c.Key.String(), err)
	}
	domains, unknown, err := failureDomains(ctx, got.home, got.spec)
	if err != nil {
		return fleet.Infrastructure{}, openstackauth.WrapLook("observe "+c.Key.String(), err)
	}
	out := fleet.Infrastructure{
		Exists: got.net.Exists, Ready: got.net.Ready, Endpoint: got.net.Endpoint,
		Message: got.net.Message, FailureDomains: domains,
	}
	drift := slices.Clone(got.net.Drift)
	switch {
	case unknown != nil && out.Ready && !got.started(): // the first machine would be anywhere
		out.Ready, out.Message = false, unknown.Error()
	case unknown != nil && out.Ready:
		drift = append(drift, unknown.Error())
	}
	if err := got.images(c, &out); err != nil {
		return fleet.Infrastructure{}, openstackauth.WrapLook("observe "+c.Key.String(), err)
	}
	drift = append(drift, out.Upkeep...)
	if out.Ready {
		drift = append(drift, got.bastionDrift(c)...)
	}
	for i, at := range got.projects {
		seen, err := at.placeSeen(ctx)
		if err != nil {
			return fleet.Infrastructure{}, openstackauth.WrapLook("observe "+c.Key.String(), err)
		}
		seen.Used = seen.Used || i == 0 && got.net.Exists
		out.Places = append(out.Places, seen)
		out.Exists = out.Exists || at.machines.Exists
		out.Machines = append(out.Machines, at.machines.Machines...)
		if out.Ready {
			drift = append(drift, at.machines.Drift...)
			out.Upkeep = append(out.Upkeep, at.machines.Drift...)
		}
	}
	if c.Delete {
		out.Message = p.deletion(c, got, out.Message, out.Exists)
	}
	driver.SortMachines(out.Machines)
	slices.Sort(drift)
	out.Drift = slices.Compact(drift)
	return out, nil
}

// The longest things that marks have to hold besides names from Git: the name of a
// machine, and what is said before the mark of something that machines share.
const (
	longestMachine = 63
	longestPurpose = len("additional port")
)

// fits refuses a cluster whose names leave no room for the marks of what would be
// made for it.
func fits(op string, c *fleet.Cluster) error {
	o := snapshot.OwnerOf(c)
	part := o.Part(fleet.MachineName(strings.Repeat("x", max(longestMachine, len(cloud.Bastion(o).Machine)))))
	over := max(-1-cloud.Room(part), longestPurpose-cloud.Room(o))
	if over <= 0 {
		return nil
	}
	return fleet.Errorf(fleet.Invalid, op, "the names of fleet %s, namespace %s and cluster %s are together %d characters too long for the %d of a description of OpenStack, which has to hold them (shorten one; a cluster cannot be renamed later)",
		c.Fleet, c.Key.Namespace, c.Key.Name, over, cloud.MaxDescription)
}

// EnsureInfrastructure implements providers.Infrastructure.
func (p *Provider) EnsureInfrastructure(ctx context.Context, _ fleet.OperationID, c *fleet.Cluster) error {
	op := "create infrastructure of " + c.Key.String()
	got, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return openstackauth.WrapLook(op, err)
	}
	if err := fits(op, c); err != nil {
		return err
	}
	defer got.home.Changed(snapshot.OwnerOf(c))
	_, unknown, err := failureDomains(ctx, got.home, got.spec)
	if err != nil {
		return openstackauth.WrapLook(op, err)
	}
	errs := []error{network.Ensure(ctx, got.home, got.homeSnapshot(), c, got.spec, p.leaving.All()...)}
	for _, at := range got.projects {
		if at.images != nil {
			errs = append(errs, at.images.Ensure(ctx))
		}
	}
	// A cluster that has machines is kept up if its endpoint is broken, too.
	if got.net.Ready || got.started() {
		errs = append(errs, p.ensureBastion(ctx, c, got))
	}
	for _, at := range got.projects {
		errs = append(errs, p.keeper.Clean(ctx, at.project, at.machines, pools{c}.keep))
	}
	return openstackauth.Wrap(op, fleet.JoinErrors(append(errs, unknown)...))
}
