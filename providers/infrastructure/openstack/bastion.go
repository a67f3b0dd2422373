package openstack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	"fairlead.dev/providers/infrastructure/openstack/machine"
)

// A bastion is a server that is part of what machines share. It is no machine:
// it is made and removed by EnsureInfrastructure.

// bastionTemplate identifies everything that makes a bastion outdated.
func (s *observation) bastionTemplate() fleet.TemplateHash {
	b, err := json.Marshal(s.spec.Bastion)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return fleet.TemplateHash("1-" + hex.EncodeToString(sum[:8]))
}

// bastionRetry is how old a bastion in ERROR must be to be recreated.
const bastionRetry = 5 * time.Minute

// bastionPlan says what is to be done about the bastion: which servers go, and
// whether one is to be made now.
func (s *observation) bastionPlan() (remove []*servers.Server, create bool) {
	enabled := s.spec.Bastion.IsEnabled() && s.spec.Bastion.Spec != nil
	at := s.projects[0]
	there := false
	for _, v := range at.machines.Bastions {
		tags := cloud.Tags(v.Metadata)
		failed := v.Status == "ERROR" && at.snapshot.Began.Sub(v.Created) > bastionRetry
		if !enabled || there || failed || tags[fleet.TagTemplate] != string(s.bastionTemplate()) {
			remove = append(remove, v)
			continue
		}
		there = true
	}
	return remove, enabled && !there && len(remove) == 0 && s.net.Place.Network != "" && s.grouped()
}

// grouped reports whether a bastion that is made now gets its security group, or needs no group.
func (s *observation) grouped() bool {
	at := s.net.Place
	return s.spec.ManagedSecurityGroups == nil || !at.PortSecurity || at.Ungrouped || at.BastionGroup != ""
}

// bastionDrift tells what Ensure would do about the bastion.
func (s *observation) bastionDrift(c *fleet.Cluster) []string {
	remove, create := s.bastionPlan()
	var out []string
	for _, v := range remove {
		if !machine.Leaving(v) {
			out = append(out, "remove bastion "+v.Name)
		}
	}
	if create {
		out = append(out, "make bastion "+string(cloud.Bastion(snapshot.OwnerOf(c)).Machine))
	}
	return out
}

// ensureBastion takes the next step.
func (p *Provider) ensureBastion(ctx context.Context, c *fleet.Cluster, s *observation) error {
	remove, create := s.bastionPlan()
	o := cloud.Bastion(snapshot.OwnerOf(c))
	if err := p.deleteBastions(ctx, s.projects[0], remove, c); err != nil || !create {
		return err
	}
	b := s.spec.Bastion
	image, err := p.imageOf(ctx, c, s.spec, b.Spec, s.home, s.homeSnapshot())
	if err != nil {
		return openstackauth.Wrap("make bastion "+string(o.Machine), err)
	}
	r := machine.Request{
		Owner: o, Spec: b.Spec, Image: image, More: s.spec.Tags, Place: placeOf(s.net.Place, s.net.Place.BastionGroup),
		Floating: machine.Floating{Network: s.net.Place.ExternalNetwork},
		Tags:     c.Tags(),
	}
	r.Tags[fleet.TagMachine] = string(o.Machine)
	r.Tags[fleet.TagRole] = string(cloud.RoleBastion)
	r.Tags[fleet.TagTemplate] = string(s.bastionTemplate())
	if b.AvailabilityZone != nil {
		r.Zone = *b.AvailabilityZone
	}
	if b.FloatingIP != nil {
		r.Floating = machine.Floating{Address: *b.FloatingIP}
	}
	err = p.Try(o, func() error {
		if err := machine.CheckIdentity(s.homeSnapshot(), o); err != nil {
			return err
		}
		return p.keeper.Create(ctx, s.home, s.homeSnapshot(), r)
	})
	return openstackauth.Wrap("make bastion "+string(o.Machine), err)
}

// deleteBastions deletes all, bastions of c in one project.
func (p *Provider) deleteBastions(ctx context.Context, at projectState, all []*servers.Server, c *fleet.Cluster) error {
	o := cloud.Bastion(snapshot.OwnerOf(c))
	var errs []error
	for _, v := range all {
		err := p.Try(o, func() error { return p.keeper.Delete(ctx, at.project, o, v) })
		errs = append(errs, openstackauth.Wrap("remove bastion "+v.Name, err))
	}
	return fleet.JoinErrors(errs...)
}
