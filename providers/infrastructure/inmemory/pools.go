package inmemory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fleet"
)

// Pools is the part of a cloud that keeps pools: it creates, joins, replaces and deletes their machines by
// itself. A *Cloud and a *Client have it. Networks shows the pools of a network, and VMs none of their
// machines.
type Pools interface {
	// CreatePool has the cloud keep a pool of a network. A second one of the name gives the kind Conflict.
	CreatePool(ctx context.Context, s PoolSpec) (Pool, error)
	// UpdatePool changes it. One that is not Active or Failed, another instance type and an older version
	// give the kind Conflict, and nothing there the kind NotFound.
	UpdatePool(ctx context.Context, s PoolUpdate) (Pool, error)
	// DeletePool deletes it with its machines. Nothing there gives the kind NotFound.
	DeletePool(ctx context.Context, id string) error
	// ScalePool is what the cloud's autoscaler does, between the bounds: the other side of a cloud, as
	// Control.
	ScalePool(ctx context.Context, id string, count int) error
}

// A PoolSpec is a pool to keep.
type PoolSpec struct {
	Name    string            `json:"name"`
	Network string            `json:"network"` // id
	Tags    map[string]string `json:"tags,omitempty"`
	PoolSettings
}

// A PoolUpdate changes a pool to settings, with tags in place of those that it has.
type PoolUpdate struct {
	ID   string            `json:"id"`
	Tags map[string]string `json:"tags,omitempty"`
	PoolSettings
}

// PoolSettings are what people ask of a pool.
type PoolSettings struct {
	Count        int               `json:"count"`
	Range        *fleet.PoolRange  `json:"range,omitempty"` // the cloud's autoscaler decides the number
	Version      string            `json:"version"`         // of Kubernetes
	Zones        []string          `json:"zones,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"` // of Nodes
	Taints       []corev1.Taint    `json:"taints,omitempty"` // of Nodes
	InstanceType string            `json:"instanceType,omitempty"`
	VM           *Component        `json:"vm,omitempty"`
	Node         *Component        `json:"node,omitempty"`
}

// A Pool is a pool that the cloud keeps.
type Pool struct {
	ID   string            `json:"id"`
	Name string            `json:"name"`
	Tags map[string]string `json:"tags,omitempty"`
	PoolSettings
	State    fleet.KeptState    `json:"state"`
	Message  string             `json:"message,omitempty"`
	Machines []fleet.ProviderID `json:"machines,omitempty"` // sorted
	Created  time.Time          `json:"created"`
}

// keptPool is a Pool with its machines.
type keptPool struct {
	Pool
	network *network
	vms     []*vm // oldest first
	made    int   // machines, so far
}

// shown returns the pool as listings have it.
func (p *keptPool) shown() Pool {
	out := p.Pool
	out.Machines = nil
	for _, v := range p.vms {
		out.Machines = append(out.Machines, v.Provider)
	}
	slices.Sort(out.Machines)
	return out
}

