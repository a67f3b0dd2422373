package azure

import (
	"context"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// RemoveShared implements driver.Driver: it takes the steps of the deletion that are possible now.
func (p machines) RemoveShared(ctx context.Context, what string, c *fleet.Cluster, v *view) error {
	if api.IsManaged(c) {
		return p.nothingKept(ctx, what, c)
	}
	return p.removeShared(ctx, what, v)
}

// removeShared takes the steps of the deletion of what machines shared that are possible now.
func (p *Provider) removeShared(ctx context.Context, what string, v *view) error {
	err := fleet.JoinErrors(v.perform(ctx, v.decideDeletion)...)
	if err == nil && v.ownGroup() && v.group.Properties.Provisioning != "Deleting" && v.parts() == 0 { // it takes all with it that is in there
		if err = v.place.empty(ctx); err == nil {
			err = v.deleteOwn(ctx, arm.GroupID(v.place.Subscription(), v.place.group))
		}
	}
	if kind := fleet.KindOf(err); err == nil || kind == fleet.Unavailable || kind == fleet.Unanswered {
		p.refused.Forget(v.owner)
	} else {
		p.refused.Note(v.owner, err.Error()) // nothing that a look sees tells it
	}
	return arm.Wrap(what, err)
}

// deletion says what the deletion of the cluster waits for.
func (p *Provider) deletion(v *view) string {
	out := v.decideDeletion().Waits
	if refused, ok := p.refused.Of(v.owner); ok {
		out = append(out, refused)
	}
	return strings.Join(out, "; ")
}

// deleteOwn deletes a resource, unless somebody else has it by now.
func (v *view) deleteOwn(ctx context.Context, id string) error {
	var now arm.Resource[arm.State]
	switch err := v.place.Get(ctx, id, &now); {
	case arm.IsMissing(err):
		return nil
	case err != nil:
		return err
	case !v.c.Owns(tagsFrom(now.Tags)):
		return nil
	}
	return v.place.Delete(ctx, id)
}

// goes decides about the deletion of each of a kind, unless they are still needed.
func goes[P stated](v *view, d *steps.Decision, all []arm.Resource[P], kind string, busy bool) {
	for i := range all {
		r := &all[i]
		what := kindName(kind) + " " + r.Name
		if r.Properties.ProvisioningState() == "Deleting" {
			d.Wait(what + " is being deleted")
			continue
		}
		d.Add(steps.Step{What: "delete " + what, Blocked: busy, Do: func(ctx context.Context) error { return v.deleteOwn(ctx, r.ID) }})
	}
}

// decideDeletion decides what of the shared things can be deleted now: what nothing depends on any more. An operation
// shows in the next listing, so that what depends on it waits for that.
func (v *view) decideDeletion() *steps.Decision {
	d := new(steps.Decision)
	left, kept := v.leftovers()
	for _, x := range left {
		d.Add(steps.Step{What: "delete " + x.kind + " " + x.name, Do: func(ctx context.Context) error { return v.deleteLeftover(ctx, x) }})
	}
	d.Waits = append(d.Waits, kept...)
	goes(v, d, v.lbs, arm.Balancers, false)
	goes(v, d, v.sets, arm.Sets, len(v.vms) > 0)
	for _, z := range v.dns {
		for _, link := range slices.Sorted(maps.Keys(v.links)) {
			if strings.HasPrefix(link, strings.ToLower(z.ID)+"/") {
				d.Add(steps.Step{What: "delete the link of zone " + z.Name, Do: func(ctx context.Context) error { return v.place.Delete(ctx, link) }})
			}
		}
	}
	goes(v, d, v.dns, arm.Zones, len(v.links) > 0)
	unpeered := v.unpeer(d)
	goes(v, d, v.bastions, arm.Bastions, false)
	goes(v, d, v.endpoints, arm.Endpoints, false)
	goes(v, d, v.vnets, arm.VNets, len(v.lbs)+len(v.nics)+len(v.bastions)+len(v.endpoints) > 0 || !unpeered)
	goes(v, d, v.nats, arm.NATs, len(v.vnets) > 0)
	goes(v, d, v.nsgs, arm.NSGs, len(v.vnets) > 0)
	goes(v, d, v.tables, arm.RouteTables, len(v.vnets) > 0)
	goes(v, d, v.ips, arm.PublicIPs, len(v.nats)+len(v.lbs)+len(v.bastions) > 0)
	if v.ownGroup() && v.group.Properties.Provisioning == "Deleting" {
		d.Wait("resource group " + v.place.group + " is being deleted")
	}
	return d
}
