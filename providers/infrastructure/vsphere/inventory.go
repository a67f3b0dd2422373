package vsphere

import (
	"context"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
	"fairlead.dev/providers/infrastructure/vsphere/vcenter"
)

// A finding is what machines of a placement need of a vCenter.
type finding struct {
	ref      vcenter.Ref // of the template
	template machine.Template
	place    machine.Place
	compute  *vcenter.Entity // the cluster, or the host without one, that they run on
}

// find finds what machines at p need. What is not there, or cannot be used, is an error that
// says what is there.
func find(ctx context.Context, c *vcenter.Client, p placement) (*finding, error) {
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
	out := &finding{ref: t.Ref, compute: all.ComputeOf(pool), template: machine.Template{Name: t.Path, Devices: t.Devices, Snapshot: t.Snapshot}}
	out.place.Folder, out.place.Pool = folder.Ref, pool.Ref
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
	}
	if err := out.storage(ctx, c, all, dc, pool, t, p); err != nil {
		return nil, err
	}
	return out, nil
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
func (f *finding) storage(ctx context.Context, c *vcenter.Client, all *vcenter.Inventory, dc, pool *vcenter.Entity, t *vcenter.Template, p placement) error {
	var err error
	if p.CryptoProfile != "" {
		if f.place.Encryption, err = c.Policy(ctx, p.CryptoProfile); err != nil {
			return err
		}
	}
	if p.Datastore != "" {
		d, err := all.Datastore(dc, pool, p.Datastore)
		if err != nil {
			return err
		}
		f.place.Datastore = &d.Ref
	}
	var reached []vcenter.Ref
	if f.compute != nil {
		reached = f.compute.Datastores
	}
	if p.StoragePolicyName == "" {
		if p.Datastore == "" && !slices.ContainsFunc(t.Datastores, func(r vcenter.Ref) bool { return slices.Contains(reached, r) }) {
			return fleet.Errorf(fleet.Invalid, "choose a datastore", "none is named, and no host of %s reaches the one of template %s (name a datastore or a storage policy)", pool.Path, t.Path)
		}
		return nil
	}
	if f.place.Policy, err = c.Policy(ctx, p.StoragePolicyName); err != nil {
		return err
	}
	var usable []*vcenter.Entity
	for _, r := range reached {
		d := all.Entity(r)
		if d != nil && d.Accessible && !d.Maintenance && (f.place.Datastore == nil || r == *f.place.Datastore) {
			usable = append(usable, d)
		}
	}
	allowed, err := c.Compatible(ctx, f.place.Policy, usable)
	switch {
	case err != nil:
		return err
	case len(allowed) == 0:
		return fleet.Errorf(fleet.Invalid, "choose a datastore", "storage policy %s allows none of those that %s reaches", p.StoragePolicyName, pool.Path)
	case f.place.Datastore == nil:
		f.place.Datastore = &allowed[0].Ref
	}
	return nil
}

// check finds what is needed besides: groups of the zone with their rule, and tags.
func (f *finding) check(ctx context.Context, c *vcenter.Client, p placement) error {
	var errs []error
	for _, id := range p.TagIDs {
		_, err := c.Tag(ctx, id)
		errs = append(errs, err)
	}
	if h := p.hosts(); !h.IsZero() {
		errs = append(errs, f.checkGroups(ctx, c, p.zone.Name, h.VMGroupName, h.HostGroupName))
	}
	return fleet.JoinErrors(errs...)
}

func (f *finding) checkGroups(ctx context.Context, c *vcenter.Client, zone, vms, hosts string) error {
	op := "use the hosts of zone " + zone
	if f.compute == nil || !f.compute.Cluster {
		return fleet.Errorf(fleet.Invalid, op, "its machines are not on a cluster, which alone has groups of hosts")
	}
	g, err := c.Groups(ctx, f.compute.Ref)
	if err != nil {
		return err
	}
	_, isVMs := g.VMs[vms]
	_, isHosts := g.Hosts[hosts]
	rule := g.RuleFor(vms, hosts)
	switch {
	case !isVMs:
		return fleet.Errorf(fleet.Invalid, op, "%s has no group of VMs called %s (make it; it may hold any VM)", f.compute.Path, vms)
	case !isHosts:
		return fleet.Errorf(fleet.Invalid, op, "%s has no group of hosts called %s (make it)", f.compute.Path, hosts)
	case rule == nil || !rule.Enabled:
		return fleet.Errorf(fleet.Invalid, op, "%s has no rule that holds the VMs of %s to the hosts of %s and is enabled (make it: machines of the zone would be on any host)", f.compute.Path, vms, hosts)
	}
	return nil
}
