package maas

import (
	"cmp"
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/maas/api"
	"fairlead.dev/providers/infrastructure/maas/region"
)

// Remove implements driver.Driver: it takes the machine out of DNS, and releases its host.
func (p machines) Remove(ctx context.Context, what string, c *fleet.Cluster, got *observation, m driver.Seen[*host]) error {
	defer got.changed(snapshot.OwnerOf(c).Part(m.Name))
	h, err := p.again(ctx, got, m.Thing)
	switch {
	case err != nil || h == nil:
		return err
	case h.lost:
		return fleet.Errorf(fleet.Conflict, what, "%s", h.machine.Message)
	case h.machine.Damaged != "":
		return fleet.Errorf(fleet.Conflict, what, "the tags of %s are damaged: %s (correct its annotation %s, or release it in MAAS)", h, h.machine.Damaged, annotation)
	case h.Machine.State == region.Ready, h.Machine.State == region.Releasing, h.Machine.State == region.Erasing:
		return nil
	case h.Locked:
		return fleet.Errorf(fleet.Conflict, what, "%s is locked in MAAS (unlock it, and its machine is deleted)", h)
	}
	if err := got.leave(ctx, h); err != nil {
		return err
	}
	return region.Wrap("release "+h.String(), got.client.Release(ctx, h.SystemID, got.erasure(h)))
}

// erasure returns how the disks of h are erased: as its pool says, and without one as it did.
func (o *observation) erasure(h *host) region.Erasure {
	wish := h.tags[tagErase]
	if pool, ok := o.cluster.Pool(h.machine.Pool); ok {
		if spec, err := api.ReadMachine(pool.Infrastructure); err == nil {
			wish = cmp.Or(string(spec.EraseDisks), wish)
		}
	}
	return eraseHost(&h.Machine, wish)
}

// eraseHost returns how disks of a host are erased on request: quickly by default. A host on which nothing was
// deployed has nothing to erase.
func eraseHost(m *region.Machine, wish string) region.Erasure {
	switch {
	case m.State == region.Allocated, wish == string(api.EraseNever):
		return region.Erasure{}
	case wish == string(api.EraseSecure):
		return region.Erasure{Erase: true, Secure: true, Quick: true}
	case wish == string(api.EraseFull):
		return region.Erasure{Erase: true}
	}
	return region.Erasure{Erase: true, Quick: true}
}
