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
	Operation string // method of providers.Infrastructure: "CreateMachine"
	Cluster   fleet.Key
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

// Unwrap returns the provider inside.
func (t *Provider) Unwrap() providers.Infrastructure { return t.p }

func (t *Provider) ended(ctx context.Context, operation string, c *fleet.Cluster, start time.Time, err error) {
	call := Call{Operation: operation, Cluster: c.Key, Duration: time.Since(start)}
	if err != nil {
		call.Kind = fleet.KindOf(err)
	}
	t.tell(ctx, call)
}

// Observe implements providers.Infrastructure.
func (t *Provider) Observe(ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
	start := time.Now()
	got, err := t.p.Observe(ctx, c)
	t.ended(ctx, "Observe", c, start, err)
	return got, err
}

// EnsureInfrastructure implements providers.Infrastructure.
func (t *Provider) EnsureInfrastructure(ctx context.Context, op fleet.OperationID, c *fleet.Cluster) error {
	start := time.Now()
	err := t.p.EnsureInfrastructure(ctx, op, c)
	t.ended(ctx, "EnsureInfrastructure", c, start, err)
	return err
}

// DeleteInfrastructure implements providers.Infrastructure.
func (t *Provider) DeleteInfrastructure(ctx context.Context, op fleet.OperationID, c *fleet.Cluster) error {
	start := time.Now()
	err := t.p.DeleteInfrastructure(ctx, op, c)
	t.ended(ctx, "DeleteInfrastructure", c, start, err)
	return err
}

// CreateMachine implements providers.Infrastructure.
func (t *Provider) CreateMachine(ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
	start := time.Now()
	err := t.p.CreateMachine(ctx, op, r)
	t.ended(ctx, "CreateMachine", r.Cluster, start, err)
	return err
}

// DeleteMachine implements providers.Infrastructure.
func (t *Provider) DeleteMachine(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID) error {
	start := time.Now()
	err := t.p.DeleteMachine(ctx, op, c, name, id)
	t.ended(ctx, "DeleteMachine", c, start, err)
	return err
}

// Settle implements providers.Infrastructure. It is no call.
func (t *Provider) Settle() time.Duration { return t.p.Settle() }
