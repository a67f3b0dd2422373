// Package dryrun looks at an infrastructure and changes nothing.
package dryrun

import (
	"context"
	"errors"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// A Provider refuses every change with an error of kind Invalid, those of abilities
// as well.
type Provider struct{ p providers.Infrastructure }

var _ providers.Infrastructure = (*Provider)(nil)

// New returns p with its changes refused.
func New(p providers.Infrastructure) *Provider { return &Provider{p} }

var errDryRun = errors.New("this is a dry run, which changes nothing")

func refuse(op string) error { return &fleet.Error{Kind: fleet.Invalid, Op: op, Err: errDryRun} }

// Abilities returns those of the provider inside, decorated.
func (p *Provider) Abilities() providers.Abilities {
	return providers.AbilitiesOf(p.p).Through(func(_ context.Context, u providers.Use, call func() error) error {
		if u.Changes {
			return refuse(u.Op)
		}
		return call()
	})
}

// Observe implements providers.Infrastructure.
func (p *Provider) Observe(ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
	return p.p.Observe(ctx, c)
}

// Settle implements providers.Infrastructure.
func (p *Provider) Settle() time.Duration { return p.p.Settle() }

// EnsureInfrastructure implements providers.Infrastructure.
func (*Provider) EnsureInfrastructure(_ context.Context, _ fleet.OperationID, c *fleet.Cluster) error {
	return refuse("create infrastructure of " + c.Key.String())
}

// DeleteInfrastructure implements providers.Infrastructure.
func (*Provider) DeleteInfrastructure(_ context.Context, _ fleet.OperationID, c *fleet.Cluster) error {
	return refuse("delete infrastructure of " + c.Key.String())
}

// CreateMachine implements providers.Infrastructure.
func (*Provider) CreateMachine(_ context.Context, _ fleet.OperationID, r providers.MachineRequest) error {
	return refuse("create machine " + string(r.Name))
}

// DeleteMachine implements providers.Infrastructure.
func (*Provider) DeleteMachine(_ context.Context, _ fleet.OperationID, _ *fleet.Cluster, name fleet.MachineName, _ fleet.ProviderID) error {
	return refuse("delete machine " + string(name))
}
