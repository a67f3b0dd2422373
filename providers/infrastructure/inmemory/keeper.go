package inmemory

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

var _ providers.PoolKeeper = (*Provider)(nil)

// poolsIn returns the pools of networks, by name.
func poolsIn(networks []Network) []Pool {
	var out []Pool
	for _, n := range networks {
		out = append(out, n.Pools...)
	}
	slices.SortStableFunc(out, func(a, b Pool) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// seenPools returns the pools of c in networks.
func seenPools(c *fleet.Cluster, networks []Network) []fleet.KeptPoolSeen {
	var out []fleet.KeptPoolSeen
	for _, p := range poolsIn(networks) {
		s := fleet.KeptPoolSeen{
			Name: fleet.PoolName(p.Name), State: p.State, Message: p.Message, Count: p.Count, Range: p.Range, Version: p.Version,
			Machines: p.Machines, Created: p.Created,
		}
		if !ownsPool(c, p) {
			s.Damaged = "its tags do not say that it is pool " + p.Name + " of " + c.Key.String()
		}
		if want, ok := c.KeptPool(s.Name); ok {
			if settings, err := settingsOf(want); err == nil { // EnsurePool tells what is wrong with it
				s.Drift, s.Fixed = compare(p.PoolSettings, settings)
			}
		}
		out = append(out, s)
	}
	return out
}

// settingsOf returns what the cloud is asked for of p.
func settingsOf(p fleet.KeptPool) (PoolSettings, error) {
	var spec DevMachinePoolSpec
	if err := json.Unmarshal(p.Infrastructure.Spec, &spec); err != nil {
		return PoolSettings{}, fleet.Errorf(fleet.Invalid, "read "+p.Infrastructure.GVK.Kind+" "+p.Infrastructure.Name, "%w", err)
	}
	out := PoolSettings{Count: p.Count, Range: p.Range, Version: p.Version, Zones: slices.Sorted(slices.Values(p.FailureDomains)), Labels: maps.Clone(p.NodeLabels)}
	for _, t := range p.Taints {
		out.Taints = append(out.Taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect})
	}
	if in := spec.Backend.InMemory; in != nil {
		out.InstanceType, out.VM, out.Node = in.InstanceType, in.VM, in.Node
	}
	return out, nil
}

// compare says in what a pool that is there differs from want beside its number of machines and its
// version: what the cloud can change of it, and what it cannot.
func compare(is, want PoolSettings) (drift, fixed []string) {
	if !maps.Equal(is.Labels, want.Labels) {
		drift = append(drift, "labels of its nodes differ")
	}
	if !slices.Equal(is.Taints, want.Taints) {
		drift = append(drift, "taints of its nodes differ")
	}
	if !same(is.VM, want.VM) || !same(is.Node, want.Node) {
		drift = append(drift, "start-up times of its machines differ")
	}
	other := "; a pool keeps what it has: use a MachinePool and a DevMachinePool with other names, and remove this one"
	if is.InstanceType != want.InstanceType {
		fixed = append(fixed, fmt.Sprintf("instanceType %q → %q%s", is.InstanceType, want.InstanceType, other))
	}
	if !slices.Equal(is.Zones, want.Zones) {
		fixed = append(fixed, fmt.Sprintf("failureDomains %s → %s%s", strings.Join(is.Zones, ", "), strings.Join(want.Zones, ", "), other))
	}
	return drift, fixed
}

// older reports whether version a of Kubernetes is older than b.
func older(a, b string) bool {
	order, _ := fleet.CompareKubernetes(a, b)
	return order < 0
}

func same(a, b *Component) bool {
	if a == nil || a.Provisioning == nil || b == nil || b.Provisioning == nil {
		return (a == nil || a.Provisioning == nil) == (b == nil || b.Provisioning == nil)
	}
	return *a.Provisioning == *b.Provisioning
}

// EnsurePool implements providers.PoolKeeper.
func (p *Provider) EnsurePool(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, pool fleet.KeptPool) error {
	what := fmt.Sprintf("create or change pool %s/%s", c.Key.Namespace, pool.Name)
	want, err := settingsOf(pool)
	if err != nil {
		return err
	}
	networks, err := p.api.Networks(ctx, c.Tags())
	if err != nil {
		return wrap(what, err)
	}
	cloud, ok := p.api.(Pools)
	switch {
	case !ok:
		return fleet.Errorf(fleet.Invalid, what, "this cloud keeps no pools")
	case len(networks) == 0:
		return fleet.Errorf(fleet.Conflict, what, "the infrastructure of the cluster is not there")
	}
	tags := c.PoolTags(pool.Name, op)
	is, ok := find(networks, pool.Name)
	if !ok {
		_, err := cloud.CreatePool(ctx, PoolSpec{Name: string(pool.Name), Network: networks[0].ID, Tags: tags, PoolSettings: want})
		return wrap(what, err)
	}
	if !ownsPool(c, is) {
		return fleet.Errorf(fleet.Conflict, what, "there is a pool of this name without the tags of the cluster")
	}
	want.InstanceType, want.Zones = is.InstanceType, is.Zones // which it keeps
	if want.Range != nil {
		want.Count = want.Range.Bound(is.Count)
	}
	if !older(is.Version, want.Version) { // another build is no other version
		want.Version = is.Version
	}
	if drift, _ := compare(is.PoolSettings, want); len(drift) == 0 && is.Count == want.Count && is.Range.Is(want.Range) && is.Version == want.Version {
		return nil
	}
	_, err = cloud.UpdatePool(ctx, PoolUpdate{ID: is.ID, Tags: tags, PoolSettings: want})
	return wrap(what, err)
}

// DeletePool implements providers.PoolKeeper.
func (p *Provider) DeletePool(ctx context.Context, _ fleet.OperationID, c *fleet.Cluster, name fleet.PoolName) error {
	what := fmt.Sprintf("delete pool %s/%s", c.Key.Namespace, name)
	networks, err := p.api.Networks(ctx, c.Tags())
	if err != nil {
		return wrap(what, err)
	}
	cloud, able := p.api.(Pools)
	is, ok := find(networks, name)
	if !able || !ok || !ownsPool(c, is) {
		return nil
	}
	if err := cloud.DeletePool(ctx, is.ID); err != nil && fleet.KindOf(err) != fleet.NotFound {
		return wrap(what, err)
	}
	return nil
}

func find(networks []Network, name fleet.PoolName) (Pool, bool) {
	for _, pool := range poolsIn(networks) {
		if pool.Name == string(name) {
			return pool, true
		}
	}
	return Pool{}, false
}

func ownsPool(c *fleet.Cluster, p Pool) bool {
	return c.Owns(p.Tags) && p.Tags[fleet.TagPool] == p.Name
}
