package vsphere

import (
	"context"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
	"fairlead.dev/providers/infrastructure/vsphere/vcenter"
)

// Requirements are what machines of a placement need in a vCenter.
type requirements struct {
	ref      vcenter.Ref // of the template
	template machine.Template
	place    machine.Place
	compute  *vcenter.Entity // the cluster, or the host without one, that they run on

	all      *vcenter.Inventory
	dc, pool *vcenter.Entity
	hosts    string        // the group of hosts of compute that machines run on; empty: any
	reached  []vcenter.Ref // datastores that these hosts reach
	stores   []vcenter.Ref // those of the template among them
	networks []vcenter.Ref
}

// find finds what machines at p need, except storage. If something is missing or cannot be used,
// the error says what exists.
func find(ctx context.Context, c *vcenter.Client, p placement) (*requirements, error) {
	all, err := c.Inventory(ctx)
	if err != nil {
		return nil, err
	}
	dc, err := all.Datacenter(p.Datacenter)
	if err != nil {
		return nil, err
	}
	folder, err := all.Folder(dc, p.Folder)
	if err != nil {
		return nil, err
	}
	pool, err := findPool(all, dc, p)
	if err != nil {
		return nil, err
	}
	t, err := findTemplate(ctx, c, dc, p.Template)
	if err != nil {
		return nil, err
	}
	out := &requirements{
		ref: t.Ref, compute: all.ComputeOf(pool), all: all, dc: dc, pool: pool,
		template: machine.Template{Name: t.Path, VM: !t.Template, Hardware: t.Hardware, Devices: t.Devices, Snapshot: t.Snapshot},
		place:    machine.Place{Folder: folder.Ref, Pool: pool.Ref, Grouped: !p.hosts().IsZero()},
	}
	if err := out.reach(ctx, c, p.hosts().HostGroupName); err != nil {
		return nil, err
	}
	out.stores = slices.DeleteFunc(slices.Clone(t.Datastores), func(r vcenter.Ref) bool { return !slices.Contains(out.reached, r) })
	if p.Snapshot != "" {
		if out.template.Named, err = t.Named(p.Snapshot); err != nil {
			return nil, err
		}
	}
	for _, d := range p.Network.Devices {
		network, err := all.Network(dc, pool, d.NetworkName)
		if err != nil {
			return nil, err
		}
		backing, err := c.Backing(ctx, network)
		if err != nil {
			return nil, err
		}
		out.place.Networks = append(out.place.Networks, backing)
		out.networks = append(out.networks, network.Ref)
	}
	return out, nil
}

// reach finds the datastores that machines can be on: those that the group of hosts reaches, where the
// zone has one that is there.
func (f *requirements) reach(ctx context.Context, c *vcenter.Client, group string) error {
	if f.compute == nil {
		return nil
	}
	f.reached = f.compute.Datastores
	if group == "" || !f.compute.Cluster {
		return nil
	}
	g, err := c.Groups(ctx, f.compute.Ref)
	if err != nil {
		return err
	}
	if hosts := g.Hosts[group]; len(hosts) > 0 {
		f.hosts = group
		f.reached, err = c.DatastoresOf(ctx, hosts)
	}
	return err
}

// reacher names, for messages, whose datastores machines can be on.
func (f *requirements) reacher() string {
	if f.hosts != "" {
		return "the group of hosts " + f.hosts + " of " + f.compute.Path
	}
	return f.pool.Path
}

// findPool finds the resource pool of p: that which is named, else that of the zone's cluster.
func findPool(all *vcenter.Inventory, dc *vcenter.Entity, p placement) (*vcenter.Entity, error) {
	if p.ResourcePool != "" || p.zone == nil || p.zone.Domain.Topology.ComputeCluster == "" {
		return all.Pool(dc, p.ResourcePool)
	}
	return all.Pool(dc, p.zone.Domain.Topology.ComputeCluster)
}

// findTemplate finds a template in the inventory, else as LIBRARY/ITEM of a content library.
func findTemplate(ctx context.Context, c *vcenter.Client, dc *vcenter.Entity, name string) (*vcenter.Template, error) {
	t, err := c.Template(ctx, dc, name)
	library, item, two := strings.Cut(name, "/")
	if fleet.KindOf(err) != fleet.NotFound || !two || library == "" || strings.Contains(item, "/") {
		return t, err
	}
	ref, other := c.LibraryTemplate(ctx, library, item)
	if fleet.KindOf(other) == fleet.NotFound {
		return nil, err
	}
	if other != nil {
		return nil, other
	}
	return c.TemplateOf(ctx, ref, name)
}

// storage finds the datastore and the storage policies of p. Where Git names no datastore it
// is the one with the most room that the policy allows, else that of the template.
func (f *requirements) storage(ctx context.Context, c *vcenter.Client, p placement) error {
	var err error
	if p.CryptoProfile != "" {
		if f.place.Encryption, err = c.Policy(ctx, p.CryptoProfile); err != nil {
			return err
		}
	}
	if p.Datastore != "" {
		d, err := f.all.Datastore(f.dc, f.pool, p.Datastore)
		if err != nil {
			return err
		}
		if f.hosts != "" && !slices.Contains(f.reached, d.Ref) {
			return fleet.Errorf(fleet.Invalid, "choose a datastore", "no host of %s reaches datastore %s (name one that they reach, or correct the group)", f.reacher(), d.Path)
		}
		f.place.Datastore = &d.Ref
	}
	if p.StoragePolicyName == "" {
		if p.Datastore == "" && len(f.stores) == 0 {
			return fleet.Errorf(fleet.Invalid, "choose a datastore", "none is named, and no host of %s reaches the one of template %s (name a datastore or a storage policy)", f.reacher(), f.template.Name)
		}
		return nil
	}
	if f.place.Policy, err = c.Policy(ctx, p.StoragePolicyName); err != nil {
		return err
	}
	allowed, err := c.Compatible(ctx, f.place.Policy, f.usable())
	switch {
	case err != nil:
		return err
	case len(allowed) == 0:
		return fleet.Errorf(fleet.Invalid, "choose a datastore", "storage policy %s allows none of those that %s reaches", p.StoragePolicyName, f.reacher())
	case f.place.Datastore == nil:
		f.place.Datastore = &allowed[0].Ref
	}
	return nil
}

// usable returns the datastores that machines can be on: the one that is named, or all.
func (f *requirements) usable() []*vcenter.Entity {
	var out []*vcenter.Entity
	for _, r := range f.reached {
		d := f.all.Entity(r)
		if d != nil && d.Accessible && !d.Maintenance && (f.place.Datastore == nil || r == *f.place.Datastore) {
			out = append(out, d)
		}
	}
	return out
}
