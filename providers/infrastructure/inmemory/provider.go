package inmemory

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/driver/endpoint"
)

// A Provider is the infrastructure provider of a cloud in memory.
type Provider struct {
	api    API
	settle time.Duration
	ledger addresses.Ledger
}

var _ providers.Infrastructure = (*Provider)(nil)

// NewProvider returns the provider of a cloud that shows every change after
// settle at the latest.
func NewProvider(api API, settle time.Duration) *Provider {
	return &Provider{api: api, settle: settle}
}

// API returns the cloud: a *Cloud where it is in this process.
func (p *Provider) API() API { return p.api }

// Abilities tells what it can do beyond the contract.
func (p *Provider) Abilities() providers.Abilities {
	out := providers.Abilities{Watcher: p, Lister: p, OrphanRemover: p, Adopter: p, Charts: p, VirtualIPs: p, Closer: p}
	if _, ok := p.api.(Control); ok {
		out.Rebooter = p
	}
	if _, ok := p.api.(Pools); ok {
		out.PoolKeeper = p
	}
	return out
}

// VirtualIP implements providers.VirtualIPs.
func (p *Provider) VirtualIP(c *fleet.Cluster) (*endpoint.VirtualIP, error) {
	var spec DevClusterSpec
	if len(c.Infrastructure.Spec) == 0 { // of a cluster that was decoded from no manifest
		return nil, nil //nolint:nilnil // the contract: something else serves it
	}
	if err := json.Unmarshal(c.Infrastructure.Spec, &spec); err != nil {
		return nil, fleet.Errorf(fleet.Invalid, "read DevCluster "+c.Infrastructure.Name, "%w", err)
	}
	if spec.Backend.InMemory == nil {
		return nil, nil //nolint:nilnil // the contract: something else serves it
	}
	return spec.Backend.InMemory.VirtualIP, nil
}

// Close closes the cloud where it is in this process, and the connections to it
// where it is not.
func (p *Provider) Close() {
	if c, ok := p.api.(interface{ Close() }); ok {
		c.Close()
	}
}

// Settle implements providers.Infrastructure.
func (p *Provider) Settle() time.Duration { return p.settle }

// Observe implements providers.Infrastructure.
func (p *Provider) Observe(ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
	op := "observe " + c.Key.String()
	networks, err := p.networks(ctx, op, c)
	if err != nil {
		return fleet.Infrastructure{}, err
	}
	vms, err := p.vms(ctx, op, c, "")
	if err != nil {
		return fleet.Infrastructure{}, err
	}
	id, err := p.api.Identify(ctx)
	if err != nil {
		return fleet.Infrastructure{}, wrap(op, err)
	}
	var out fleet.Infrastructure
	if id != "" {
		used := len(networks) > 0 || slices.ContainsFunc(vms, VM.owned)
		out.Places = []fleet.PlaceSeen{{Place: fleet.Place{ID: "in-memory cloud " + id}, Used: used, Named: true}}
	}
	if len(networks) > 0 {
		out.Exists, out.Ready, out.Endpoint = true, true, networks[0].Endpoint
		for _, n := range networks[1:] {
			out.Drift = append(out.Drift, "load balancer "+n.ID+" is one too many")
		}
		slices.Sort(out.Drift)
	}
	out.Pools = seenPools(c, networks)
	for _, v := range vms {
		m := fleet.MachineFromTags(v.Tags)
		if v.Refused != "" {
			out.Failures = append(out.Failures, fleet.Failure{Machine: m.Name, Operation: m.Operation, At: v.Created, Message: v.Refused})
			continue
		}
		m.ProviderID, m.FailureDomain = v.Provider, v.FailureDomain
		m.State, m.Message, m.Silent = v.State, v.Message, v.Silent
		m.Created, m.Addresses = v.Created, v.Addresses
		m.Power = powerOf(v)
		out.Machines = append(out.Machines, m)
	}
	driver.SortMachines(out.Machines)
	slices.SortFunc(out.Failures, func(a, b fleet.Failure) int { return strings.Compare(string(a.Machine), string(b.Machine)) })
	return out, nil
}

