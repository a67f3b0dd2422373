package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/reconcile/plan"
)

// patience bounds the look at each site, and wholeLook that at all there is of a cluster:
// the others are not to wait for long.
const (
	patience  = 2 * time.Minute
	wholeLook = 2 * patience
)

// lookAtSites observes all sites of c at the same time. Where there is one alone, what it
// cannot tell is an error; of several, one that is silent holds up no other.
func (l *Looker) lookAtSites(ctx context.Context, c *fleet.Cluster, o *fleet.Observed) error {
	ctx2, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no answer within %s", patience))
	defer cancel()
	guests := c.GuestProviders()
	if len(guests) == 0 {
		var err error
		o.Infrastructure, err = l.lookAtSite(ctx2, c, "")
		return err
	}
	seen, errs := make([]fleet.Infrastructure, len(guests)+1), make([]error, len(guests)+1)
	var all sync.WaitGroup
	for i, provider := range append([]string{""}, guests...) {
		all.Go(func() { seen[i], errs[i] = l.lookAtSite(ctx2, c, provider) })
	}
	all.Wait()
	if ctx.Err() != nil { // no site was silent: the pass ends
		return errors.Join(errs...)
	}
	o.Infrastructure, o.Silence = seen[0], silence(errs[0])
	for i, provider := range guests {
		g := fleet.GuestSeen{Provider: provider, Infrastructure: seen[i+1], Silence: silence(errs[i+1])}
		for _, m := range g.Infrastructure.Machines {
			m.Provider = provider
			o.Infrastructure.Machines = append(o.Infrastructure.Machines, m)
		}
		for _, f := range g.Infrastructure.Failures {
			f.Provider = provider
			o.Infrastructure.Failures = append(o.Infrastructure.Failures, f)
		}
		if hosts := g.Infrastructure.Hosts; hosts != nil {
			o.Infrastructure.Hosts = append(append([]fleet.Host{}, o.Infrastructure.Hosts...), hosts...)
		}
		g.Infrastructure.Machines, g.Infrastructure.Failures, g.Infrastructure.Hosts = nil, nil, nil
		o.Guests = append(o.Guests, g)
	}
	slices.SortStableFunc(o.Infrastructure.Machines, func(a, b fleet.Machine) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ProviderID, b.ProviderID))
	})
	fleet.SortHosts(o.Infrastructure.Hosts)
	slices.SortStableFunc(o.Infrastructure.Failures, func(a, b fleet.Failure) int { return cmp.Compare(a.Machine, b.Machine) })
	return nil
}

func silence(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// lookAtSite observes one site of c. An empty provider is that of the first.
func (l *Looker) lookAtSite(ctx context.Context, c *fleet.Cluster, provider string) (fleet.Infrastructure, error) {
	infra, err := l.o.Infrastructure(cmp.Or(provider, c.Provider))
	if err != nil {
		return fleet.Infrastructure{}, err
	}
	got, err := infra.Observe(ctx, c.At(provider))
	switch {
	case err == nil:
		return got, nil
	case provider == "":
		return fleet.Infrastructure{}, fmt.Errorf("cannot observe infrastructure of %s: %w", c.Key, err)
	case !slices.ContainsFunc(c.Guests, func(s fleet.Site) bool { return s.Provider == provider }):
		return fleet.Infrastructure{}, fmt.Errorf("cannot look at what %s has on %s, which is not in Git any more (bring its objects and Secrets back until nothing is there; if it is gone permanently, annotate the Cluster with %s: %s): %w",
			c.Key, provider, fleet.ForgetPlaceAnnotation, provider, err)
	}
	return fleet.Infrastructure{}, fmt.Errorf("cannot observe infrastructure of %s on %s: %w", c.Key, provider, err)
}

// guests opens the providers of c's guests. One that cannot be opened is not there: the
// look tells why.
func (r *Reconciler) guests(c *fleet.Cluster) map[string]providers.Infrastructure {
	out := make(map[string]providers.Infrastructure)
	for _, provider := range c.GuestProviders() {
		if p, err := r.o.Infrastructure(provider); err == nil {
			out[provider] = p
		}
	}
	return out
}

// settleTimes are how long guests may take to show a change.
func settleTimes(guests map[string]providers.Infrastructure) fleet.SettleTimes {
	out := make(fleet.SettleTimes, len(guests))
	for provider, p := range guests {
		out[provider] = p.Settle()
	}
	return out
}

// attemptsLast is how long attempts are remembered.
func attemptsLast(first time.Duration, guests fleet.SettleTimes) time.Duration {
	longest := max(first, plan.AttemptsLast)
	for _, d := range guests {
		longest = max(longest, d)
	}
	return longest
}

// silences are the errors of the sites that are silent, for the time of the next try.
func silences(o *fleet.Observed) []error {
	var out []error
	add := func(why string) {
		if why != "" {
			out = append(out, &fleet.Error{Kind: fleet.Unavailable, Op: "look", Err: errors.New(why)})
		}
	}
	add(o.Silence)
	for _, g := range o.Guests {
		add(g.Silence)
	}
	return out
}

// FillIn adds to the report of a pass over c what was last known of the sites that are
// silent, where the Reconciler does not know: it has only just begun.
func (res *Result) FillIn(c *fleet.Cluster, last fleet.Report) {
	if res.Report.Phase != "" {
		res.fillIn(&res.Observed, c, last)
	}
}

// fillIn adds to the report what was last known of the sites that are silent: of their
// machines, and of the pools that are on them.
func (res *Result) fillIn(o *fleet.Observed, c *fleet.Cluster, last fleet.Report) {
	silent := make(map[string]bool)
	if o.Silence != "" {
		silent[""] = true
	}
	for _, g := range o.Guests {
		if g.Silence != "" {
			silent[g.Provider] = true
		}
	}
	r := &res.Report
	for _, m := range r.Machines { // what is there is filled in
		delete(silent, m.Machine.Provider)
	}
	if len(silent) == 0 {
		return
	}
	for _, m := range last.Machines {
		if silent[m.Machine.Provider] {
			r.Machines = append(r.Machines, m)
		}
	}
	slices.SortStableFunc(r.Machines, func(a, b fleet.MachineReport) int {
		return cmp.Or(cmp.Compare(a.Machine.Name, b.Machine.Name), cmp.Compare(a.Machine.ProviderID, b.Machine.ProviderID))
	})
	var names []fleet.PoolName
	for _, p := range c.Pools() {
		names = append(names, p.Name)
	}
	for _, p := range c.KeptPools {
		names = append(names, p.Name)
	}
	var pools []fleet.PoolReport
	for _, name := range names { // in Git's order, those that vanished last
		for _, from := range [][]fleet.PoolReport{r.Pools, last.Pools} {
			i := slices.IndexFunc(from, func(o fleet.PoolReport) bool { return o.Name == name })
			if i >= 0 {
				pools = append(pools, from[i])
				break
			}
		}
	}
	for _, p := range r.Pools {
		if !slices.ContainsFunc(pools, func(o fleet.PoolReport) bool { return o.Name == p.Name }) {
			pools = append(pools, p)
		}
	}
	r.Pools = pools
}
