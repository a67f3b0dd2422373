package docker

import (
	"context"
	"slices"
	"time"

	"github.com/moby/moby/api/types/container"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/docker/api"
	"fairlead.dev/providers/infrastructure/docker/engine"
)

// Labels of containers beside the ownership tags.
const (
	labelPart = "fairlead.dev/part"           // "endpoint", of the load balancer
	labelZone = "fairlead.dev/failure-domain" // of a machine

	endpointPart = "endpoint"
)

// idPrefix is the beginning of provider ids. The id of the container follows.
const idPrefix = "docker:////"

// A listing is all containers with the tags of a fleet.
type listing struct {
	containers []engine.Container
	configs    map[string]string // of load balancers, by id
}

// list lists them, with what user data and load balancers left.
func (p *Provider) list(ctx context.Context) (*listing, error) {
	all, err := p.client.Containers(ctx, fleet.TagFleet)
	if err != nil {
		return nil, engine.WrapLook("list containers", err)
	}
	l := &listing{containers: all, configs: make(map[string]string)}
	here := make(map[string]bool)
	for i := range all {
		c := &all[i]
		here[c.ID] = true
		switch {
		case c.Labels[labelPart] == endpointPart:
			l.configs[c.ID], err = p.configOf(ctx, c.ID)
		case c.State == container.StateRunning:
			err = p.readResult(ctx, c.ID)
		}
		if err != nil && !engine.IsMissing(err) {
			return nil, engine.WrapLook("read files of container "+c.Name(), err)
		}
	}
	p.ended.ForgetIf(func(id string, _ result) bool { return !here[id] })
	return l, nil
}

// An observation is what was seen of a cluster.
type observation struct {
	cluster   *fleet.Cluster
	spec      *api.DockerClusterSpec
	boxes     []*box
	balancers []engine.Container
	configs   map[string]string
}

// A box is the container that a machine is.
type box struct {
	engine.Container
	machine fleet.Machine
}

func (b *box) String() string { return "container " + b.Name() }

// look observes c. o is c, or the machine of it that something is requested of.
func (p *Provider) look(ctx context.Context, c *fleet.Cluster, o snapshot.Owner) (*observation, error) {
	spec, err := api.ReadCluster(c.Infrastructure)
	if err != nil {
		return nil, err
	}
	l, err := p.listings.Get(ctx, o)
	if err != nil {
		return nil, err
	}
	p.watch.Looked(snapshot.OwnerOf(c), []string{p.client.Host})
	out := &observation{cluster: c, spec: spec, configs: l.configs}
	for _, x := range l.containers {
		switch {
		case !c.Owns(x.Labels):
		case x.Labels[labelPart] == endpointPart:
			out.balancers = append(out.balancers, x)
		default:
			out.boxes = append(out.boxes, p.boxOf(x))
		}
	}
	return out, nil
}

// boxOf returns the box that a container is.
func (p *Provider) boxOf(x engine.Container) *box {
	b := &box{Container: x, machine: fleet.MachineFromTags(x.Labels)}
	f := &b.machine
	f.ProviderID, f.FailureDomain, f.Created = fleet.ProviderID(idPrefix+x.ID), x.Labels[labelZone], time.Unix(x.Created, 0).UTC()
	f.Addresses = x.Addresses()
	f.State, f.Power = fleet.MachineRunning, fleet.HostOn
	switch x.State {
	case container.StateCreated:
		f.State, f.Power = fleet.MachinePending, fleet.HostPowerUnknown
		owner, _ := driver.OwnerOf(x.Labels)
		if time.Since(f.Created) > p.o.Settle && !p.Locks().Locked(owner.Part(f.Name)) {
			f.State, f.Message = fleet.MachineFailed, "the container was created, and did not start"
		}
	case container.StateRunning:
		if r, ok := p.ended.Of(x.ID); ok && r.failed {
			f.State, f.Message = fleet.MachineFailed, r.words
		}
	case container.StatePaused:
		f.Silent, f.Message = true, "the container is paused"
	case container.StateExited:
		f.Power, f.Message = fleet.HostOff, "the container ended: "+x.Status
		if r, ok := p.ended.Of(x.ID); ok && r.failed {
			f.State, f.Message = fleet.MachineFailed, r.words
		}
	case container.StateRemoving, container.StateDead:
		f.State, f.Interrupted, f.Message = fleet.MachineDeleting, x.State == container.StateDead, "the container is "+string(x.State)
	}
	return b
}

// again looks at a container once more by its id; nil: it is gone, or another's.
func (p *Provider) again(ctx context.Context, c *fleet.Cluster, id string) (*box, error) {
	x, ok, err := p.client.Container(ctx, id)
	if err != nil {
		return nil, engine.WrapLook("look again at container "+id, err)
	}
	if !ok || !c.Owns(x.Labels) {
		return nil, nil
	}
	return p.boxOf(x), nil
}

// Observe implements providers.Infrastructure.
func (p *Provider) Observe(ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
	got, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return fleet.Infrastructure{}, engine.WrapLook("observe "+c.Key.String(), err)
	}
	out := fleet.Infrastructure{Places: []fleet.PlaceSeen{{Place: p.place(), Named: true}}}
	for _, d := range got.spec.FailureDomains {
		out.FailureDomains = append(out.FailureDomains, fleet.FailureDomain{Name: d.Name, ControlPlane: *d.ControlPlane})
	}
	for _, b := range got.boxes {
		out.Machines = append(out.Machines, b.machine)
		if what := (keeper{p, got}).Next(b); what != "" {
			out.Upkeep = append(out.Upkeep, what)
		}
	}
	driver.SortMachines(out.Machines)
	if (machines{p}).Exists(c, got) {
		out.Exists, out.Places[0].Used = true, true
		out.Endpoint, out.Message = got.endpoint()
		out.Ready = out.Message == ""
		if what := got.balance(); out.Ready && what != "" {
			out.Upkeep = append(out.Upkeep, what)
		}
	}
	slices.Sort(out.Upkeep)
	out.Drift = slices.Clone(out.Upkeep)
	return out, nil
}
