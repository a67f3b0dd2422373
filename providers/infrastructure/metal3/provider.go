package metal3

import (
	"cmp"
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
	"fairlead.dev/providers/driver/transport/logins"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/machine"
)

// A Provider is the infrastructure provider of bare metal.
type Provider struct {
	*driver.Machines[*observation, *observedHost]

	o        Options
	secrets  objects.Secrets
	watch    *snapshot.Watch[*site]
	ledger   addresses.Ledger
	sites    *logins.Pool[ironic.Credential, *site]
	deciding driver.Locks[string] // hosts that something is asked of right now

	found   driver.Memory[snapshot.Owner, bool] // clusters that this process made ready
	going   driver.Memory[life, snapshot.Owner] // machines whose deletion was asked for while Ironic could not release them, with their cluster
	claimed driver.Memory[string, claimed]      // nodes that this process claimed and that need not show it yet
	told    driver.Memory[string, account]      // what accounts of BMCs Ironic has as far as this process knows, by node
	tries   driver.Memory[string, try]          // the result of the last step of a node, if it failed
	first   driver.Memory[enrolment, time.Time] // when this process first saw nodes that are new to Ironic
}

// claimed is a claim of this process, until it shows for certain.
type claimed struct {
	instance string
	index    string // the value of TagIndex
	until    time.Time
}

// An enrolment is one life of a node: its UUID returns when it is enrolled again.
type enrolment struct {
	uuid string
	at   string // as the node says, if Fairlead enrolled it
}

// A try is a step that failed, of a node that was in a state.
type try struct {
	at    time.Time
	state ironic.State
	err   error
}

var _ providers.Infrastructure = (*Provider)(nil)

// Options are what a provider is made with. Zero values mean the defaults.
type Options struct {
	Ironic ironic.Options
	Tick   time.Duration `setting:"tick" usage:"maximum age of cached Ironic data, as a 'duration'; clusters of that Ironic share the cache"`
	Settle time.Duration `setting:"settle" usage:"maximum 'duration' until a change is visible in Ironic"` // see DefaultSettle
	Retry  time.Duration `setting:"retry" usage:"'duration' before a failed step of a host is repeated"`
	Log    *slog.Logger
	// Secret returns a Secret that Git does not hold; nil means that there are none.
	Secret func(ctx context.Context, k fleet.Key) (fleet.SecretData, error)
}

// The defaults. What Ironic was asked for shows in the next listing; a request whose answer was
// lost was taken within the time that one may take.
const (
	DefaultTick   = 10 * time.Second
	DefaultSettle = 75 * time.Second
	DefaultRetry  = 2 * time.Minute
	DefaultRate   = 20
)

// New returns a provider.
func New(o Options) *Provider {
	o.Tick, o.Settle, o.Retry = cmp.Or(o.Tick, DefaultTick), cmp.Or(o.Settle, DefaultSettle), cmp.Or(o.Retry, DefaultRetry)
	o.Ironic.Rate = cmp.Or(o.Ironic.Rate, DefaultRate)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p := &Provider{
		o: o, watch: snapshot.NewWatch[*site](), secrets: objects.Secrets{Store: objects.Kept(o.Secret, o.Tick), Example: "username=FILE --from-file password=FILE"},
	}
	p.sites = logins.New[ironic.Credential, *site](p.ledger.Forget)
	p.Machines = driver.New(machines{p})
	return p
}

// machines are those of a provider, for package driver.
type machines struct{ *Provider }

var _ driver.Driver[*observation, *observedHost] = machines{}

// Look implements driver.Driver.
func (p machines) Look(ctx context.Context, c *fleet.Cluster, o snapshot.Owner) (*observation, error) {
	return p.look(ctx, c, o)
}

// Seen implements driver.Driver.
func (p machines) Seen(_ *fleet.Cluster, got *observation) []driver.Seen[*observedHost] {
	var out []driver.Seen[*observedHost]
	for _, h := range got.machines {
		out = append(out, driver.Seen[*observedHost]{Machine: h.machine, Where: "host " + h.String(), Thing: h})
	}
	return out
}

// Exists implements driver.Driver.
func (p machines) Exists(c *fleet.Cluster, got *observation) bool {
	return len(got.machines) > 0 || p.found.Has(snapshot.OwnerOf(c))
}

// Wrap implements driver.Driver.
func (p machines) Wrap(what string, err error) error { return wrap(what, err) }

// Abilities returns the abilities beyond the contract.
func (p *Provider) Abilities() providers.Abilities {
	return providers.Abilities{Watcher: p, Lister: p, OrphanRemover: p, Adopter: p, UntaggedFinder: p, NodeIdentifier: p, VirtualIPs: p, Checker: p, Rebooter: p, Placer: p, Closer: p}
}

// Close closes the connections to Ironics.
func (p *Provider) Close() { p.sites.Close() }

// Settle implements providers.Infrastructure.
func (p *Provider) Settle() time.Duration { return p.o.Settle }

// NodeID implements providers.NodeIdentifier: cloud-init reads it from the metadata that
// package machine makes.
func (p *Provider) NodeID() string { return machine.IDPrefix + "{{ ds.meta_data.providerid }}" }

// VirtualIP implements providers.VirtualIPs.
func (p *Provider) VirtualIP(c *fleet.Cluster) (*endpoint.VirtualIP, error) { return virtualIP(c) }

// virtualIP returns how servers of c serve its endpoint, as the manifests say it.
func virtualIP(c *fleet.Cluster) (*endpoint.VirtualIP, error) {
	spec, err := api.ReadCluster(c.Infrastructure)
	if err != nil {
		return nil, err
	}
	return spec.VirtualIP, nil
}

// wrap says what could not be done, for an error that has a kind or none.
func wrap(op string, err error) error { return ironic.Wrap(op, err) }

// isNew reports whether this process has known n for less than the time in which an agent that remembers a
// machine on its host claims it. Ironic's clock may be another.
func (p *Provider) isNew(n *ironic.Node, at time.Time) bool {
	mark, _ := n.DriverInfo[enrolledKey].(string)
	return at.Sub(p.first.NoteFirst(enrolment{n.UUID, mark}, at)) < p.o.Settle
}

// noteTry notes what came of the step of h, whose node is called id; nil: it went well.
func (p *Provider) noteTry(id string, h *observedHost, err error) {
	if err == nil {
		p.tries.Forget(id)
		return
	}
	p.tries.Note(id, try{time.Now(), h.state(), err})
}

// lastTry returns why the last step of h failed, and whether it is too soon for another. A node
// that is in another state since went on.
func (p *Provider) lastTry(id string, h *observedHost, at time.Time) (soon bool, err error) {
	t, ok := p.tries.Of(id)
	if !ok || t.state != h.state() {
		return false, nil
	}
	return at.Sub(t.at) < p.o.Retry, t.err
}
