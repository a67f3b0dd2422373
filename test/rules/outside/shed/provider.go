package shed

import (
	"context"
	"crypto/rand"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/objects"
	"fairlead.dev/providers/driver/snapshot"
)

// Name is the name of the provider in the registry and in its kinds.
const Name = "shed"

// settle is how long a change may take to show: a file shows at once.
const settle = time.Second

// userDataLimit is how much a machine of a shed may boot with, in bytes.
const userDataLimit = 64 << 10

// Factory makes the provider.
func Factory() providers.Factory {
	return providers.Factory{
		Name: Name, Kinds: table(),
		Settings: []providers.Setting{{Name: "folder", Usage: "folder that is the shed"}},
		New: func(_ context.Context, o providers.Options) (providers.Infrastructure, error) {
			if o.Settings["folder"] == "" {
				return nil, fleet.Errorf(fleet.Invalid, "open the shed", "say where it is with --shed-folder")
			}
			return New(o.Settings["folder"]), nil
		},
	}
}

// A Provider makes clusters in one shed.
type Provider struct {
	*driver.Machines[observation, thing]
	shed folder
}

var _ providers.Infrastructure = (*Provider)(nil)

// New returns the provider of the shed in path.
func New(path string) *Provider {
	p := &Provider{shed: folder(path)}
	p.Machines = driver.New(calls{p})
	return p
}

// Abilities tells what it can do beyond the contract.
func (p *Provider) Abilities() providers.Abilities {
	return providers.Abilities{Lister: p, OrphanRemover: p}
}

// Settle implements providers.Infrastructure.
func (p *Provider) Settle() time.Duration { return settle }

// Observe implements providers.Infrastructure.
func (p *Provider) Observe(ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
	op := "observe " + c.Key.String()
	got, err := calls{p}.Look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return fleet.Infrastructure{}, classify(op, err)
	}
	spec, err := objects.Read[ClusterSpec](c.Infrastructure, clusterKind)
	if err != nil {
		return fleet.Infrastructure{}, err
	}
	out := fleet.Infrastructure{Places: []fleet.PlaceSeen{{
		Place: fleet.Place{ID: "shed " + string(p.shed)}, Used: len(got.shared)+len(got.made) > 0, Named: true,
	}}}
	if len(got.shared) > 0 {
		out.Exists, out.Ready, out.Endpoint = true, true, got.shared[0].Endpoint
	}
	for _, shelf := range spec.Shelves {
		out.FailureDomains = append(out.FailureDomains, fleet.FailureDomain{Name: shelf, ControlPlane: true})
	}
	for _, t := range got.made {
		out.Machines = append(out.Machines, t.machine())
	}
	driver.SortMachines(out.Machines)
	return out, nil
}

// machine is what t is to the planner.
func (t thing) machine() fleet.Machine {
	m := fleet.MachineFromTags(t.Tags)
	m.ProviderID, m.Created, m.FailureDomain, m.State = t.providerID(), t.Created, t.Shelf, fleet.MachineRunning
	if t.Fault != "" {
		m.State, m.Message = fleet.MachineFailed, t.Fault
	}
	return m
}

// providerID is what a machine is called by its Node.
func (t thing) providerID() fleet.ProviderID { return fleet.ProviderID("shed:///" + t.ID) }

// EnsureInfrastructure implements providers.Infrastructure.
func (p *Provider) EnsureInfrastructure(_ context.Context, op fleet.OperationID, c *fleet.Cluster) error {
	what := "create infrastructure of " + c.Key.String()
	spec, err := objects.Read[ClusterSpec](c.Infrastructure, clusterKind)
	if err != nil {
		return err
	}
	tags := c.Tags()
	tags[fleet.TagOperation] = string(op)
	_, err = p.shed.put(clusters, fileName(c), thing{
		ID: rand.Text(), Tags: tags, Created: time.Now().UTC(), Endpoint: fleet.Endpoint(spec.ControlPlaneEndpoint),
	})
	return classify(what, err)
}
