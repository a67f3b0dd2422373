package decode

import (
	"fmt"
	"maps"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/render/topology"
)

// topology returns how c, the cluster of root, is upgraded; nil for a cluster without a class.
func (b *builder) topology(root *object, c *fleet.Cluster) *fleet.Topology {
	e := root.expansion
	if e == nil {
		return nil
	}
	t := &fleet.Topology{Class: root.classRef, Listed: e.Upgrade.Listed, Concurrency: e.Upgrade.Concurrency}
	if c.Hosted != nil {
		t.Version = e.Version
	}
	for _, name := range e.Upgrade.Order {
		t.Order = append(t.Order, fleet.PoolName(name))
		if why, ok := e.Upgrade.Deferred[name]; ok {
			if t.Deferred == nil {
				t.Deferred = make(map[fleet.PoolName]string)
			}
			t.Deferred[fleet.PoolName(name)] = why
		}
	}
	if b.broken(root) {
		return t // older versions have the same problems
	}
	for _, v := range e.Older {
		t.Older = append(t.Older, b.older(c, v))
	}
	return t
}

// broken reports whether the cluster of root has problems.
func (b *builder) broken(root *object) bool {
	return len(b.problems) > 0 || slices.ContainsFunc(b.set.objects, func(o *object) bool {
		return len(o.problems) > 0 && (o == root || slices.Contains(b.set.members[o], b.key))
	})
}

// older returns the pools of c that the class makes at an older version. They are decoded like
// the cluster's own.
func (b *builder) older(c *fleet.Cluster, v topology.Older) fleet.ClassVersion {
	set := *b.set
	set.byName = maps.Clone(b.set.byName)
	at := &builder{decoder: b.decoder, set: &set, fleet: b.fleet, key: b.key, controlPlaneKind: b.controlPlaneKind}
	var made []*object
	for _, e := range v.Objects {
		o := &object{overlay: set.path, file: e.File, origin: e, raw: e.Raw}
		b.decoder.identify(o)
		b.decoder.decode(o, marshal(o.raw))
		o.problems = append(o.problems, o.invalid...)
		at.problems = append(at.problems, o.problems...)
		set.byName[nameKey(o.groupKind(), o.namespace, o.name)] = o
		made = append(made, o)
	}
	out := fleet.ClassVersion{Version: v.Version, Pools: make(map[fleet.PoolName]fleet.Blueprint)}
	then := *c
	then.Workers, then.KeptPools = nil, nil
	for _, o := range made {
		switch in := o.value.(type) {
		case *clusterv1.Cluster:
			if then.Hosted = at.hosted(o, &then); then.Hosted != nil {
				out.Hosted = then.Hosted
				continue
			}
			p := at.controlPlane(o, in.Spec.ControlPlaneRef)
			then.ControlPlane = p
			out.Pools[p.Name] = p.Blueprint()
		case *clusterv1.MachineDeployment:
			p := at.deploymentPool(o, in, in.Spec.Template.Spec.Version)
			then.Workers = append(then.Workers, p)
			out.Pools[p.Name] = p.Blueprint()
		case *machinePool:
			at.machinePool(o, in, &then)
			if p, own := then.Pool(fleet.PoolName(o.name)); own {
				out.Pools[p.Name] = p.Blueprint()
			}
		}
	}
	if len(at.problems) == 0 {
		at.checkDrafts(&then, false)
	}
	for _, p := range at.problems {
		p.Cluster, p.Message = b.key, fmt.Sprintf("at version %s: %s", v.Version, p.Message)
		b.problems = append(b.problems, p)
	}
	return out
}

// anonymous returns a copy of t. hide removes from each object what differs between
// clusters.
func anonymous(t *fleet.Topology, hide func(*fleet.Object)) *fleet.Topology {
	if t == nil {
		return nil
	}
	out := *t
	out.Older = slices.Clone(t.Older)
	for i := range out.Older {
		pools := make(map[fleet.PoolName]fleet.Blueprint, len(out.Older[i].Pools))
		for name, b := range out.Older[i].Pools {
			hide(&b.Infrastructure)
			b.Template, b.Former = firstSchemaHash(b.Template, b.Former), nil
			pools[name] = b
		}
		out.Older[i].Pools = pools
		if h := out.Older[i].Hosted; h != nil {
			plane := *h
			hide(&plane.Object)
			out.Older[i].Hosted = &plane
		}
	}
	return &out
}
