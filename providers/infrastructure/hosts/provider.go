package hosts

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/claims"
	"fairlead.dev/providers/driver/endpoint"
	"fairlead.dev/providers/driver/objects"
	"fairlead.dev/providers/infrastructure/hosts/api"
	"fairlead.dev/providers/infrastructure/hosts/host"
	"fairlead.dev/providers/infrastructure/hosts/remote"
	"fairlead.dev/providers/infrastructure/hosts/userdata"
)

// A Provider is the infrastructure provider of machines that exist.
type Provider struct {
	*reader
	dialer *remote.Dialer
	writes changer

	deciding claims.Locks // machines being made and hosts being claimed, in this process
}

var _ providers.Infrastructure = (*Provider)(nil)

// Options are what a provider is made with. Zero values mean the defaults.
type Options struct {
	Log         *slog.Logger
	Tick        time.Duration `setting:"tick" usage:"maximum age of cached data of a host, as a 'duration'; clusters share the cache"`
	Settle      time.Duration `setting:"settle" usage:"maximum 'duration' until a change of a host is visible"`
	AgentSocket string        `setting:"agent-socket" usage:"socket of the SSH agent for pools with agent: true (default $SSH_AUTH_SOCK)"` // empty: there is none
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
	dialer := remote.NewDialer(o.AgentSocket)
	c := connections{dialer}
	return &Provider{
		reader: &reader{
			log: o.Log, tick: o.Tick, settle: o.Settle, cache: &lookCache{looks: make(map[string]*cachedLook)}, hosts: c,
			secrets: objects.Secrets{Store: o.Secret, Example: "ssh-privatekey=FILE"},
		},
		dialer: dialer, writes: c,
	}
}

// Abilities tells what it can do beyond the contract.
func (p *Provider) Abilities() providers.Abilities {
	return providers.Abilities{OrphanRemover: p, NodeIdentifier: p, VirtualIPs: p, Checker: p, EndpointKeeper: p, Closer: p}
}

// Close closes the connections to hosts.
func (p *Provider) Close() { p.dialer.Close() }

// Settle implements providers.Infrastructure.
func (p *Provider) Settle() time.Duration { return p.settle }

// NodeID implements providers.NodeIdentifier.
func (p *Provider) NodeID() string { return userdata.NodeID }

// VirtualIP implements providers.VirtualIPs.
func (p *Provider) VirtualIP(c *fleet.Cluster) (*endpoint.VirtualIP, error) {
	spec, err := api.ReadCluster(c.Infrastructure)
	if err != nil {
		return nil, err
	}
	return spec.VirtualIP, nil
}

// wrap says what could not be done, for an error that has a kind or none.
func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return &fleet.Error{Kind: fleet.KindOf(err), Op: op, Err: err}
}

// EnsureInfrastructure implements providers.Infrastructure: it starts machines whose
// start was interrupted, brings the notes on the hosts in line with what is there, and
// has the load balancer run, if the cluster has one.
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
	started := p.startWaiting(ctx, r.machines(c))
	if err := p.note(ctx, op, c, r, b.trusted(r.missingNotes(c))); err != nil {
		return wrap(what, fleet.JoinErrors(err, started))
	}
	return wrap(what, fleet.JoinErrors(p.ensureBalancer(ctx, op, c, b), started))
}

// startWaiting starts the machines of list that wait for it.
func (p *Provider) startWaiting(ctx context.Context, list []hostMachine) error {
	var work roster
	ids := make(map[*observedHost]string)
	for i := range list {
		if f := &list[i]; p.waits(f, time.Now()) {
			s := &observedHost{host: f.host, state: f.state}
			work, ids[s] = append(work, s), f.claim.ID
		}
	}
	var mu sync.Mutex
	var errs []error
	forEach(work, func(s *observedHost) {
		if _, err := p.run(ctx, s.host, host.Resume(ids[s])); err != nil {
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, wrap("start the machine on host "+s.host.String(), err))
		}
	})
	return fleet.JoinErrors(errs...)
}

// note brings the notes of c on the hosts in line with what is there: unnoted are the
// machines that too few note.
func (p *Provider) note(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, r roster, unnoted []hostMachine) error {
	stale, shared := r.staleNotes(c, time.Now()), sharedNote(c, op)
	var done, asked atomic.Int32
	var mu sync.Mutex
	var errs []error
	forEach(r.answering(), func(s *observedHost) {
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
		return fleet.JoinErrors(errs...)
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
		return fleet.Errorf(fleet.Conflict, op, "there are still machines, %s is the first", list[0].claim.ProviderID())
	}
	if gone, err := p.deleteBalancer(ctx, b); err != nil || !gone {
		return wrap(op, err)
	}
	var mu sync.Mutex
	var errs []error
	forEach(r.answering(), func(s *observedHost) {
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
	return wrap(op, fleet.JoinErrors(errs...))
}

// run runs a script that changes a host; what was seen of it is outdated then.
func (p *Provider) run(ctx context.Context, h *machineHost, script host.Change) ([]byte, error) {
	e, err := p.endpoint(ctx, h)
	if err != nil {
		return nil, err
	}
	k := p.cache.of(e)
	select {
	case <-k.busy:
		defer func() { k.busy <- struct{}{} }()
	case <-ctx.Done():
		return nil, fleet.Errorf(fleet.Unavailable, "reach host "+h.String(), "%w", context.Cause(ctx))
	}
	k.at = time.Time{}
	ctx, cancel := context.WithTimeoutCause(ctx, commandTimeout, fmt.Errorf("no answer within %s", commandTimeout))
	defer cancel()
	return p.writes.change(ctx, e, script)
}
