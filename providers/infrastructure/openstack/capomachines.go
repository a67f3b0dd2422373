package openstack

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/trunks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// machines finds the servers and what is part of each.
func (f *finder) machines(ctx context.Context, all []providers.AdoptedMachine) error {
	wanted := make(map[string]fleet.MachineName) // by server
	for _, m := range all {
		id := serverOf(m.ID)
		tags, ok := providers.AdoptionTags(f.cluster, m)
		if !ok {
			return fleet.Errorf(fleet.Invalid, "take over machine "+string(m.Name), "it is of pool %s, which the cluster does not have in Git", m.Pool)
		}
		at, ok := f.observed.placeWith(id)
		if !ok {
			return fleet.Errorf(fleet.NotFound, "take over machine "+string(m.Name), "there is no server %s in the projects of the cluster", id)
		}
		if wanted[id] != "" {
			return fleet.Errorf(fleet.Conflict, "take over machine "+string(m.Name), "machine %s has the same server", wanted[id])
		}
		wanted[id] = m.Name
		f.server(at, *at.snapshot.Servers.Get(id), f.owner.Part(m.Name), tags)
	}
	if b := f.observed.spec.Bastion; b.IsEnabled() && b.Spec != nil {
		at := f.observed.projects[0]
		name := string(cloud.Bastion(f.owner).Machine)
		i := slices.IndexFunc(at.snapshot.Servers.All, func(s servers.Server) bool { return s.Name == name || s.Name == f.name+"-bastion" })
		if i < 0 {
			return fleet.Errorf(fleet.NotFound, "find server "+name, "the project has none, and the manifests say that there is a bastion")
		}
		f.server(at, at.snapshot.Servers.All[i], cloud.Bastion(f.owner), f.observed.bastionTags(f.cluster))
	}
	return f.members(ctx, wanted)
}

// server claims a server, its ports, trunks, volumes and floating IPs.
func (f *finder) server(at projectState, v servers.Server, o snapshot.Owner, tags map[string]string) {
	p, s := at.project, at.snapshot
	f.metadata(p, "server "+v.Name, o, v.Metadata, tags, func(ctx context.Context, m map[string]string) error {
		client, err := p.Compute(ctx)
		if err != nil {
			return err
		}
		return servers.ResetMetadata(ctx, client, v.ID, servers.MetadataOpts(m)).Err
	})
	for _, t := range s.Ports.All {
		if t.DeviceID != v.ID || !strings.HasPrefix(t.Name, v.Name+"-") {
			continue // what people attached stays theirs
		}
		f.portOf(p, s, t, o)
	}
	for _, t := range s.Volumes.All {
		if strings.HasPrefix(t.Name, v.Name+"-") && slices.ContainsFunc(t.Attachments, func(a volumes.Attachment) bool { return a.ServerID == v.ID }) {
			f.volume(p, t, o, tags)
		}
	}
}

func (f *finder) portOf(p *cloud.Project, s *cloud.Snapshot, t cloud.Port, o snapshot.Owner) {
	said, _, _ := strings.Cut(t.Description, " [fairlead.dev ")
	text, before := said, said
	if strings.HasPrefix(t.Description, "[fairlead.dev ") || said == f.theirs() || said == "" {
		text, before = "", f.theirs()
	}
	f.describe(p, "port "+t.Name, t.Description, o, text, before, "", by(p.Network, func(ctx context.Context, c *gophercloud.ServiceClient, text string) error {
		return ports.Update(ctx, c, t.ID, ports.UpdateOpts{Description: &text}).Err
	}))
	for _, k := range s.Trunks.All {
		if k.PortID != t.ID {
			continue
		}
		f.describe(p, "trunk "+k.Name, k.Description, o, "", f.theirs(), "", by(p.Network, func(ctx context.Context, c *gophercloud.ServiceClient, text string) error {
			return trunks.Update(ctx, c, k.ID, trunks.UpdateOpts{Description: &text}).Err
		}))
	}
	for _, ip := range s.FloatingIPs.All {
		if ip.PortID == t.ID && ip.FloatingIP != f.cluster.Endpoint.Host {
			f.floating(p, ip, o, "")
		}
	}
}

func (f *finder) volume(p *cloud.Project, t volumes.Volume, o snapshot.Owner, tags map[string]string) {
	f.metadata(p, "volume "+t.Name, o, t.Metadata, tags, func(ctx context.Context, m map[string]string) error {
		client, err := p.BlockStorage(ctx)
		if err != nil {
			return err
		}
		return volumes.Update(ctx, client, t.ID, volumeMetadata(m)).Err
	})
}

// metadata adds the adoption of a thing whose mark is in its metadata, which set replaces.
func (f *finder) metadata(p *cloud.Project, what string, o snapshot.Owner, have, tags map[string]string, set func(context.Context, map[string]string) error) {
	want := make(map[string]string, len(have)+len(tags))
	maps.Copy(want, have)
	maps.Copy(want, cloud.Metadata(tags))
	has, _ := cloud.MetadataOwner(have)
	f.claims = append(f.claims, adoption{
		what: what, owner: o, has: has, done: maps.Equal(have, want), project: p,
		mark:    func(ctx context.Context) error { return set(ctx, want) },
		release: func(ctx context.Context) error { return set(ctx, unmarked(have)) },
	})
}

// volumeMetadata replaces the metadata of a volume, also by none.
type volumeMetadata map[string]string

// ToVolumeUpdateMap implements volumes.UpdateOptsBuilder.
func (m volumeMetadata) ToVolumeUpdateMap() (map[string]any, error) {
	return map[string]any{"volume": map[string]any{"metadata": map[string]string(m)}}, nil
}

// unmarked returns metadata without ours.
func unmarked(m map[string]string) map[string]string {
	out := make(map[string]string, len(m))
	maps.Copy(out, m)
	maps.DeleteFunc(out, func(k, _ string) bool { return strings.HasPrefix(k, "fairlead.dev:") })
	return out
}
