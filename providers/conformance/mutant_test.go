package conformance_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/conformance"
)

// tokens creates as a cloud does that answers a request which it had before with what
// came of that, whatever became of it since.
func tokens() func(providers.Infrastructure, context.Context, fleet.OperationID, providers.MachineRequest) error {
	had := map[fleet.OperationID]bool{}
	return func(p providers.Infrastructure, ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
		if had[op] {
			return nil
		}
		err := p.CreateMachine(ctx, op, r)
		had[op] = err == nil
		return err
	}
}

// forgetsServers leads the endpoint that machines know to no server while Git names another one.
func forgetsServers() mutant {
	moved := false
	return mutant{
		ensure: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) error {
			moved = c.Endpoint == renamed
			return p.EnsureInfrastructure(ctx, "", c)
		},
		observe: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
			got, err := p.Observe(ctx, c)
			for i := range got.Machines {
				if moved {
					got.Machines[i].Role = fleet.RoleWorker
				}
			}
			return got, err
		},
	}
}

// A mutant is a provider with one fault. Methods that are nil are the real ones.
type mutant struct {
	providers.Infrastructure
	observe func(providers.Infrastructure, context.Context, *fleet.Cluster) (fleet.Infrastructure, error)
	ensure  func(providers.Infrastructure, context.Context, *fleet.Cluster) error
	destroy func(providers.Infrastructure, context.Context, *fleet.Cluster) error
	create  func(providers.Infrastructure, context.Context, fleet.OperationID, providers.MachineRequest) error
	remove  func(providers.Infrastructure, context.Context, *fleet.Cluster, fleet.MachineName, fleet.ProviderID) error

	annex        annexFault
	settle       func() time.Duration
	removeOrphan func(providers.Infrastructure, context.Context, fleet.Orphan) error
	orphans      func(providers.Infrastructure, context.Context, []*fleet.Cluster) ([]fleet.Orphan, error)
	watch        func(context.Context) error
	clusters     func(providers.Infrastructure) []fleet.Key
	place        func(*fleet.Cluster) (string, error)
	ensurePool   func(providers.PoolKeeper, context.Context, fleet.OperationID, *fleet.Cluster, fleet.KeptPool) error
	deletePool   func(providers.PoolKeeper, context.Context, *fleet.Cluster, fleet.PoolName) error
	power        func(providers.Rebooter, context.Context, *fleet.Cluster, fleet.MachineName, fleet.ProviderID, fleet.HostPower) error
}

func (m mutant) SwitchMachine(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID, to fleet.HostPower) error {
	r := providers.AbilitiesOf(m.Infrastructure).Rebooter
	if m.power != nil {
		return m.power(r, ctx, c, name, id, to)
	}
	return r.SwitchMachine(ctx, op, c, name, id, to)
}

func (m mutant) EnsurePool(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, p fleet.KeptPool) error {
	k := providers.AbilitiesOf(m.Infrastructure).PoolKeeper
	if m.ensurePool != nil {
		return m.ensurePool(k, ctx, op, c, p)
	}
	return k.EnsurePool(ctx, op, c, p)
}

func (m mutant) DeletePool(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, name fleet.PoolName) error {
	k := providers.AbilitiesOf(m.Infrastructure).PoolKeeper
	if m.deletePool != nil {
		return m.deletePool(k, ctx, c, name)
	}
	return k.DeletePool(ctx, op, c, name)
}

func (m mutant) PlaceOf(_ context.Context, c *fleet.Cluster) (string, error) {
	if m.place != nil {
		return m.place(c)
	}
	return "the cloud", nil
}

func (m mutant) Watch(ctx context.Context, changed func(fleet.Key)) error {
	if m.watch != nil {
		return m.watch(ctx)
	}
	return m.Infrastructure.(providers.Watcher).Watch(ctx, changed)
}

func (m mutant) Clusters(ctx context.Context, id fleet.ID) ([]fleet.Key, error) {
	if m.clusters != nil {
		return m.clusters(m.Infrastructure), nil
	}
	return m.Infrastructure.(providers.Lister).Clusters(ctx, id)
}

func (m mutant) Settle() time.Duration {
	if m.settle != nil {
		return m.settle()
	}
	return m.Infrastructure.Settle()
}

func (m mutant) Orphans(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster) ([]fleet.Orphan, error) {
	if m.orphans != nil {
		return m.orphans(m.Infrastructure, ctx, clusters)
	}
	return m.Infrastructure.(providers.OrphanRemover).Orphans(ctx, id, clusters)
}

func (m mutant) RemoveOrphan(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster, o fleet.Orphan) error {
	if m.removeOrphan != nil {
		return m.removeOrphan(m.Infrastructure, ctx, o)
	}
	return m.Infrastructure.(providers.OrphanRemover).RemoveOrphan(ctx, id, clusters, o)
}

func (m mutant) Abilities() providers.Abilities {
	out := providers.AbilitiesOf(m.Infrastructure)
	out.Watcher, out.Lister, out.OrphanRemover, out.Rebooter, out.Placer, out.PoolKeeper = m, m, m, m, m, m
	return out
}

func (m mutant) Unwrap() providers.Infrastructure { return m.Infrastructure }

func (m mutant) Observe(ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
	if m.observe != nil {
		return m.observe(m.Infrastructure, ctx, c)
	}
	return m.Infrastructure.Observe(ctx, c)
}

func (m mutant) EnsureInfrastructure(ctx context.Context, op fleet.OperationID, c *fleet.Cluster) error {
	if m.ensure != nil {
		return m.ensure(m.Infrastructure, ctx, c)
	}
	return m.Infrastructure.EnsureInfrastructure(ctx, op, c)
}

func (m mutant) DeleteInfrastructure(ctx context.Context, op fleet.OperationID, c *fleet.Cluster) error {
	if m.destroy != nil {
		return m.destroy(m.Infrastructure, ctx, c)
	}
	return m.Infrastructure.DeleteInfrastructure(ctx, op, c)
}

func (m mutant) CreateMachine(ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
	if m.create != nil {
		return m.create(m.Infrastructure, ctx, op, r)
	}
	return m.Infrastructure.CreateMachine(ctx, op, r)
}

func (m mutant) DeleteMachine(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID) error {
	if m.remove != nil {
		return m.remove(m.Infrastructure, ctx, c, name, id)
	}
	return m.Infrastructure.DeleteMachine(ctx, op, c, name, id)
}

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) run(c conformance.Check, o conformance.Options) {
	var wg sync.WaitGroup
	wg.Go(func() { c.Run(r, o) })
	wg.Wait()
}

func (r *recorder) Helper() {}

func (r *recorder) Log(...any) {}

func (r *recorder) Failed() bool { return len(r.failures) > 0 }

func (r *recorder) Error(args ...any) { r.failures = append(r.failures, fmt.Sprint(args...)) }

func (r *recorder) Errorf(format string, args ...any) { r.Error(fmt.Sprintf(format, args...)) }

func (r *recorder) Fatal(args ...any) { r.Error(args...); runtime.Goexit() }

func (r *recorder) Fatalf(format string, args ...any) { r.Fatal(fmt.Sprintf(format, args...)) }
