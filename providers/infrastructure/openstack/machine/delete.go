package machine

import (
	"context"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// IDPrefix is what the provider id of a server begins with.
const IDPrefix = "openstack:///"

// Delete asks for the end of the servers of o, or of the one with id where that
// is not empty, and removes the parts of a machine whose servers are gone. keeps
// says which pools keep their floating IPs. Nothing there is success.
func (k *Keeper) Delete(ctx context.Context, p *cloud.Project, o snapshot.Owner, id fleet.ProviderID, keeps func(pool string) bool) error {
	op := "delete machine " + o.Cluster.Namespace + "/" + string(o.Machine)
	end, err := k.busy.Begin(op, machineID{p, o})
	if err != nil {
		return err
	}
	defer end()
	s, err := p.Snapshot(ctx, o)
	if err != nil {
		return openstackauth.WrapLook(op, err)
	}
	there := s.Servers.Of(o)
	if len(there) == 0 {
		if id != "" {
			return nil // the one with that id is gone; the parts may be of one that is to come
		}
		if all := partsOf(s, o)[o]; all != nil {
			k.noteDeletion(machineID{p, o}, "")
			return openstackauth.Wrap(op, removeParts(ctx, p, o, all, keeps))
		}
		return nil
	}
	var errs []error
	for _, v := range there {
		if id != "" && IDPrefix+v.ID != string(id) {
			continue
		}
		errs = append(errs, k.deleteServer(ctx, p, o, v))
	}
	return openstackauth.Wrap(op, fleet.JoinErrors(errs...))
}

// deleteServer asks Nova once: a server that is on its way out is left to it. One
// that Nova keeps after its deletion is to go for good.
func (k *Keeper) deleteServer(ctx context.Context, p *cloud.Project, o snapshot.Owner, v *servers.Server) error {
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
