package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fairlead.dev/fleet"
)

// Scales are the numbers of machines on the status branch that Git leaves to
// somebody else. See sources/status.Scales.
type Scales interface {
	List(ctx context.Context) ([]fleet.Scale, error)
	Decide(ctx context.Context, of fleet.Owner, list, gone []fleet.Scale) error
}

// scaling is what was decided on numbers of machines.
type scaling struct {
	deciding chan struct{} // holds one while somebody decides, which may take long

	// What is below is guarded by Agent.mu.
	decided map[fleet.Key][]fleet.Scale
	broken  string // numbers that nobody can go by, and why
}

// begin waits for its turn to decide, and reports whether it came before ctx ended.
func (s *scaling) begin(ctx context.Context) bool {
	select {
	case s.deciding <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *scaling) end() { <-s.deciding }

// recallScales reads what was decided before the first pass: a pool that was
// scaled stays so when an agent starts.
func (a *Agent) recallScales(ctx context.Context) error {
	if a.ledger.Scales == nil {
		return nil
	}
	list, err := a.ledger.Scales.List(ctx)
	if err != nil && fleet.KindOf(err) != fleet.Invalid {
		return err
	}
	counting, _, _ := a.counting(list) // the first poll tells what does not count
	a.holdScales(counting)
	return nil
}

// counting returns what of list counts, with what was decided before in the place of what
// does not: what nobody who counts signed, an older one of those, or nothing any more. The
// error names it. again is what is to be signed once more: what is gone, and what says
// what counts by a key that counts no longer.
func (a *Agent) counting(list []fleet.Scale) (counting, again []fleet.Scale, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var errs []error
	for _, s := range list {
		held := a.scaling.decided[s.Cluster]
		i := slices.IndexFunc(held, s.Same)
		why := s.Distrusted
		if i >= 0 && a.ledger.Signed && why == "" && s.At.Before(held[i].At) {
			why = "it is older than the one that was there before"
		}
		switch {
		case why == "":
			counting = append(counting, s)
			continue
		case i >= 0 && s.Is(held[i]):
			again = append(again, held[i])
		default:
			errs = append(errs, fmt.Errorf("the number of pool %s of cluster %s counts for nothing: %s", s.Pool, s.Cluster, why))
		}
		if i >= 0 {
			counting = append(counting, held[i])
		}
	}
	if !a.ledger.Signed {
		return counting, again, errors.Join(errs...)
	}
	for _, held := range a.scaling.decided {
		for _, s := range held {
			if !slices.ContainsFunc(list, s.Same) {
				counting, again = append(counting, s), append(again, s)
			}
		}
	}
	slices.SortFunc(counting, fleet.Scale.Compare)
	return counting, again, errors.Join(errs...)
}

// holdScales holds to list, and returns the clusters of which something else was decided
// before, sorted.
func (a *Agent) holdScales(list []fleet.Scale) []fleet.Key {
	now := make(map[fleet.Key][]fleet.Scale)
	for _, s := range list {
		now[s.Cluster] = append(now[s.Cluster], s)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var changed []fleet.Key
	for k, scales := range now {
		if !slices.EqualFunc(scales, a.scaling.decided[k], fleet.Scale.Is) {
			changed = append(changed, k)
		}
	}
	for k := range a.scaling.decided {
		if len(now[k]) == 0 {
			changed = append(changed, k)
		}
	}
	a.scaling.decided = now
	slices.SortFunc(changed, fleet.Key.Compare)
	return changed
}

// readScales takes in what the status branch says now: people may have a say
// there, and what concerns no pool any more goes.
func (a *Agent) readScales(ctx context.Context) {
	owner := a.owner.Load()
	if a.ledger.Scales == nil || owner == nil {
		return
	}
	if !a.scaling.begin(ctx) {
		return
	}
	defer a.scaling.end()
	list, err := a.ledger.Scales.List(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil && fleet.KindOf(err) != fleet.Invalid {
		a.scalesBroken(err)
		return
	}
	counting, again, doubt := a.counting(list)
	a.scalesBroken(errors.Join(err, doubt))
	for _, k := range a.holdScales(counting) {
		a.queue.Add(k)
	}
	var gone []fleet.Scale
	for _, s := range slices.Concat(list, again) {
		if !a.scalable(s) && !slices.ContainsFunc(gone, s.Same) {
			gone = append(gone, s)
		}
	}
	again = slices.DeleteFunc(again, func(s fleet.Scale) bool { return slices.ContainsFunc(gone, s.Same) })
	if len(gone)+len(again) > 0 {
		if err := a.decide(ctx, *owner, again, gone); err != nil && ctx.Err() == nil {
			a.p.Log.Warn("cannot write down numbers of machines, trying again", "error", err)
		}
	}
}

// scalesBroken tells of numbers that cannot be read or that nobody who counts signed, when
// that changes.
func (a *Agent) scalesBroken(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	a.mu.Lock()
	changed := a.scaling.broken != text
	a.scaling.broken = text
	a.mu.Unlock()
	if !changed {
		return
	}
	if err != nil {
		a.p.Log.Warn("cannot go by numbers of machines on the status branch", "error", err)
	}
	a.tell()
}

// scalable reports whether s concerns a pool that may be scaled, as far as is
// known: of a cluster that is held to by name alone nothing is.
func (a *Agent) scalable(s fleet.Scale) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	h, ok := a.desired.clusters[s.Cluster]
	if a.desired.revision.IsZero() || ok && h.cluster == nil {
		return true
	}
	if !ok {
		return false
	}
	p, ok := h.cluster.Pool(s.Pool)
	return ok && p.Scaling != nil
}

// date says when list is decided, where that is signed: an old decision is known by it.
func (a *Agent) date(list []fleet.Scale) {
	if !a.ledger.Signed {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now().UTC().Truncate(time.Second)
	for i, s := range list {
		list[i].At, list[i].Distrusted = now, ""
		held := a.scaling.decided[s.Cluster]
		if j := slices.IndexFunc(held, s.Same); j >= 0 && now.Before(held[j].At) { // by another clock
			list[i].At = held[j].At
		}
	}
}

// decide writes list to the status branch, drops gone from it, and holds to that.
// It is the caller's turn.
func (a *Agent) decide(ctx context.Context, owner fleet.Owner, list, gone []fleet.Scale) error {
	a.date(list)
	if err := a.ledger.Scales.Decide(ctx, owner, list, gone); err != nil {
		return err
	}
	a.mu.Lock()
	var all []fleet.Scale
	for _, of := range a.scaling.decided {
		for _, s := range of {
			if !slices.ContainsFunc(list, s.Same) && !slices.ContainsFunc(gone, s.Same) {
				all = append(all, s)
			}
		}
	}
	a.mu.Unlock()
	all = append(all, list...)
	slices.SortFunc(all, fleet.Scale.Compare)
	for _, k := range a.holdScales(all) {
		a.queue.Add(k)
	}
	for _, s := range list {
		a.p.Log.Info("decided on a number of machines", "cluster", s.Cluster, "pool", s.Pool, "replicas", s.Replicas, "reason", s.Reason)
	}
	return nil
}

// sized returns c with what was decided of it.
func (a *Agent) sized(c *fleet.Cluster) *fleet.Cluster {
	a.mu.Lock()
	defer a.mu.Unlock()
	return c.Scaled(a.scaling.decided[c.Key])
}

// sizes takes in what a pass over c found, and writes down the number of machines
// of pools of which none was decided yet: from then on it is known, however many
// there are for a while during a rollout.
func (a *Agent) sizes(ctx context.Context, c *fleet.Cluster, report fleet.Report) {
	owner := a.owner.Load()
	scaled := slices.ContainsFunc(c.Workers, func(p fleet.Pool) bool { return p.Scaling != nil })
	if a.ledger.Scales == nil || owner == nil || report.Phase == "" || a.o.Only != (fleet.Key{}) {
		return
	}
	if c.Delete || !scaled {
		return
	}
	if !a.scaling.begin(ctx) {
		return
	}
	defer a.scaling.end()
	var found []fleet.Scale
	for _, p := range a.sized(c).Workers { // somebody may have decided meanwhile
		i := slices.IndexFunc(report.Pools, func(r fleet.PoolReport) bool { return r.Name == p.Name })
		if p.Scaling == nil || p.Scaling.Decided || i < 0 {
			continue
		}
		found = append(found, fleet.Scale{Cluster: c.Key, Pool: p.Name, Replicas: report.Pools[i].Desired, Reason: "as it was before anybody scaled it"})
	}
	if len(found) == 0 {
		return
	}
	if err := a.decide(ctx, *owner, found, nil); err != nil && ctx.Err() == nil {
		a.p.Log.Warn("cannot write down numbers of machines, trying again with the next pass", "cluster", c.Key, "error", err)
	}
}

// Scalable returns the cluster called k as the last pass saw it. The error is of
// kind NotFound where the fleet has no such cluster, and Unavailable where
// nothing is known of it yet.
func (a *Agent) Scalable(k fleet.Key) (fleet.Scalable, error) {
	a.mu.Lock()
	h, ok := a.desired.clusters[k]
	a.mu.Unlock()
	report, passed := a.reports.Last(k)
	op := "scale cluster " + k.String()
	switch {
	case !ok && a.newest().IsZero():
		return fleet.Scalable{}, fleet.Errorf(fleet.Unavailable, op, "no revision was rendered yet")
	case !ok || h.orphan:
		return fleet.Scalable{}, fleet.Errorf(fleet.NotFound, op, "the fleet has no such cluster")
	case h.cluster == nil:
		return fleet.Scalable{}, fleet.Errorf(fleet.Unavailable, op, "no definition of the cluster can be used")
	case !passed && slices.ContainsFunc(h.cluster.Workers, func(p fleet.Pool) bool { return p.Scaling != nil }):
		return fleet.Scalable{}, fleet.Errorf(fleet.Unavailable, op, "the cluster was not looked at yet")
	}
	c, _ := a.granted(h.cluster)
	return fleet.Scalable{Cluster: a.sized(c), Machines: report.Machines}, nil
}

// Scale has change decide on a pool, given the cluster as it is, and writes the
// number down as a commit on the status branch. One decision is taken after the
// other. Where change returns what is so already nothing is written.
func (a *Agent) Scale(ctx context.Context, k fleet.Key, change func(fleet.Scalable) (fleet.Scale, error)) error {
	owner := a.owner.Load()
	if a.ledger.Scales == nil || owner == nil {
		return fleet.Errorf(fleet.Unavailable, "scale cluster "+k.String(), "this agent does not own the fleet")
	}
	if !a.scaling.begin(ctx) {
		return fleet.Errorf(fleet.Unavailable, "scale cluster "+k.String(), "another decision is being written: %w", ctx.Err())
	}
	defer a.scaling.end()
	now, err := a.Scalable(k)
	if err != nil {
		return err
	}
	s, err := change(now)
	if err != nil {
		return err
	}
	return a.decide(ctx, *owner, []fleet.Scale{s}, nil)
}
