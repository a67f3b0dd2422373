package vsphere

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
	"fairlead.dev/providers/infrastructure/vsphere/vcenter"
)

// checked is a placement of machines of a cluster that was checked.
type checked struct {
	cluster snapshot.Owner
	print   string
}

// check finds what machines of each pool need, in each zone that they may be in, where this
// process did not do so yet. Placements that Git no longer has are forgotten.
func (p *Provider) check(ctx context.Context, c *fleet.Cluster, got *observation) error {
	o := snapshot.OwnerOf(c)
	now := make(map[string]bool)
	runs := len(got.machines()) > 0
	var errs []error
	for _, pool := range c.Pools() {
		what := "find what machines of pool " + string(pool.Name) + " need"
		placed, err := placements(c, got.spec, &pool)
		if err != nil {
			return wrap(what, err)
		}
		for _, at := range placed {
			s, err := p.siteFor(ctx, got, at)
			if err != nil {
				errs = append(errs, wrap(what, err))
				continue
			}
			print := at.print(s.User())
			if now[print] {
				continue // another pool has machines of that kind there
			}
			now[print] = true
			if !p.checked.Has(checked{o.Shared(), print}) {
				errs = append(errs, wrap(what, p.checkPlacement(ctx, s.Client, o, at, runs)))
			}
		}
	}
	if err := fleet.JoinErrors(errs...); err != nil {
		return err
	}
	p.found.Note(o, true)
	p.keepChecked(o, now)
	return nil
}

// checkPlacement finds what machines of o at a placement need. A cluster that runs is not held up by
// tags of its zones, which its machines do not need.
func (p *Provider) checkPlacement(ctx context.Context, c *vcenter.Client, o snapshot.Owner, at placement, runs bool) error {
	zone, err := examine(ctx, c, at)
	if zone != nil && runs {
		p.o.Log.WarnContext(ctx, "failure domain does not match its tags", "cluster", o.Cluster.String(), "error", zone)
		zone = nil
	}
	if err := fleet.JoinErrors(zone, err); err != nil {
		return err
	}
	p.checked.Note(checked{o.Shared(), at.print(c.User())}, true)
	return nil
}

// examine says what machines at a placement need and is not there, and, apart from that, what is wrong
// with the tags of its zone.
func examine(ctx context.Context, c *vcenter.Client, at placement) (zone, err error) {
	found, err := find(ctx, c, at)
	if err != nil {
		return nil, err
	}
	zone = found.checkZone(ctx, c, at.zone)
	return zone, fleet.JoinErrors(found.storage(ctx, c, at), found.check(ctx, c, at))
}

// checkFound checks what was found for machines of o at a placement, unless this process did.
func (p *Provider) checkFound(ctx context.Context, c *vcenter.Client, o snapshot.Owner, at placement, found *requirements) error {
	print := at.print(c.User())
	if p.checked.Has(checked{o.Shared(), print}) {
		return nil
	}
	if err := found.check(ctx, c, at); err != nil {
		return err
	}
	p.checked.Note(checked{o.Shared(), print}, true)
	return nil
}

// unchecked says which pools have placements that were not checked since Git has them. Where
// this process never found everything, a cluster without machines is not there at all, and one
// with machines is as another process left it: nothing is said.
func (p *Provider) unchecked(c *fleet.Cluster, got *observation) ([]string, error) {
	o := snapshot.OwnerOf(c)
	if !p.found.Has(o) {
		return nil, nil
	}
	var out []string
	for _, pool := range c.Pools() {
		placed, err := placements(c, got.spec, &pool)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(placed, func(at placement) bool {
			s := siteOfSeen(got.sites, at.Server)
			return s == nil || !p.checked.Has(checked{o, at.print(s.User())})
		}) {
			out = append(out, "find what machines of pool "+string(pool.Name)+" need, which Git changed")
		}
	}
	return out, nil
}

// print is equal for placements that a check of one holds for, as user.
func (p placement) print(user string) string {
	zone := ""
	if p.zone != nil {
		zone = p.zone.Name
	}
	text, _ := json.Marshal([]any{user, zone, p.hosts(), p.VSphereMachineSpec}) // it was read from JSON
	sum := sha256.Sum256(text)
	return string(sum[:])
}

// check finds missing or wrong groups of the zone with their rule, tags, and rights.
func (f *requirements) check(ctx context.Context, c *vcenter.Client, p placement) error {
	var errs []error
	for _, id := range p.TagIDs {
		_, err := c.Tag(ctx, id)
		errs = append(errs, err)
	}
	if h := p.hosts(); !h.IsZero() {
		errs = append(errs, f.checkGroups(ctx, c, p.zone.Name, h.VMGroupName, h.HostGroupName))
	}
	return fleet.JoinErrors(append(errs, f.checkRights(ctx, c, p.VSphereMachineSpec))...)
}

func (f *requirements) checkGroups(ctx context.Context, c *vcenter.Client, zone, vms, hosts string) error {
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

// checkRights asks for all rights at once that machines like s take.
func (f *requirements) checkRights(ctx context.Context, c *vcenter.Client, s *api.VSphereMachineSpec) error {
	on := f.objects()
	var needs []vcenter.Need
	for _, r := range (&machine.Request{Spec: s, Template: f.template, Place: f.place}).Rights() {
		for _, ref := range on[r.On] {
			n := vcenter.Need{On: ref, Privilege: r.Privilege}
			switch e := f.all.Entity(ref); {
			case r.On == machine.OnVCenter:
				n.Path = c.String()
			case e != nil:
				n.Path = e.Path
			default: // a template is no part of the inventory
				n.Path = f.template.Name
			}
			needs = append(needs, n)
		}
	}
	return c.CheckRights(ctx, needs)
}

// objects are those that a user needs rights on, by their kind.
func (f *requirements) objects() map[machine.Object][]vcenter.Ref {
	out := map[machine.Object][]vcenter.Ref{
		machine.OnVCenter: {f.all.Root()}, machine.OnPool: {f.place.Pool}, machine.OnNetwork: f.networks,
		machine.OnTemplate: {f.ref}, machine.OnFolder: {f.place.Folder}, machine.OnDatastore: f.stores,
	}
	if f.compute != nil {
		out[machine.OnCluster] = []vcenter.Ref{f.compute.Ref}
	}
	if f.place.Datastore != nil {
		out[machine.OnDatastore] = []vcenter.Ref{*f.place.Datastore}
	}
	return out
}

// keepChecked forgets the placements of the cluster of o that were checked, but for those with prints.
func (p *Provider) keepChecked(o snapshot.Owner, prints map[string]bool) {
	p.checked.ForgetIf(func(k checked, _ bool) bool { return k.cluster == o.Shared() && !prints[k.print] })
}

// forgetFound forgets what was found of the cluster of o.
func (p *Provider) forgetFound(o snapshot.Owner) {
	p.found.Forget(o.Shared())
	p.keepChecked(o, nil)
}
