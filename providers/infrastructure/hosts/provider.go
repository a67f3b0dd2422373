package hosts

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/hosts/api"
	"fairlead.dev/providers/infrastructure/hosts/host"
	"fairlead.dev/providers/infrastructure/hosts/remote"
	"fairlead.dev/providers/infrastructure/hosts/userdata"
)

// A Provider is the infrastructure provider of machines that exist.
type Provider struct {
	o      Options
	dialer *remote.Dialer
	shelf  shelf

	mu    sync.Mutex
	taken map[string]bool // machines being made and hosts being claimed, in this process
}

var (
	_ providers.Infrastructure = (*Provider)(nil)
	_ providers.NodeIdentifier = (*Provider)(nil)
)

// Options are what a provider is made with. Zero values mean the defaults.
type Options struct {
	Log          *slog.Logger
	Tick, Settle time.Duration
	AgentSocket  string // of an SSH agent; empty: there is none
	// Secret returns a Secret that Git does not hold; nil means that there are none.
	Secret func(ctx context.Context, k fleet.Key) (fleet.SecretData, error)
}

// The defaults. A change shows as soon as its script ran. One whose connection broke
// may run on, but claims no host that it is slow on: see claim.sh.
const (
	DefaultTick   = 5 * time.Second
	DefaultSettle = 25 * time.Second
)

// New returns a provider.
func New(o Options) *Provider {
	o.Tick, o.Settle = cmp.Or(o.Tick, DefaultTick), cmp.Or(o.Settle, DefaultSettle)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Provider{
		o: o, dialer: remote.NewDialer(o.AgentSocket), shelf: shelf{looks: make(map[string]*kept)}, taken: make(map[string]bool),
	}
}

// Close closes the connections to hosts.
func (p *Provider) Close() { p.dialer.Close() }

// Settle implements providers.Infrastructure.
func (p *Provider) Settle() time.Duration { return p.o.Settle }

// NodeID implements providers.NodeIdentifier.
func (p *Provider) NodeID() string { return userdata.NodeID }

// wrap says what could not be done, for an error that has a kind or none.
func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return &fleet.Error{Kind: fleet.KindOf(err), Op: op, Err: err}
}

// Observe implements providers.Infrastructure. What was begun on a host and was
// interrupted it has go on.
func (p *Provider) Observe(ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
	op := "observe " + c.Key.String()
	spec, err := api.ReadCluster(c.Infrastructure)
	if err != nil {
		return fleet.Infrastructure{}, err
	}
	r, err := p.look(ctx, c)
	if err != nil {
		return fleet.Infrastructure{}, wrap(op, err)
	}
	domains, err := failureDomains(c, r)
	if err != nil {
		return fleet.Infrastructure{}, err
	}
	b, err := r.balancer(c, spec)
	if err != nil {
		return fleet.Infrastructure{}, err
	}
	out := fleet.Infrastructure{FailureDomains: domains}
	if len(r.shared(c)) > 0 {
		out.Exists, out.Ready, out.Endpoint = true, true, b.endpoint
		out.Drift = drift(c, r)
	}
	b.observe(r, c, &out)
	slices.Sort(out.Drift)
	list := r.machines(c)
	p.goOn(ctx, list)
	for i := range list {
		out.Machines = append(out.Machines, list[i].machine())
	}
	slices.SortFunc(out.Machines, func(a, b fleet.Machine) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ProviderID, b.ProviderID))
	})
	return out, nil
}

// drift tells what EnsureInfrastructure would mend.
func drift(c *fleet.Cluster, r roster) []string {
	var out []string
	if 2*len(r.shared(c)) < len(r.answering()) {
		out = append(out, "note the cluster on its hosts")
	}
	for _, f := range r.unnoted(c) {
		out = append(out, "note machine "+f.claim.Tags[fleet.TagMachine]+" on more hosts of its pool")
	}
	if len(r.stale(c, time.Now())) > 0 {
		out = append(out, "drop the notes of machines that are gone")
	}
	return out
}