// poolsOf returns the pools of a network that listings show, by name.
func (c *Cloud) poolsOf(n *network) []Pool {
	var out []Pool
	for _, p := range c.pools {
		if p.network == n && time.Since(p.Created) >= c.faults.Lag {
			out = append(out, p.shown())
		}
	}
	slices.SortFunc(out, func(a, b Pool) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return out
}

// CreatePool implements Pools.
func (c *Cloud) CreatePool(ctx context.Context, s PoolSpec) (Pool, error) {
	op := "create pool " + s.Name
	var out Pool
	err := c.change(ctx, op, func() error {
		n, ok := c.networks[s.Network]
		if !ok || !n.deleted.IsZero() {
			return fleet.Errorf(fleet.Conflict, op, "400 Bad Request: no network %s", s.Network)
		}
		for _, p := range c.pools {
			if p.network == n && p.Name == s.Name {
				return fleet.Errorf(fleet.Conflict, op, "409 Conflict: there is a pool %s", s.Name)
			}
		}
		p := &keptPool{network: n, Pool: Pool{
			ID: c.newID(), Name: s.Name, Tags: maps.Clone(s.Tags), PoolSettings: s.PoolSettings, State: fleet.KeptCreating, Created: time.Now(),
		}}
		c.pools[p.ID] = p
		if matches(c.faults.FailCreate, p.Name) {
			p.State, p.Message = fleet.KeptFailed, "The pool could not be created: the role of its machines has too few rights."
		}
		c.showed(ownerOf(p.Tags))
		c.work(p)
		out = p.shown()
		return nil
	})
	return out, err
}

// UpdatePool implements Pools.
func (c *Cloud) UpdatePool(ctx context.Context, s PoolUpdate) (Pool, error) {
	op := "change pool " + s.ID
	var out Pool
	err := c.change(ctx, op, func() error {
		p, ok := c.pools[s.ID]
		switch {
		case !ok || p.State == fleet.KeptDeleting:
			return &fleet.Error{Kind: fleet.NotFound, Op: op, Err: errNoSuch}
		case p.State != fleet.KeptActive && p.State != fleet.KeptFailed:
			return fleet.Errorf(fleet.Conflict, op, "409 Conflict: the pool is %s", p.State)
		case s.InstanceType != p.InstanceType, !slices.Equal(s.Zones, p.Zones):
			return fleet.Errorf(fleet.Conflict, op, "409 Conflict: instance type and zones of a pool do not change")
		case older(s.Version, p.Version):
			return fleet.Errorf(fleet.Conflict, op, "409 Conflict: a pool does not go back from %s to %s", p.Version, s.Version)
		case s.Range != nil && (s.Count < s.Range.Min || s.Count > s.Range.Max):
			return fleet.Errorf(fleet.Conflict, op, "409 Conflict: %d machines are not in %s", s.Count, s.Range)
		}
		p.PoolSettings, p.Tags = s.PoolSettings, maps.Clone(s.Tags)
		p.State, p.Message = fleet.KeptUpdating, ""
		c.setNodes(p)
		c.work(p)
		out = p.shown()
		return nil
	})
	return out, err
}

// DeletePool implements Pools.
func (c *Cloud) DeletePool(ctx context.Context, id string) error {
	op := "delete pool " + id
	return c.change(ctx, op, func() error {
		p, ok := c.pools[id]
		if !ok || p.State == fleet.KeptDeleting {
			return &fleet.Error{Kind: fleet.NotFound, Op: op, Err: errNoSuch}
		}
		p.State, p.Message = fleet.KeptDeleting, ""
		c.changed(ownerOf(p.Tags))
		c.after(c.faults.Lag+c.faults.SlowDelete, func() {
			for len(p.vms) > 0 {
				c.dropInstance(p, p.vms[0])
			}
			delete(c.pools, p.ID)
			c.changed(ownerOf(p.Tags))
		})
		return nil
	})
}

// ScalePool implements Pools.
func (c *Cloud) ScalePool(_ context.Context, id string, count int) error {
	op := "scale pool " + id
	c.lock()
	defer c.unlock()
	p, ok := c.pools[id]
	switch {
	case !ok:
		return &fleet.Error{Kind: fleet.NotFound, Op: op, Err: errNoSuch}
	case p.Range == nil || count != p.Range.Bound(count):
		return fleet.Errorf(fleet.Conflict, op, "409 Conflict: the pool has no range with %d", count)
	}
	p.Count = count
	if p.State == fleet.KeptActive {
		p.State = fleet.KeptUpdating
	}
	c.work(p)
	return nil
}

// work brings the machines of p one step nearer to what is asked for, and goes on until they are: as many
// as the pool has, of its version, each with a Node that is ready. One of another version goes when the
// one in its place is ready.
func (c *Cloud) work(p *keptPool) {
	if c.pools[p.ID] != p || p.State != fleet.KeptCreating && p.State != fleet.KeptUpdating {
		return
	}
	defer c.changed(ownerOf(p.Tags))
	fresh, ready := 0, 0
	var old *vm
	for _, v := range p.vms {
		switch {
		case v.State == fleet.MachineFailed:
			p.State, p.Message = fleet.KeptFailed, "NodeCreationFailure: instances failed to join the cluster: "+v.Message
			return
		case v.version != p.Version && old == nil:
			old = v
		case v.version == p.Version:
			fresh++
			if v.nodeReady {
				ready++
			}
		}
	}
	const surge = 1
	switch most := p.Count + surge; {
	case len(p.vms) > p.Count && old != nil && ready == fresh:
		c.dropInstance(p, old)
	case len(p.vms) > p.Count && old == nil:
		c.dropInstance(p, p.vms[0])
	case fresh < p.Count && len(p.vms) < p.Count, old != nil && ready == fresh && len(p.vms) < most:
		if err := c.quotaExceeded("create pool " + p.Name); err != nil {
			p.State, p.Message = fleet.KeptFailed, err.Error()
			return
		}
		c.addInstance(p)
	case old == nil && ready == p.Count:
		p.State = fleet.KeptActive
		return
	default: // it waits for a machine
		c.after(poolInterval, func() { c.work(p) })
		return
	}
	c.work(p)
}

// poolInterval is the time between two looks of the cloud at a pool that changes.
const poolInterval = time.Second

// addInstance adds a machine to p.
func (c *Cloud) addInstance(p *keptPool) {
	p.made++
	id, zone := c.newID(), ""
	if len(p.Zones) > 0 {
		zone = p.Zones[p.made%len(p.Zones)]
	}
	v := &vm{
		VM: VM{
			ID: id, Name: fmt.Sprintf("%s-%d", p.Name, p.made), Network: p.network.ID, FailureDomain: zone,
			State: fleet.MachinePending, Created: time.Now(), Provider: fleet.ProviderID("inmemory://" + c.id + "/" + id),
		},
		version: p.Version, control: p.Version, timing: DevMachineInMemory{VM: p.VM, Node: p.Node}, network: p.network,
	}
	v.boot = &poolBoot{pool: p, name: v.Name, labels: maps.Clone(p.Labels), taints: slices.Clone(p.Taints)}
	c.vms[v.ID] = v
	p.vms = append(p.vms, v)
	c.after(v.takes("vm", v.timing.VM), func() { c.powerOn(v) })
}

// dropInstance deletes a machine of p, and its Node.
func (c *Cloud) dropInstance(p *keptPool, v *vm) {
	v.deleted = time.Now()
	c.powerChanged(v)
	if k := p.network.cluster; k != nil && v.node != "" && k.nodes[v.node] == v {
		k.api.Delete(nodeKind, "", v.node)
		delete(k.nodes, v.node)
	}
	delete(c.vms, v.ID)
	p.vms = slices.DeleteFunc(p.vms, func(o *vm) bool { return o == v })
}

// setNodes gives the Nodes of p the labels and taints that it has now, as clouds do.
func (c *Cloud) setNodes(p *keptPool) {
	k := p.network.cluster
	if k == nil {
		return
	}
	for _, v := range p.vms {
		b, ok := v.boot.(*poolBoot)
		if !ok || v.node == "" {
			continue
		}
		if err := modify(k, nodeKind, "", v.node, func(n *corev1.Node) {
			for key := range b.labels {
				delete(n.Labels, key)
			}
			if n.Labels == nil {
				n.Labels = make(map[string]string)
			}
			maps.Copy(n.Labels, p.Labels)
			n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool {
				return slices.ContainsFunc(b.taints, func(o corev1.Taint) bool { return o.MatchTaint(&t) })
			})
			n.Spec.Taints = append(n.Spec.Taints, p.Taints...)
		}); err != nil {
			c.log.Error("labelling a node failed", "node", v.node, "error", err)
		}
		b.labels, b.taints = maps.Clone(p.Labels), slices.Clone(p.Taints)
	}
}

// A poolBoot is the boot of a machine that the cloud keeps: the cloud joins it, without user data.
type poolBoot struct {
	noBoot
	pool   *keptPool
	name   string
	labels map[string]string
	taints []corev1.Taint
}

var _ boot = (*poolBoot)(nil)

// run implements boot.
func (b *poolBoot) run(c *Cloud, v *vm) {
	if v.node != "" {
		c.kubeletUp(v)
		return
	}
	b.join(c, v)
}

// join has the cloud join the machine, as soon as there is a cluster that answers.
func (b *poolBoot) join(c *Cloud, v *vm) {
	k := v.network.cluster
	if k == nil || !k.available {
		c.whileOn(v, discoveryInterval, func(v *vm) { b.join(c, v) })
		return
	}
	v.kubelet = k.newKubelet(k.pki.ca.cert)
	if err := register(k, v); err != nil {
		c.console(v, err.Error())
		c.whileOn(v, discoveryInterval, func(v *vm) { b.join(c, v) })
		return
	}
	c.kubeletUp(v)
}

// registration implements boot.
func (b *poolBoot) registration() registration {
	return registration{name: b.name, labels: b.labels, taints: b.taints}
}

var _ Pools = (*Cloud)(nil)
