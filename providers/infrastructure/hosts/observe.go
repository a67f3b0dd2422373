package hosts

import (
	"context"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/infrastructure/hosts/api"
	"fairlead.dev/providers/infrastructure/hosts/host"
)

// Observe implements providers.Infrastructure. What was begun on a host and was
// interrupted it tells, as upkeep or as a removal that goes on when it is asked for
// again.
func (r *reader) Observe(ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
	op := "observe " + c.Key.String()
	spec, err := api.ReadCluster(c.Infrastructure)
	if err != nil {
		return fleet.Infrastructure{}, err
	}
	all, err := r.look(ctx, c)
	if err != nil {
		return fleet.Infrastructure{}, wrap(op, err)
	}
	domains, err := failureDomains(c, all)
	if err != nil {
		return fleet.Infrastructure{}, err
	}
	b, err := all.balancer(c, spec)
	if err != nil {
		return fleet.Infrastructure{}, err
	}
	out := fleet.Infrastructure{FailureDomains: domains}
	if len(all.shared(c)) > 0 {
		out.Exists, out.Ready, out.Endpoint = true, true, b.endpoint
		out.Drift = drift(c, all, b)
	}
	b.observe(all, c, &out)
	list := all.machines(c)
	out.Places = all.places(c, list)
	for i := range list {
		f := &list[i]
		f.forged = b.doubt(f)
		if r.waits(f, time.Now()) {
			start := "start machine " + f.claim.Tags[fleet.TagMachine] + " on host " + f.host.String() + ", which was interrupted"
			out.Drift, out.Upkeep = append(out.Drift, start), append(out.Upkeep, start)
		}
		out.Machines = append(out.Machines, f.machine())
	}
	slices.Sort(out.Drift)
	slices.Sort(out.Upkeep)
	driver.SortMachines(out.Machines)
	return out, nil
}

// drift tells what EnsureInfrastructure would fix.
func drift(c *fleet.Cluster, r roster, b *balancer) []string {
	var out []string
	if 2*len(r.shared(c)) < len(r.answering()) {
		out = append(out, "note the cluster on its hosts")
	}
	for _, f := range b.trusted(r.missingNotes(c)) {
		out = append(out, "note machine "+f.claim.Tags[fleet.TagMachine]+" on more hosts of its pool")
	}
	if len(r.staleNotes(c, time.Now())) > 0 {
		out = append(out, "drop the notes of machines that are gone")
	}
	return out
}

// waits reports whether f was claimed a settle window ago, and is not started: that
// was interrupted.
func (r *reader) waits(f *hostMachine, now time.Time) bool {
	age := now.Sub(f.claim.Created) // below zero where another agent's clock is ahead
	return f.state != nil && f.state.Progress == host.Waiting && !f.releasing && f.forged == "" && (age < 0 || age > r.settle)
}

// interrupted reports whether the release of f was decided and is not under way on a
// host that answers: it was stopped by a restart, or the host was silent when it began.
func (f *hostMachine) interrupted() bool {
	return f.state != nil && f.forged == "" && (f.state.Progress == host.Stalled || f.releasing && f.state.Progress != host.Releasing)
}
