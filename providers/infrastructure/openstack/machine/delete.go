package machine

import (
	"context"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// IDPrefix is what the provider id of a server begins with.
const IDPrefix = "openstack:///"

// Delete deletes v, the server of o, for which Nova is asked once: it is left to one that is being
// deleted. A server that Nova keeps after its deletion is purged.
func (k *Keeper) Delete(ctx context.Context, p *cloud.Project, o snapshot.Owner, v *servers.Server) error {
	if v.Status == softDeleted {
		return k.purge(ctx, p, o, v)
	}
	if Leaving(v) {
		return nil
	}
	client, err := p.Compute(ctx)
	if err != nil {
		return err
	}
	defer p.Changed(o)
	now, err := again(ctx, p, o, v.ID)
	if err != nil || now == nil {
		return err
	}
	k.noteDeletion(machineID{p, o}, v.ID)
	return deleted("server "+v.Name, servers.Delete(ctx, client, v.ID).ExtractErr())
}

// DeleteParts deletes the parts that s, a look at p, has of machine o, which has no server. keeps says
// which pools keep their floating IPs.
func (k *Keeper) DeleteParts(ctx context.Context, p *cloud.Project, s *cloud.Snapshot, o snapshot.Owner, keeps func(pool string) bool) error {
	k.noteDeletion(machineID{p, o}, "")
	return removeParts(ctx, p, o, partsOf(s, o)[o], keeps)
}

// again looks at the server with id, which was listed as that of o: the listing may be old. It
// returns nil if the server is gone or another's by now. Then the next look decides.
func again(ctx context.Context, p *cloud.Project, o snapshot.Owner, id string) (*servers.Server, error) {
	now, err := p.Server(ctx, id)
	if err != nil || now == nil {
		return nil, err
	}
	if owner, ok := cloud.MetadataOwner(now.Metadata); !ok || owner != o {
		return nil, nil //nolint:nilnil // the contract: it is not of o
	}
	return now, nil
}

// softDeleted is the status of a server that Nova keeps for a while after its
// deletion, with its ports and volumes, where the cloud is set up so.
// Source: reclaim_instance_interval in Nova's configuration reference.
const softDeleted = "SOFT_DELETED"

// purge ends a server that Nova keeps. Where that is not allowed, it is left to
// Nova. One that people restored since it was listed stays.
func (k *Keeper) purge(ctx context.Context, p *cloud.Project, o snapshot.Owner, v *servers.Server) error {
	client, err := p.Compute(ctx)
	if err != nil {
		return err
	}
	defer p.Changed(o)
	now, err := again(ctx, p, o, v.ID)
	if err != nil || now == nil || now.Status != softDeleted {
		return err
	}
	k.noteDeletion(machineID{p, o}, v.ID)
	err = servers.ForceDelete(ctx, client, v.ID).ExtractErr()
	if gophercloud.ResponseCodeIs(err, 403) {
		k.retained.Note(v.ID, true)
		return nil
	}
	return deleted("server "+v.Name+" permanently", err)
}

// Leaving reports whether Nova is removing v.
func Leaving(v *servers.Server) bool {
	return v.TaskState == "deleting" || v.TaskState == "soft-deleting" || v.Status == "DELETED" || v.Status == softDeleted
}
