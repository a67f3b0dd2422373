package agent

import (
	"cmp"
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"fairlead.dev/fleet"
)

const (
	// rehearsalDeadline bounds one go at a rehearsal, so that in between it is seen
	// whether the fleet is still on its way here; lookDeadline bounds one look.
	rehearsalDeadline = 2 * time.Minute
	lookDeadline      = time.Minute
	// rehearsalWidth is how many clusters are looked at at once.
	rehearsalWidth = 16
)

// A rehearsal is what a successor has looked at of the fleet that it is to take. One
// that ends with an error goes on where it was: the owner stores no secrets meanwhile.
// It is touched by follow alone.
type rehearsal struct {
	of     string // the succession, and the revision
	looker Looker
	done   map[fleet.Key]bool // looked at, with nothing to complain of
}

// rehearse looks at every cluster of the newest revision, several at once, and
// changes nothing. An error says what this agent could not do that an owner must: read
// the fleet, its secrets, its infrastructure, or an API server that answers the owner.
func (a *Agent) rehearse(ctx context.Context, next fleet.Succession) error {
	ctx, cancel := context.WithTimeout(ctx, rehearsalDeadline)
	defer cancel()
	rev, err := a.p.Source.Resolve(ctx)
	if err != nil {
		return err
	}
	f, err := a.render(ctx, rev)
	if err != nil {
		return err
	}
	s, err := a.ledger.Read(ctx)
	if err == nil {
		err = s.Whole()
	}
	if err != nil {
		return err
	}
	if a.p.Looker == nil {
		return nil
	}
	r := &a.rehearsal
	if of := next.ID + " " + rev.Digest; r.of != of {
		*r = rehearsal{of: of, looker: a.p.Looker(), done: make(map[fleet.Key]bool)}
	}
	var (
		g    errgroup.Group
		mu   sync.Mutex
		errs = make([]error, len(f.Clusters))
	)
	g.SetLimit(rehearsalWidth)
	for i := range f.Clusters {
		c := &f.Clusters[i]
		mu.Lock()
		done := r.done[c.Key]
		mu.Unlock()
		if done {
			continue
		}
		g.Go(func() error {
			if errs[i] = ctx.Err(); errs[i] != nil {
				return nil
			}
			ctx, cancel := context.WithTimeout(ctx, lookDeadline)
			defer cancel()
			seen, err := r.looker.Look(ctx, c)
			if err == nil {
				err = sameView(c, seen, s)
			}
			mu.Lock()
			defer mu.Unlock()
			errs[i], r.done[c.Key] = err, err == nil
			return nil
		})
	}
	_ = g.Wait() // errors are in errs, that of the first cluster counts
	return cmp.Or(errs...)
}