// networks lists those of c, the oldest first: it is the one in use.
func (p *Provider) networks(ctx context.Context, op string, c *fleet.Cluster) ([]Network, error) {
	list, err := p.api.Networks(ctx, c.Tags())
	if err != nil {
		return nil, wrap(op, err)
	}
	return list, nil
}

// EnsureInfrastructure implements providers.Infrastructure. Where a call that
// was repeated too early made a second load balancer, the younger one goes.
func (p *Provider) EnsureInfrastructure(ctx context.Context, op fleet.OperationID, c *fleet.Cluster) error {
	what := "create infrastructure of " + c.Key.String()
	networks, err := p.networks(ctx, what, c)
	if err != nil {
		return err
	}
	if len(networks) > 0 {
		for _, n := range networks[1:] {
			if err := p.api.DeleteNetwork(ctx, n.ID); err != nil && fleet.KindOf(err) != fleet.NotFound {
				return wrap(what, err)
			}
		}
		return nil
	}
	tags := c.Tags()
	tags[fleet.TagOperation] = string(op)
	virtual, err := p.VirtualIP(c)
	if err != nil {
		return err
	}
	s := NetworkSpec{Name: c.Key.String(), Tags: tags, Endpoint: endpoint.Wanted(c), VirtualIP: virtual != nil}
	if c.ServedElsewhere() {
		s.Endpoint, s.VirtualIP, s.Elsewhere = c.Endpoint, false, true
	}
	_, err = p.api.CreateNetwork(ctx, s)
	return wrap(what, err)
}

// DeleteInfrastructure implements providers.Infrastructure.
func (p *Provider) DeleteInfrastructure(ctx context.Context, _ fleet.OperationID, c *fleet.Cluster) error {
	op := "delete infrastructure of " + c.Key.String()
	vms, err := p.machines(ctx, op, c, "")
	if err != nil {
		return err
	}
	if len(vms) > 0 {
		return fleet.Errorf(fleet.Conflict, op, "there are still machines, %s is the first", vms[0].Name)
	}
	networks, err := p.networks(ctx, op, c)
	if err != nil {
		return err
	}
	if pools := poolsIn(networks); len(pools) > 0 {
		return fleet.Errorf(fleet.Conflict, op, "there are still pools, %s is the first", pools[0].Name)
	}
	for _, n := range networks {
		if err := p.api.DeleteNetwork(ctx, n.ID); err != nil && fleet.KindOf(err) != fleet.NotFound {
			return wrap(op, err)
		}
	}
	return nil
}

// Watch implements providers.Watcher. It tells of clusters of every fleet.
func (p *Provider) Watch(ctx context.Context, changed func(fleet.Key)) error {
	return p.api.Watch(ctx, func(o Owner) {
		if k, err := fleet.ParseKey(o.Cluster); err == nil {
			changed(k)
		}
	})
}

// Clusters implements providers.Lister.
func (p *Provider) Clusters(ctx context.Context, id fleet.ID) ([]fleet.Key, error) {
	const op = "list clusters"
	tags := map[string]string{fleet.TagFleet: string(id)}
	networks, err := p.api.Networks(ctx, tags)
	if err != nil {
		return nil, wrap(op, err)
	}
	vms, err := p.api.VMs(ctx, tags)
	if err != nil {
		return nil, wrap(op, err)
	}
	var out []fleet.Key
	add := func(tags map[string]string) {
		if k, err := fleet.ParseKey(tags[fleet.TagCluster]); err == nil {
			out = append(out, k)
		}
	}
	for _, n := range networks {
		add(n.Tags)
	}
	for _, v := range vms {
		if v.owned() {
			add(v.Tags)
		}
	}
	slices.SortFunc(out, fleet.Key.Compare)
	return slices.Compact(out), nil
}

// wrap says what could not be done for the cloud's own words.
func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	cause := err
	if e, ok := errors.AsType[*fleet.Error](err); ok {
		cause = e.Err
	}
	return &fleet.Error{Kind: fleet.KindOf(err), Op: op, Err: cause}
}
