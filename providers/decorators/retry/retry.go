// Package retry repeats looks at an infrastructure that was unavailable.
package retry

import (
	"context"
	"math/rand/v2"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// Options say how often and how soon. Zero values mean the defaults.
type Options struct {
	Attempts int           // in all; default 4
	Wait     time.Duration // before the second attempt, doubled for each further one; default 250 ms
}

// A Provider repeats looks, Observe and those of abilities, while their error is of
// kind Unavailable. It repeats nothing else: whether a change may be repeated is the
// planner's to decide.
type Provider struct {
	providers.Infrastructure
	o Options
}

var _ providers.Infrastructure = (*Provider)(nil)

// New returns p with its looks repeated.
func New(p providers.Infrastructure, o Options) *Provider {
	if o.Attempts == 0 {
		o.Attempts = 4
	}
	if o.Wait == 0 {
		o.Wait = 250 * time.Millisecond
	}
	return &Provider{Infrastructure: p, o: o}
}

// Abilities returns those of the provider inside, decorated.
func (p *Provider) Abilities() providers.Abilities {
	return providers.AbilitiesOf(p.Infrastructure).Through(func(ctx context.Context, u providers.Use, call func() error) error {
		if u.Changes {
			return call()
		}
		return p.repeat(ctx, call)
	})
}

// Observe implements providers.Infrastructure. Of several errors it returns the
// last one of the provider.
func (p *Provider) Observe(ctx context.Context, c *fleet.Cluster) (got fleet.Infrastructure, err error) {
	err = p.repeat(ctx, func() error {
		got, err = p.Infrastructure.Observe(ctx, c)
		return err
	})
	return got, err
}

// repeat makes a look again and again, and returns its last error.
func (p *Provider) repeat(ctx context.Context, look func() error) error {
	wait := p.o.Wait
	for attempt := 1; ; attempt++ {
		err := look()
		if err == nil || attempt >= p.o.Attempts || fleet.KindOf(err) != fleet.Unavailable || ctx.Err() != nil {
			return err
		}
		// Between half and all of it, so that clusters do not come back in step.
		timer := time.NewTimer(wait/2 + rand.N(wait/2+1))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
		wait *= 2
	}
}