// goOn has hosts go on with what was begun there and was interrupted: by a crash
// between a claim and its start, by a restart during a release.
func (p *Provider) goOn(ctx context.Context, list []found) {
	var work roster
	scripts := make(map[*seen]string)
	for i := range list {
		f := &list[i]
		if f.state == nil {
			continue
		}
		s := &seen{host: f.host, state: f.state}
		removed := f.state.Progress == host.Releasing || f.state.Progress == host.Stalled
		switch {
		case f.state.Progress == host.Stalled, f.releasing && !removed:
			scripts[s] = host.Release(f.claim.ID)
		case f.state.Progress == host.Waiting:
			scripts[s] = host.Resume(f.claim.ID)
		default:
			continue
		}
		work = append(work, s)
	}
	forEach(work, func(s *seen) {
		if _, err := p.run(ctx, s.host, scripts[s]); err != nil {
			p.o.Log.Warn("Leaving what was interrupted on a host for the next look", "host", s.host.String(), "error", err)
		}
	})
}

// EnsureInfrastructure implements providers.Infrastructure: it brings the notes on
// the hosts in line with what is there, and has the load balancer run, if the cluster
// has one.
func (p *Provider) EnsureInfrastructure(ctx context.Context, op fleet.OperationID, c *fleet.Cluster) error {
	what := "create infrastructure of " + c.Key.String()
	spec, err := api.ReadCluster(c.Infrastructure)
	if err != nil {
		return err
	}
	r, err := p.look(ctx, c)
	if err != nil {
		return wrap(what, err)
	}
	b, err := r.balancer(c, spec)
	if err != nil {
		return err
	}
	if err := p.note(ctx, op, c, r); err != nil {
		return wrap(what, err)
	}
	return wrap(what, p.ensureBalancer(ctx, op, c, b))
}

// note brings the notes of c on the hosts in line with what is there.
func (p *Provider) note(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, r roster) error {
	unnoted, stale, shared := r.unnoted(c), r.stale(c, time.Now()), sharedNote(c, op)
	var done, asked atomic.Int32
	var mu sync.Mutex
	var errs []error
	forEach(r.answering(), func(s *seen) {
		var put []host.Claim
		if !s.holds(&shared) {
			put = append(put, shared)
		}
		for _, f := range unnoted {
			if f.claim.Pool == s.host.Pool && f.claim.Host != s.host.Name && !s.holds(&f.claim) {
				put = append(put, f.claim)
			}
		}
		var drop []string
		for _, n := range s.state.Notes {
			if slices.Contains(stale, n.NoteName()) {
				drop = append(drop, n.NoteName())
			}
		}
		asked.Add(1)
		if len(put)+len(drop) > 0 {
			if _, err := p.run(ctx, s.host, host.Note(put, drop)); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
				return
			}
		}
		done.Add(1)
	})
	if 2*done.Load() < asked.Load() || done.Load() == 0 {
		return errors.Join(errs...)
	}
	return nil
}

// DeleteInfrastructure implements providers.Infrastructure. The load balancer goes
// before the notes do, which tell that there still is something.
func (p *Provider) DeleteInfrastructure(ctx context.Context, _ fleet.OperationID, c *fleet.Cluster) error {
	op := "delete infrastructure of " + c.Key.String()
	spec, err := api.ReadCluster(c.Infrastructure)
	if err != nil {
		return err
	}
	r, err := p.look(ctx, c)
	if err != nil {
		return wrap(op, err)
	}
	b, err := r.balancer(c, spec)
	if err != nil {
		return err
	}
	if list := r.machines(c); len(list) > 0 {
		return fleet.Errorf(fleet.Conflict, op, "there are still machines, %s is the first", list[0].claim.Tags[fleet.TagMachine])
	}
	if gone, err := p.deleteBalancer(ctx, b); err != nil || !gone {
		return wrap(op, err)
	}
	var mu sync.Mutex
	var errs []error
	forEach(r.answering(), func(s *seen) {
		var drop []string
		for _, n := range s.state.Notes {
			if c.Owns(n.Tags) {
				drop = append(drop, n.NoteName())
			}
		}
		if len(drop) == 0 {
			return
		}
		if _, err := p.run(ctx, s.host, host.Note(nil, drop)); err != nil {
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		}
	})
	return wrap(op, errors.Join(errs...))
}
