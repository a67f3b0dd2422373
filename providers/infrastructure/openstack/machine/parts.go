package machine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/trunks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// parts is what belongs to one machine besides its server.
type parts struct {
	floating []*floatingips.FloatingIP
	trunks   []*trunks.Trunk
	ports    []*cloud.Port
	volumes  []*volumes.Volume
}

// partsOf returns the parts of all machines of the cluster of o, by machine.
func partsOf(s *cloud.Snapshot, o snapshot.Owner) map[snapshot.Owner]*parts {
	out := make(map[snapshot.Owner]*parts)
	get := func(o snapshot.Owner) *parts {
		if out[o] == nil {
			out[o] = new(parts)
		}
		return out[o]
	}
	for o, all := range s.FloatingIPs.Parts(o) {
		get(o).floating = all
	}
	for o, all := range s.Trunks.Parts(o) {
		get(o).trunks = all
	}
	for o, all := range s.Ports.Parts(o) {
		get(o).ports = all
	}
	for o, all := range s.Volumes.Parts(o) {
		get(o).volumes = all
	}
	return out
}

// String names the parts for people, sorted.
func (p *parts) String() string {
	var out []string
	for _, f := range p.floating {
		out = append(out, "floating IP "+f.FloatingIP)
	}
	for _, t := range p.trunks {
		out = append(out, "trunk "+t.Name)
	}
	for _, t := range p.ports {
		out = append(out, "port "+t.Name)
	}
	for _, v := range p.volumes {
		out = append(out, "volume "+v.Name)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func (p *parts) empty() bool {
	return len(p.floating)+len(p.trunks)+len(p.ports)+len(p.volumes) == 0
}

// notDeleting returns p without volumes that are being deleted, volumes that accept no deletion
// until people act, and floating IPs that people gave to another port.
func (p *parts) notDeleting() *parts {
	out := *p
	out.floating = slices.DeleteFunc(slices.Clone(p.floating), func(f *floatingips.FloatingIP) bool { return p.elsewhere(f) != "" })
	out.volumes = slices.DeleteFunc(slices.Clone(p.volumes), func(v *volumes.Volume) bool {
		return v.Status == "deleting" || !deletable(v.Status) && !passing(v.Status)
	})
	return &out
}

// elsewhere says which port that is none of p has f; empty: none has.
func (p *parts) elsewhere(f *floatingips.FloatingIP) string {
	if f.PortID == "" || slices.ContainsFunc(p.ports, func(t *cloud.Port) bool { return t.ID == f.PortID }) {
		return ""
	}
	return fmt.Sprintf("port %s, which is no machine's, has floating IP %s (detach it, or empty its description)", f.PortID, f.FloatingIP)
}

// removeParts removes the parts of a machine whose server is gone. Where one of
// them is that of a server which is there after all, they all stay, and the error
// is of kind Conflict.
func removeParts(ctx context.Context, p *cloud.Project, o snapshot.Owner, all *parts, keeps func(pool string) bool) error {
	if err := all.checkUnused(ctx, p); err != nil {
		return err
	}
	var errs []error
	rest := *all
	rest.floating = slices.DeleteFunc(slices.Clone(all.floating), func(f *floatingips.FloatingIP) bool {
		why := all.elsewhere(f)
		if why != "" {
			errs = append(errs, fleet.Errorf(fleet.Conflict, "remove the parts of "+string(o.Machine), "%s", why))
		}
		return why != ""
	})
	return fleet.JoinErrors(append(errs, deleteParts(ctx, p, o, &rest, keeps))...)
}

// deleteParts removes parts: what holds others first. What cannot be removed does not
// keep the rest.
func deleteParts(ctx context.Context, p *cloud.Project, o snapshot.Owner, all *parts, keeps func(pool string) bool) error {
	defer p.Changed(o)
	var errs []error
	for _, f := range all.floating {
		errs = append(errs, release(ctx, p, f, o, keeps))
	}
	if len(all.trunks)+len(all.ports) > 0 {
		client, err := p.Network(ctx)
		if err != nil {
			return fleet.JoinErrors(append(errs, err)...)
		}
		for _, t := range all.trunks {
			errs = append(errs, deleted("trunk "+t.Name, trunks.Delete(ctx, client, t.ID).Err))
		}
		for _, t := range all.ports {
			errs = append(errs, deleted("port "+t.Name, ports.Delete(ctx, client, t.ID).Err))
		}
	}
	errs = append(errs, removeVolumes(ctx, p, all.volumes))
	return fleet.JoinErrors(errs...)
}

func removeVolumes(ctx context.Context, p *cloud.Project, all []*volumes.Volume) error {
	if len(all) == 0 {
		return nil
	}
	client, err := p.BlockStorage(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, v := range all {
		switch {
		case v.Status == "deleting":
			continue
		case v.Status == "" || deletable(v.Status): // it was not observed, or it can go
		case passing(v.Status):
			errs = append(errs, fleet.Errorf(fleet.Conflict, "delete volume "+v.Name, "it is %s still", v.Status))
			continue
		default:
			errs = append(errs, fleet.Errorf(fleet.Conflict, "delete volume "+v.Name, "%s", stuckVolume(v)))
			continue
		}
		errs = append(errs, deleted("volume "+v.Name, volumes.Delete(ctx, client, v.ID, volumes.DeleteOpts{}).Err))
	}
	return fleet.JoinErrors(errs...)
}

// deleted is the error of a deletion: what is gone is success.
func deleted(what string, err error) error {
	if err == nil || openstackauth.NotFound(err) {
		return nil
	}
	return openstackauth.Wrap("delete "+what, err)
}

// remove removes what m made. A port that something has by now stays: it is not
// of this call alone.
func (m *maker) remove(ctx context.Context) error {
	var all parts
	var errs []error
	client, err := m.p.Network(ctx)
	if err != nil {
		return err
	}
	for _, id := range m.made.ports {
		now, err := ports.Get(ctx, client, id).Extract()
		switch {
		case openstackauth.NotFound(err):
		case err != nil:
			errs = append(errs, openstackauth.WrapLook("look at port "+id, err))
		case now.DeviceID == "":
			all.ports = append(all.ports, &cloud.Port{Port: *now})
		default:
			return fleet.Errorf(fleet.Conflict, "remove port "+now.Name, "it has become that of %s", now.DeviceID)
		}
	}
	for _, id := range m.made.trunks {
		all.trunks = append(all.trunks, &trunks.Trunk{ID: id, Name: id})
	}
	for _, id := range slices.Concat(m.made.floating, m.made.kept) {
		now, err := floatingips.Get(ctx, client, id).Extract()
		if err == nil {
			all.floating = append(all.floating, now)
		} else if !openstackauth.NotFound(err) {
			errs = append(errs, openstackauth.WrapLook("look at floating IP "+id, err))
		}
	}
	for _, id := range m.made.volumes {
		all.volumes = append(all.volumes, &volumes.Volume{ID: id, Name: id})
	}
	return fleet.JoinErrors(append(errs, deleteParts(ctx, m.p, m.r.Owner, &all, m.keepsFloating))...)
}

func (m *maker) keepsFloating(pool string) bool {
	p := m.r.Floating.Pool
	return p != nil && p.Name == pool && p.Spec.ReclaimPolicy == "Retain"
}
