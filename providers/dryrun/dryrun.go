// Package dryrun looks at an infrastructure and changes nothing.
package dryrun

import (
	"context"
	"errors"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// A Provider refuses every change with an error of kind Invalid.
type Provider struct{ providers.Infrastructure }

// New returns p with its changes refused, those of a Sweeper as well.
func New(p providers.Infrastructure) providers.Infrastructure {
	d := &Provider{p}
	if s, ok := providers.As[providers.Sweeper](p); ok {
		return &sweeper{d, s}
	}
	return d
}

// A sweeper is a Provider that finds orphans and removes none.
type sweeper struct {
	*Provider
	providers.Sweeper
}

// RemoveOrphan implements providers.Sweeper.
func (*sweeper) RemoveOrphan(_ context.Context, _ fleet.ID, _ []*fleet.Cluster, o fleet.Orphan) error {
	return refuse("remove " + o.Kind + " " + o.ID)
}

// Unwrap returns the provider inside.
func (p *Provider) Unwrap() providers.Infrastructure { return p.Infrastructure }

var errDryRun = errors.New("this is a dry run, which changes nothing")

func refuse(op string) error { return &fleet.Error{Kind: fleet.Invalid, Op: op, Err: errDryRun} }

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
