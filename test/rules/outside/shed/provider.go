package shed

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/objects"
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
		Name: Name, Kinds: kinds(),
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
type Provider struct{ shed folder }

var _ providers.Infrastructure = (*Provider)(nil)

// New returns the provider of the shed in path.
func New(path string) *Provider { return &Provider{folder(path)} }

// Abilities tells what it can do beyond the contract.
func (p *Provider) Abilities() providers.Abilities {
	return providers.Abilities{Lister: p, OrphanRemover: p}
}

// Settle implements providers.Infrastructure.
func (p *Provider) Settle() time.Duration { return settle }

// Observe implements providers.Infrastructure.
func (p *Provider) Observe(ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
	op := "observe " + c.Key.String()
	shared, err := p.shed.list(ctx, clusters, c.Owns)
	if err != nil {
		return fleet.Infrastructure{}, classify(op, err)
	}
	made, err := p.shed.list(ctx, machines, c.Owns)
	if err != nil {
		return fleet.Infrastructure{}, classify(op, err)
	}
	spec, err := objects.Read[ClusterSpec](c.Infrastructure, clusterKind)
	if err != nil {
		return fleet.Infrastructure{}, err
	}
	out := fleet.Infrastructure{Places: []fleet.PlaceSeen{{
		Place: fleet.Place{ID: "shed " + string(p.shed)}, Used: len(shared)+len(made) > 0, Named: true,
	}}}
	if len(shared) > 0 {
		out.Exists, out.Ready, out.Endpoint = true, true, shared[0].Endpoint
	}
	for _, shelf := range spec.Shelves {
		out.FailureDomains = append(out.FailureDomains, fleet.FailureDomain{Name: shelf, ControlPlane: true})
	}
	for _, t := range made {
		m := fleet.MachineFromTags(t.Tags)
		m.ProviderID, m.Created, m.FailureDomain, m.State = t.providerID(), t.Created, t.Shelf, fleet.MachineRunning
		if t.Fault != "" {
			m.State, m.Message = fleet.MachineFailed, t.Fault
		}
		out.Machines = append(out.Machines, m)
	}
	slices.SortFunc(out.Machines, func(a, b fleet.Machine) int { return strings.Compare(string(a.Name), string(b.Name)) })
	return out, nil
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

// DeleteInfrastructure implements providers.Infrastructure.
func (p *Provider) DeleteInfrastructure(ctx context.Context, _ fleet.OperationID, c *fleet.Cluster) error {
	op := "delete infrastructure of " + c.Key.String()
	made, err := p.shed.list(ctx, machines, c.Owns)
	if err != nil {
		return classify(op, err)
	}
	if len(made) > 0 {
		return fleet.Errorf(fleet.Conflict, op, "%d machines are on it", len(made))
	}
	shared, err := p.shed.list(ctx, clusters, c.Owns)
	for _, t := range shared {
		err = errors.Join(err, t.remove())
	}
	return classify(op, err)
}

// CreateMachine implements providers.Infrastructure.
func (p *Provider) CreateMachine(_ context.Context, op fleet.OperationID, r providers.MachineRequest) error {
	what := "create machine " + string(r.Name)
	if _, err := r.UserData.Fit(userDataLimit); err != nil { // what the machine would boot with
		return err
	}
	spec, err := objects.Read[MachineSpec](r.Pool.Infrastructure, templateKind)
	if err != nil {
		return err
	}
	t := thing{
		ID: rand.Text(), Tags: r.Tags(op), Created: time.Now().UTC(),
		Size: spec.Size, Shelf: r.FailureDomain, Fault: p.fault(),
	}
	name := fileName(r.Cluster, string(r.Name))
	put, err := p.shed.put(machines, name, t)
	if err != nil || put {
		return classify(what, err)
	}
	is, err := p.shed.get(machines, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fleet.Errorf(fleet.Unavailable, what, "it was being deleted: it is made next time")
	case err != nil:
		return classify(what, err)
	case !r.Cluster.Owns(is.Tags) || is.Tags[fleet.TagMachine] != t.Tags[fleet.TagMachine]:
		return fleet.Errorf(fleet.Conflict, what, "%s is there and does not say that it is this machine", is.file)
	case is.Tags[fleet.TagTemplate] != t.Tags[fleet.TagTemplate]:
		return fleet.Errorf(fleet.Conflict, what, "it is there, made from the template %s", is.Tags[fleet.TagTemplate])
	}
	return nil
}

// fault says why machines of this shed do not start; empty where they do.
func (p *Provider) fault() string {
	text, _ := os.ReadFile(filepath.Join(string(p.shed), "fault")) // without the file they do
	return string(text)
}

// DeleteMachine implements providers.Infrastructure.
func (p *Provider) DeleteMachine(ctx context.Context, _ fleet.OperationID, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID) error {
	made, err := p.shed.list(ctx, machines, c.Owns)
	for _, t := range made {
		if t.Tags[fleet.TagMachine] == string(name) && (id == "" || id == t.providerID()) {
			err = errors.Join(err, t.remove())
		}
	}
	return classify("delete machine "+string(name), err)
}
