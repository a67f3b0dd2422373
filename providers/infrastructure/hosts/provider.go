package hosts

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/cloudconfig/userdata"
	"fairlead.dev/providers/driver/endpoint"
	"fairlead.dev/providers/driver/objects"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/hosts/api"
	"fairlead.dev/providers/infrastructure/hosts/host"
	"fairlead.dev/providers/infrastructure/hosts/remote"
)

// A Provider is the infrastructure provider of machines that exist.
type Provider struct {
	*driver.Machines[roster, *hostMachine]
	*reader
	dialer *remote.Dialer
	writes changer

	deciding driver.Locks[string] // hosts being claimed, in this process
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
	p := &Provider{
		reader: &reader{
			log: o.Log, tick: o.Tick, settle: o.Settle, cache: &lookCache{looks: make(map[string]*cachedLook)}, hosts: c,
			secrets: objects.Secrets{Store: o.Secret, Example: "ssh-privatekey=FILE"},
		},
		dialer: dialer, writes: c,
	}
	p.Machines = driver.New(machines{p})
	return p
}

// machines are those of a provider, for package driver.
type machines struct{ *Provider }

var _ driver.Driver[roster, *hostMachine] = machines{}

// Look implements driver.Driver.
func (p machines) Look(ctx context.Context, c *fleet.Cluster, _ snapshot.Owner) (roster, error) {
	return p.look(ctx, c)
}

// Seen implements driver.Driver.
func (p machines) Seen(c *fleet.Cluster, all roster) []driver.Seen[*hostMachine] {
	var out []driver.Seen[*hostMachine]
	for _, f := range all.machines(c) {
		m := f.machine()
		m.Name = fleet.MachineName(f.claim.Tags[fleet.TagMachine]) // whether it is one or not
		out = append(out, driver.Seen[*hostMachine]{Machine: m, Where: "host " + f.claim.Host, Thing: &f})
	}
	return out
}

// Exists implements driver.Driver.
func (p machines) Exists(c *fleet.Cluster, all roster) bool { return len(all.shared(c)) > 0 }

// Wrap implements driver.Driver.
func (p machines) Wrap(what string, err error) error { return wrap(what, err) }

// Abilities returns the abilities beyond the contract.
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
func (p *Provider) VirtualIP(c *fleet.Cluster) (*endpoint.VirtualIP, error) { return virtualIP(c) }

// virtualIP returns how servers of c serve its endpoint, as the manifests say it.
func virtualIP(c *fleet.Cluster) (*endpoint.VirtualIP, error) {
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
	waiting := slices.DeleteFunc(list, func(f hostMachine) bool { return !p.waits(&f, time.Now()) })
	return fleet.JoinErrors(steps.Each(waiting, parallel, func(f hostMachine) error {
		_, err := p.run(ctx, f.host, host.Resume(f.claim.ID))
		return wrap("start the machine on host "+f.host.String(), err)
	})...)
}

// note brings the notes of c on the hosts in line with what is there: unnoted are the
// machines that too few note.
func (p *Provider) note(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, r roster, unnoted []hostMachine) error {
	stale, shared := r.staleNotes(c, time.Now()), sharedNote(c, op)
	asked := r.answering()
	errs := steps.Each(asked, parallel, func(s *observedHost) error {
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
		if len(put)+len(drop) == 0 {
			return nil
		}
		_, err := p.run(ctx, s.host, host.Note(put, drop))
		return err
	})
	if done := len(asked) - len(errs); 2*done < len(asked) || done == 0 {
		return fleet.JoinErrors(errs...)
	}
	return nil
}

// RemoveShared implements driver.Driver. The load balancer goes before the notes do, which tell that
// there still is something.
func (p machines) RemoveShared(ctx context.Context, _ string, c *fleet.Cluster, r roster) error {
	spec, err := api.ReadCluster(c.Infrastructure)
	if err != nil {
		return err
	}
	b, err := r.balancer(c, spec)
	if err != nil {
		return err
	}
	if gone, err := p.deleteBalancer(ctx, b); err != nil || !gone {
		return err
	}
	errs := steps.Each(r.answering(), parallel, func(s *observedHost) error {
		var drop []string
		for _, n := range s.state.Notes {
			if c.Owns(n.Tags) {
				drop = append(drop, n.NoteName())
			}
		}
		if len(drop) == 0 {
			return nil
		}
		_, err := p.run(ctx, s.host, host.Note(nil, drop))
		return err
	})
	return fleet.JoinErrors(errs...)
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
