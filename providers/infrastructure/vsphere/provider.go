package vsphere

import (
	"context"
	"log/slog"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/driver/endpoint"
	"fairlead.dev/providers/driver/objects"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
	"fairlead.dev/providers/infrastructure/vsphere/vcenter"
)

// A Provider is the infrastructure provider of vSphere.
type Provider struct {
	*driver.Machines[*observation, seenVM]

	o       Options
	pool    *vcenter.Pool
	secrets objects.Secrets
	watch   *snapshot.Watch[*vcenter.Client]
	ledger  addresses.Ledger

	found    driver.Memory[snapshot.Owner, bool] // clusters of which this process found everything that their machines need
	checked  driver.Memory[checked, bool]        // placements that this process checked
	refusals driver.Memory[string, string]       // why VMs could not be powered on, by instance UUID: other ids are of one vCenter
	asked    driver.Memory[string, bool]         // VMs whose guest this process asked to shut down, by the same
	going    driver.Memory[string, bool]         // VMs whose deletion was asked for while vCenter did not reach them, by the same
}

var (
	_ providers.Infrastructure = (*Provider)(nil)
	_ providers.Adopter        = (*Provider)(nil)
)

// Options are what a provider is made with. Zero values mean the defaults.
type Options struct {
	VCenter  vcenter.Options
	Settle   time.Duration `setting:"settle" usage:"maximum 'duration' until a change is visible in vCenter"` // see DefaultSettle
	Patience time.Duration // how long a call waits for a task that takes seconds
	Relook   time.Duration // see DefaultRelook
	Insecure bool          `setting:"insecure" usage:"accept any certificate of a vCenter whose thumbprint is not in Git, as Cluster API does: true or false"`
	Log      *slog.Logger
	// Secret returns a Secret that Git does not hold; nil means that there are none.
	Secret func(ctx context.Context, k fleet.Key) (fleet.SecretData, error)
}

// The defaults. A clone that was asked for is in the listing of tasks, and its VM in that of
// VMs, as soon as vCenter took the request; one whose answer was lost was taken within the
// time that a request may take, and shows in the first look after that.
const (
	DefaultSettle   = 75 * time.Second
	DefaultPatience = 10 * time.Second
	// DefaultRelook is how old a look may get while vCenter tells changes of what it shows: it
	// does not tell of VMs that another agent made.
	DefaultRelook = 5 * time.Minute
)

// New returns a provider.
func New(o Options) *Provider {
	if o.Settle == 0 {
		o.Settle = DefaultSettle
	}
	if o.Patience == 0 {
		o.Patience = DefaultPatience
	}
	if o.Relook == 0 {
		o.Relook = DefaultRelook
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.VCenter.Ours = machine.IsMadeUUID
	p := &Provider{
		o: o, pool: vcenter.NewPool(o.VCenter), watch: snapshot.NewWatch[*vcenter.Client](),
		secrets: objects.Secrets{Store: o.Secret, Example: "username=FILE --from-file password=FILE"},
	}
	p.Machines = driver.New(machines{p})
	return p
}

// machines are those of a provider, for package driver.
type machines struct{ *Provider }

var _ driver.Driver[*observation, seenVM] = machines{}

// A seenVM is the VM of a machine, or the clone that is to become one.
type seenVM struct {
	site    *observedSite
	machine *machine.Owned // nil: it is being cloned
}

// Look implements driver.Driver.
func (p machines) Look(ctx context.Context, c *fleet.Cluster, o snapshot.Owner) (*observation, error) {
	return p.look(ctx, c, o)
}

// Seen implements driver.Driver.
func (p machines) Seen(_ *fleet.Cluster, got *observation) []driver.Seen[seenVM] {
	var out []driver.Seen[seenVM]
	for i := range got.sites {
		s := &got.sites[i]
		for j := range s.owned {
			m := &s.owned[j]
			out = append(out, driver.Seen[seenVM]{Machine: m.Machine, Where: "VM " + s.look.Path(s.look.VM(m.VM.Ref)), Thing: seenVM{s, m}})
		}
		for _, k := range s.clones {
			if k.machine != nil {
				out = append(out, driver.Seen[seenVM]{Machine: *k.machine, Where: "vCenter " + s.String(), Thing: seenVM{site: s}, Begun: true})
			}
		}
	}
	return out
}

// Exists implements driver.Driver: the cluster has machines, or this process found everything that they
// need.
func (p machines) Exists(c *fleet.Cluster, got *observation) bool {
	return len(got.machines()) > 0 || p.found.Has(snapshot.OwnerOf(c))
}

// Wrap implements driver.Driver.
func (p machines) Wrap(what string, err error) error { return wrap(what, err) }

// Abilities returns the abilities beyond the contract.
func (p *Provider) Abilities() providers.Abilities {
	return providers.Abilities{Watcher: p, Lister: p, OrphanRemover: p, Adopter: p, UntaggedFinder: p, NodeIdentifier: p, VirtualIPs: p, Checker: p, Placer: p, Closer: p}
}

// Close ends the sessions with vCenters.
func (p *Provider) Close() { p.pool.Close() }

// Settle implements providers.Infrastructure.
func (p *Provider) Settle() time.Duration { return p.o.Settle }

// NodeID implements providers.NodeIdentifier.
func (p *Provider) NodeID() string { return machine.NodeID }

// VirtualIP implements providers.VirtualIPs.
func (p *Provider) VirtualIP(c *fleet.Cluster) (*endpoint.VirtualIP, error) { return virtualIP(c) }

// virtualIP returns how servers of c serve its endpoint, as the manifests say it.
func virtualIP(c *fleet.Cluster) (*endpoint.VirtualIP, error) {
	spec, err := api.ReadCluster(c.Infrastructure)
	if err != nil {
		return nil, err
	}
	return spec.VirtualIP.Announced(), nil
}

// wrap says what could not be done, for an error that has a kind or none.
func wrap(op string, err error) error { return vcenter.Wrap(op, err) }
