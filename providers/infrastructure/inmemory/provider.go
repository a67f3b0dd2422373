package inmemory

import (
	"cmp"
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
	"fairlead.dev/providers/driver/snapshot"
)

// A Provider is the infrastructure provider of a cloud in memory.
type Provider struct {
	*driver.Machines[observation, VM]

	api    API
	settle time.Duration
	ledger addresses.Ledger
}

var _ providers.Infrastructure = (*Provider)(nil)

// NewProvider returns the provider of a cloud that shows every change after
// settle at the latest.
func NewProvider(api API, settle time.Duration) *Provider {
	p := &Provider{api: api, settle: settle}
	p.Machines = driver.New(machines{p})
	return p
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
func (p *Provider) VirtualIP(c *fleet.Cluster) (*endpoint.VirtualIP, error) { return virtualIP(c) }

// virtualIP returns how servers of c serve its endpoint, as the manifests say it.
func virtualIP(c *fleet.Cluster) (*endpoint.VirtualIP, error) {
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
	got, err := p.list(ctx, c.Tags(), c.Tags())
	if err != nil {
		return fleet.Infrastructure{}, wrap(op, err)
	}
	networks, vms := got.networks, got.vms
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
		if err := keepsEndpoint(c, &networks[0]); err != nil {
			out.Drift = append(out.Drift, err.Error())
		}
		slices.Sort(out.Drift)
	}
	out.Pools = seenPools(c, networks)
	for _, v := range vms {
		m := v.machine()
		if v.Refused != "" {
			out.Failures = append(out.Failures, fleet.Failure{Machine: m.Name, Operation: m.Operation, At: v.Created, Message: v.Refused})
			continue
		}
		out.Machines = append(out.Machines, m)
	}
	driver.SortMachines(out.Machines)
	slices.SortFunc(out.Failures, func(a, b fleet.Failure) int { return strings.Compare(string(a.Machine), string(b.Machine)) })
	return out, nil
}

// An observation is what the cloud has of a cluster, or of several: networks, the oldest first, and
// machines, with those that are released and those that never were.
type observation struct {
	networks []Network
	vms      []VM
}

// list returns the networks with the tags shared, and the machines with the tags of.
func (p *Provider) list(ctx context.Context, shared, of map[string]string) (observation, error) {
	networks, err := p.api.Networks(ctx, shared)
	if err != nil {
		return observation{}, err
	}
	vms, err := p.api.VMs(ctx, of)
	return observation{networks, vms}, err
}

// keepsEndpoint returns why Git is not followed where it names another endpoint than the load balancer of c has.
// Machines know that one.
func keepsEndpoint(c *fleet.Cluster, n *Network) error {
	has, want := n.Endpoint, endpoint.Wanted(c)
	want.Host, want.Port = cmp.Or(want.Host, has.Host), cmp.Or(want.Port, has.Port)
	if c.ServedElsewhere() || want == has {
		return nil
	}
	return fleet.Errorf(fleet.Invalid, "change the endpoint", "load balancer %s is at %s, Git says %s (put it back, or make a new cluster)",
		n.ID, address(has.Host, has.Port), address(want.Host, want.Port))
}

// EnsureInfrastructure implements providers.Infrastructure. Where a call that
// was repeated too early made a second load balancer, the younger one goes.
func (p *Provider) EnsureInfrastructure(ctx context.Context, op fleet.OperationID, c *fleet.Cluster) error {
	what := "create infrastructure of " + c.Key.String()
	networks, err := p.api.Networks(ctx, c.Tags())
	if err != nil {
		return wrap(what, err)
	}
	if len(networks) > 0 {
		return wrap(what, fleet.JoinErrors(p.deleteNetworks(ctx, networks[1:]), keepsEndpoint(c, &networks[0])))
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
	out, failed := driver.Clusters(id, []API{p.api}, func(API) (all []snapshot.Owner, err error) {
		tags := map[string]string{fleet.TagFleet: string(id)}
		got, err := p.list(ctx, tags, tags)
		add := func(tags map[string]string) {
			if o, ok := driver.OwnerOf(tags); ok {
				all = append(all, o)
			}
		}
		for _, n := range got.networks {
			add(n.Tags)
		}
		for _, v := range got.vms {
			if v.owned() {
				add(v.Tags)
			}
		}
		return all, err
	}, nil)
	return out, wrap("list clusters", fleet.JoinErrors(failed...))
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
