package ownership

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

const (
	// rehearsalDeadline bounds one run of a rehearsal, since the succession may be
	// withdrawn meanwhile. lookDeadline bounds one look.
	rehearsalDeadline = 2 * time.Minute
	lookDeadline      = time.Minute
	// rehearsalWidth is how many clusters are looked at concurrently.
	rehearsalWidth = 16
)

// A Looker looks at clusters. It cannot change them.
type Looker interface {
	Look(ctx context.Context, c *fleet.Cluster) (fleet.Observed, error)
}

// A rehearsal is a successor's look at every cluster of the fleet. After an error the next
// run goes on with the clusters that are left, since the owner's secrets are frozen
// meanwhile.
type rehearsal struct {
	newest func(ctx context.Context) (fleet.Fleet, error)
	read   func(ctx context.Context) (status.Status, error)
	open   func() Looker // nil: no cluster is looked at

	of     string // identifies the succession and the revision
	looker Looker
	done   map[fleet.Key]bool // clusters that were looked at without an error
}

// run looks at every cluster of the newest revision, several at once, and changes nothing.
// An error says what this agent cannot do that an owner must: read the fleet, its secrets,
// its infrastructure, or an API server that answers the owner.
func (r *rehearsal) run(ctx context.Context, next fleet.Succession) error {
	ctx, cancel := context.WithTimeout(ctx, rehearsalDeadline)
	defer cancel()
	f, err := r.newest(ctx)
	if err != nil {
		return err
	}
	s, err := r.read(ctx)
	if err == nil {
		err = s.Whole()
	}
	if err != nil || r.open == nil {
		return err
	}
	if of := next.ID + " " + f.Revision.Digest; r.of != of {
		r.of, r.looker, r.done = of, r.open(), make(map[fleet.Key]bool)
	}
	var (
		g    errgroup.Group
		errs = make([]error, len(f.Clusters))
		left []int
	)
	for i := range f.Clusters {
		if !r.done[f.Clusters[i].Key] {
			left = append(left, i)
		}
	}
	g.SetLimit(rehearsalWidth)
	for _, i := range left {
		g.Go(func() error {
			errs[i] = r.look(ctx, &f.Clusters[i], s)
			return nil
		})
	}
	_ = g.Wait() // the errors are in errs
	for _, i := range left {
		r.done[f.Clusters[i].Key] = errs[i] == nil
	}
	return cmp.Or(errs...)
}

// proofDeadline bounds what an agent proves before it claims a fleet without an owner.
const proofDeadline = 30 * time.Second

// ownerReturns is how long an agent that waits leaves a fleet without an owner to the former one that
// may write its status branch again, if it cannot look at a cluster. A new fleet may have a
// cluster that cannot be observed yet.
const ownerReturns = 5 * time.Minute

// prove returns why this agent must not claim a fleet without an owner: clusters have
// machines, and their secrets are not here. An agent that waits for the fleet also proves
// that it can look at every cluster. Another agent claims a new fleet even if a cloud does
// not answer, and its status says so.
func (r *rehearsal) prove(ctx context.Context, wholly bool) error {
	if r.open == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, proofDeadline)
	defer cancel()
	f, err := r.newest(ctx)
	if err != nil {
		return err
	}
	looker := r.open()
	errs := make([]error, len(f.Clusters))
	var g errgroup.Group
	g.SetLimit(rehearsalWidth)
	for i := range f.Clusters {
		c := &f.Clusters[i]
		g.Go(func() error {
			seen, err := looker.Look(ctx, c)
			switch {
			case err == nil:
				errs[i] = missingSecrets(c, seen)
			case wholly:
				errs[i] = err
			}
			return nil
		})
	}
	_ = g.Wait() // the errors are in errs
	if err := cmp.Or(errs...); err != nil {
		return fmt.Errorf("no agent owns the fleet, and this agent must not claim it: %w", err)
	}
	return nil
}

// missingSecrets says that c has machines, and that their secrets are not with this agent.
func missingSecrets(c *fleet.Cluster, seen fleet.Observed) error {
	if len(seen.Infrastructure.Machines) > 0 && len(seen.Secrets.Missing) > 0 {
		return fmt.Errorf("cluster %s has machines, and its secrets are not here: %v", c.Key, seen.Secrets.Missing)
	}
	return nil
}

// look returns what this agent cannot see of c.
func (r *rehearsal) look(ctx context.Context, c *fleet.Cluster, s status.Status) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, lookDeadline)
	defer cancel()
	seen, err := r.looker.Look(ctx, c)
	if err != nil {
		return err
	}
	return compareViews(c, seen, s)
}

// compareViews returns what the owner sees of c and this agent does not.
func compareViews(c *fleet.Cluster, seen fleet.Observed, s status.Status) error {
	if err := missingSecrets(c, seen); err != nil {
		return err
	}
	known, ok := s.Cluster(c.Key)
	if !ok {
		return nil
	}
	if known.Report.Phase == fleet.PhaseProvisioned && !seen.Workload.Reachable {
		return fmt.Errorf("the API server of cluster %s does not answer here: %s", c.Key, seen.Workload.Message)
	}
	for _, m := range known.Report.Machines {
		if !slices.ContainsFunc(seen.Infrastructure.Machines, func(o fleet.Machine) bool { return o.ProviderID == m.Machine.ProviderID }) &&
			m.Machine.State == fleet.MachineRunning && known.Report.Phase == fleet.PhaseProvisioned {
			return fmt.Errorf("machine %s of cluster %s is not seen here: are these the same credentials?", m.Machine.Name, c.Key)
		}
	}
	return nil
}
