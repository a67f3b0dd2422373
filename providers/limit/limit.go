// Package limit bounds how much is asked of an infrastructure at once.
package limit

import (
	"context"
	"math"
	"time"

	"golang.org/x/time/rate"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// Options are the bounds. Zero means none.
type Options struct {
	PerSecond float64 // calls begun in a second; as many may come at once
	InFlight  int     // calls at the same time
}

// A Provider makes calls wait for their turn. One whose context ends before
// that was not sent: its error is of kind Unavailable.
type Provider struct {
	p     providers.Infrastructure
	rate  *rate.Limiter
	slots chan struct{} // nil: no bound
}

var _ providers.Infrastructure = (*Provider)(nil)

// New returns p within the bounds.
func New(p providers.Infrastructure, o Options) *Provider {
	l := &Provider{p: p, rate: rate.NewLimiter(rate.Inf, 0)}
	if o.PerSecond > 0 {
		l.rate = rate.NewLimiter(rate.Limit(o.PerSecond), int(math.Ceil(o.PerSecond)))
	}
	if o.InFlight > 0 {
		l.slots = make(chan struct{}, o.InFlight)
	}
	return l
}

// Abilities returns those of the provider inside, decorated.
func (l *Provider) Abilities() providers.Abilities {
	return providers.AbilitiesOf(l.p).Through(func(ctx context.Context, u providers.Use, call func() error) error {
		if err := l.enter(ctx, u.Op); err != nil {
			return err
		}
		defer l.leave()
		return call()
	})
}

// enter waits for a turn; leave gives it back.
func (l *Provider) enter(ctx context.Context, op string) error {
	if l.slots != nil {
		select {
		case l.slots <- struct{}{}:
		case <-ctx.Done():
			return &fleet.Error{Kind: fleet.Unavailable, Op: op, Err: ctx.Err()}
		}
	}
	if err := l.rate.Wait(ctx); err != nil {
		l.leave()
		return &fleet.Error{Kind: fleet.Unavailable, Op: op, Err: err}
	}
	return nil
}

// InFlight returns how many calls are under way, of how many that may be; 0 of 0 where there
// is no bound.
func (l *Provider) InFlight() (now, most int) { return len(l.slots), cap(l.slots) }

func (l *Provider) leave() {
	if l.slots != nil {
		<-l.slots
	}
}

// Observe implements providers.Infrastructure.
func (l *Provider) Observe(ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
	if err := l.enter(ctx, "observe "+c.Key.String()); err != nil {
		return fleet.Infrastructure{}, err
	}
	defer l.leave()
	return l.p.Observe(ctx, c)
}

// EnsureInfrastructure implements providers.Infrastructure.
func (l *Provider) EnsureInfrastructure(ctx context.Context, op fleet.OperationID, c *fleet.Cluster) error {
	if err := l.enter(ctx, "create infrastructure of "+c.Key.String()); err != nil {
		return err
	}
	defer l.leave()
	return l.p.EnsureInfrastructure(ctx, op, c)
}

// DeleteInfrastructure implements providers.Infrastructure.
func (l *Provider) DeleteInfrastructure(ctx context.Context, op fleet.OperationID, c *fleet.Cluster) error {
	if err := l.enter(ctx, "delete infrastructure of "+c.Key.String()); err != nil {
		return err
	}
	defer l.leave()
	return l.p.DeleteInfrastructure(ctx, op, c)
}

// CreateMachine implements providers.Infrastructure.
func (l *Provider) CreateMachine(ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
	if err := l.enter(ctx, "create machine "+string(r.Name)); err != nil {
		return err
	}
	defer l.leave()
	return l.p.CreateMachine(ctx, op, r)
}

// DeleteMachine implements providers.Infrastructure.
func (l *Provider) DeleteMachine(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID) error {
	if err := l.enter(ctx, "delete machine "+string(name)); err != nil {
		return err
	}
	defer l.leave()
	return l.p.DeleteMachine(ctx, op, c, name, id)
}

// Settle implements providers.Infrastructure. The wait for a turn comes before
// the call and adds nothing to it.
func (l *Provider) Settle() time.Duration { return l.p.Settle() }
