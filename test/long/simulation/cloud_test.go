package simulation

import (
	"context"
	"fmt"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/inmemory"
)

// A sky is the cloud as an agent reaches it.
type sky struct{ in *incarnation }

var _ inmemory.API = sky{}

// awayKey is the key of contexts for whether credentials lead elsewhere.
type awayKey struct{}

// cloud returns where a call of a pass goes to: where the credentials led as the
// pass began.
func (s sky) cloud(ctx context.Context) *inmemory.Cloud {
	if away, _ := ctx.Value(awayKey{}).(bool); away {
		return s.in.life.elsewhere
	}
	return s.in.life.cloud
}

// list makes a call that reads.
func list[T any](ctx context.Context, s sky, what string, tags map[string]string, do func(context.Context, map[string]string) (T, error)) (T, error) {
	name := fmt.Sprintf("list %s of %q %s for %s", what, tags[fleet.TagCluster], tags[fleet.TagMachine], who(ctx))
	return through(ctx, s.in, theCloud, name, false, func(ctx context.Context) (T, error) { return do(ctx, tags) })
}

// Identify implements inmemory.API.
func (s sky) Identify(ctx context.Context) (string, error) {
	if s.in.life.forgot {
		return s.in.life.cloud.Identify(ctx)
	}
	return s.cloud(ctx).Identify(ctx)
}

// Networks implements inmemory.API.
func (s sky) Networks(ctx context.Context, tags map[string]string) ([]inmemory.Network, error) {
	all, err := list(ctx, s, "networks", tags, s.cloud(ctx).Networks)
	for i := range all {
		all[i].Created = all[i].Created.Add(s.in.life.infra)
	}
	return all, err
}

// VMs implements inmemory.API.
func (s sky) VMs(ctx context.Context, tags map[string]string) ([]inmemory.VM, error) {
	all, err := list(ctx, s, "machines", tags, s.cloud(ctx).VMs)
	for i := range all {
		all[i] = s.in.life.untold(all[i])
		all[i].Created = all[i].Created.Add(s.in.life.infra)
	}
	return all, err
}

// CreateNetwork implements inmemory.API.
func (s sky) CreateNetwork(ctx context.Context, spec inmemory.NetworkSpec) (inmemory.Network, error) {
	j := s.in.judge("create network "+spec.Name, spec.Tags)
	cloud := s.cloud(ctx)
	return through(ctx, s.in, theCloud, "create network "+spec.Name, true, func(ctx context.Context) (inmemory.Network, error) {
		j.change()
		return cloud.CreateNetwork(ctx, spec)
	})
}

// DeleteNetwork implements inmemory.API.
func (s sky) DeleteNetwork(ctx context.Context, id string) error {
	n, _ := s.in.life.network(id)
	j, cloud := s.in.judge("delete network "+n.Name, n.Tags), s.cloud(ctx)
	return alone(through(ctx, s.in, theCloud, "delete network "+n.Name+" "+id, true, func(ctx context.Context) (struct{}, error) {
		if n.ID != "" { // it is deleted, and a listing is late
			j.change()
			j.deleteNetwork(n)
		}
		err := cloud.DeleteNetwork(ctx, id)
		if err == nil {
			j.forget()
		}
		return struct{}{}, err
	}))
}

// CreateVM implements inmemory.API.
func (s sky) CreateVM(ctx context.Context, spec inmemory.VMSpec) (inmemory.VM, error) {
	j, cloud := s.in.judge("create machine "+spec.Name, spec.Tags), s.cloud(ctx)
	return through(ctx, s.in, theCloud, "create machine "+spec.Name, true, func(ctx context.Context) (inmemory.VM, error) {
		j.change()
		j.givesOnce(spec)
		j.seesAll()
		vm, err := cloud.CreateVM(ctx, s.in.life.cloned(spec))
		if err == nil {
			j.created(vm)
		}
		return vm, err
	})
}

// DeleteVM implements inmemory.API.
func (s sky) DeleteVM(ctx context.Context, id string) error {
	m, _ := s.in.life.machine(id)
	if err := s.in.life.beingCloned(m); err != nil {
		return err
	}
	j, cloud := s.in.judge("delete machine "+m.Name, m.Tags), s.cloud(ctx)
	j.dooms(id)
	return alone(through(ctx, s.in, theCloud, "delete machine "+m.Name+" "+id, true, func(ctx context.Context) (struct{}, error) {
		if m.ID != "" { // it is deleted, and a listing is late
			j.change()
			j.leavesHeld(id)
			j.takes(id, true)
			s.in.life.strand(m)
		}
		return struct{}{}, cloud.DeleteVM(ctx, id)
	}))
}

// Watch implements inmemory.API.
func (s sky) Watch(ctx context.Context, changed func(inmemory.Owner)) error {
	return s.in.life.cloud.Watch(ctx, changed)
}

func alone(_ struct{}, err error) error { return err }

// An infrastructure is the provider, whose calls say what they are made for.
type infrastructure struct{ *inmemory.Provider }

var _ providers.Infrastructure = infrastructure{}

// Observe implements providers.Infrastructure.
func (p infrastructure) Observe(ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
	return p.Provider.Observe(as(ctx, "look"), c)
}

// EnsureInfrastructure implements providers.Infrastructure.
func (p infrastructure) EnsureInfrastructure(ctx context.Context, op fleet.OperationID, c *fleet.Cluster) error {
	return p.Provider.EnsureInfrastructure(as(ctx, "infrastructure"), op, c)
}

// DeleteInfrastructure implements providers.Infrastructure.
func (p infrastructure) DeleteInfrastructure(ctx context.Context, op fleet.OperationID, c *fleet.Cluster) error {
	return p.Provider.DeleteInfrastructure(as(ctx, "infrastructure"), op, c)
}

// CreateMachine implements providers.Infrastructure.
func (p infrastructure) CreateMachine(ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
	return p.Provider.CreateMachine(as(ctx, "create "+string(r.Name)), op, r)
}

// DeleteMachine implements providers.Infrastructure.
func (p infrastructure) DeleteMachine(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID) error {
	return p.Provider.DeleteMachine(as(ctx, fmt.Sprintf("delete %s %s", name, id)), op, c, name, id)
}
