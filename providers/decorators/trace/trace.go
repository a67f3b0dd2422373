// Package trace tells about every call of an infrastructure provider: the agent
// makes metrics and logs of it.
package trace

import (
	"context"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// A Call is one call that has ended.
type Call struct {
	Operation string          // method of providers.Infrastructure or of an ability: "CreateMachine"
	Cluster   fleet.Key       // zero where it was about no single cluster
	Kind      fleet.ErrorKind // of its error; empty when there was none
	Duration  time.Duration
}

// A Provider tells about its calls.
type Provider struct {
	p    providers.Infrastructure
	tell func(context.Context, Call)
}

var _ providers.Infrastructure = (*Provider)(nil)

// New returns p with tell called after each call, from the caller's goroutine and
// with its context.
func New(p providers.Infrastructure, tell func(context.Context, Call)) *Provider {
	return &Provider{p: p, tell: tell}
}

// Abilities returns those of the provider inside, decorated.
func (t *Provider) Abilities() providers.Abilities {
	return providers.AbilitiesOf(t.p).Through(func(ctx context.Context, u providers.Use, call func() error) error {
		start := time.Now()
		err := call()
		t.ended(ctx, u.Method, u.Cluster, start, err)
		return err
	})
}

func (t *Provider) ended(ctx context.Context, operation string, k fleet.Key, start time.Time, err error) {
	call := Call{Operation: operation, Cluster: k, Duration: time.Since(start)}
	if err != nil {
		call.Kind = fleet.KindOf(err)
	}
	t.tell(ctx, call)
}

// Observe implements providers.Infrastructure.
func (t *Provider) Observe(ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
	start := time.Now()
	got, err := t.p.Observe(ctx, c)
	t.ended(ctx, "Observe", c.Key, start, err)
	return got, err
}

// EnsureInfrastructure implements providers.Infrastructure.
func (t *Provider) EnsureInfrastructure(ctx context.Context, op fleet.OperationID, c *fleet.Cluster) error {
	start := time.Now()
	err := t.p.EnsureInfrastructure(ctx, op, c)
	t.ended(ctx, "EnsureInfrastructure", c.Key, start, err)
	return err
}

// DeleteInfrastructure implements providers.Infrastructure.
func (t *Provider) DeleteInfrastructure(ctx context.Context, op fleet.OperationID, c *fleet.Cluster) error {
	start := time.Now()
	err := t.p.DeleteInfrastructure(ctx, op, c)
	t.ended(ctx, "DeleteInfrastructure", c.Key, start, err)
	return err
}

// CreateMachine implements providers.Infrastructure.
func (t *Provider) CreateMachine(ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
	start := time.Now()
	err := t.p.CreateMachine(ctx, op, r)
	t.ended(ctx, "CreateMachine", r.Cluster.Key, start, err)
	return err
}

// DeleteMachine implements providers.Infrastructure.
func (t *Provider) DeleteMachine(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID) error {
	start := time.Now()
	err := t.p.DeleteMachine(ctx, op, c, name, id)
	t.ended(ctx, "DeleteMachine", c.Key, start, err)
	return err
}

// Settle implements providers.Infrastructure. It is no call.
func (t *Provider) Settle() time.Duration { return t.p.Settle() }
