package machine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"k8s.io/utils/ptr"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// The bounds of waiting for Cinder. Nova takes a volume only when it is made, so
// this is the one thing that a request waits for; what takes longer goes on with
// the next call.
const (
	volumePace = 2 * time.Second
	volumeWait = time.Minute
)

// devices makes the volumes of the server and returns its disks, the one that it
// boots from first. A server with the one disk of its image has none to tell of.
func (m *maker) devices(ctx context.Context, image string) ([]servers.BlockDevice, error) {
	s := m.r.Spec
	if s.RootVolume == nil && len(s.AdditionalBlockDevices) == 0 {
		return nil, nil
	}
	var out []servers.BlockDevice
	if v := s.RootVolume; v != nil {
		id, err := m.ensureVolume(ctx, "root", int(v.SizeGiB), image, &v.BlockDeviceVolume)
		if err != nil {
			return nil, err
		}
		out = append(out, volumeDevice(id, 0))
	} else {
		out = append(out, servers.BlockDevice{
			SourceType: servers.SourceImage, DestinationType: servers.DestinationLocal, UUID: image, DeleteOnTermination: true,
		})
	}
	for _, d := range s.AdditionalBlockDevices {
		b := servers.BlockDevice{
			SourceType: servers.SourceBlank, DestinationType: servers.DestinationLocal, BootIndex: -1,
			DeleteOnTermination: true, VolumeSize: int(d.SizeGiB), Tag: d.Name,
		}
		if d.Storage.Type == api.VolumeBlockDevice {
			id, err := m.ensureVolume(ctx, d.Name, int(d.SizeGiB), "", d.Storage.Volume)
			if err != nil {
				return nil, err
			}
			b = volumeDevice(id, -1)
			b.Tag = d.Name
		}
		out = append(out, b)
	}
	return out, m.awaitVolumes(ctx)
}

func volumeDevice(id string, boot int) servers.BlockDevice {
	return servers.BlockDevice{
		SourceType: servers.SourceVolume, DestinationType: servers.DestinationVolume, UUID: id, BootIndex: boot, DeleteOnTermination: true,
	}
}

// The statuses of Cinder in which a volume can be used, or is on its way to be usable,
// and those in which it takes its deletion. In any other one somebody has to act first.
// Source: https://docs.openstack.org/api-ref/block-storage/v3/#volumes-volumes
func usable(status string) bool {
	return slices.Contains([]string{"available", "creating", "downloading"}, status)
}

func deletable(status string) bool {
	return slices.Contains([]string{"available", "error", "error_restoring", "error_extending", "error_managing"}, status)
}

// passing reports whether a volume leaves the status by itself.
func passing(status string) bool {
	return slices.Contains([]string{"creating", "downloading", "attaching", "detaching", "deleting", "uploading", "in-use"}, status)
}

// stuckVolume says what is wrong with a volume that cannot be deleted, and what to do.
func stuckVolume(v *volumes.Volume) string {
	return fmt.Sprintf("volume %s (%s) is %s and takes no deletion (have an operator of the cloud run: cinder reset-state --state error %s)", v.Name, v.ID, v.Status, v.ID)
}

// stuckVolumes returns what is wrong with those of p, which no server has.
func (p *parts) stuckVolumes() (out []string) {
	for _, v := range p.volumes {
		if len(v.Attachments) == 0 && !deletable(v.Status) && !passing(v.Status) {
			out = append(out, stuckVolume(v))
		}
	}
	slices.Sort(out)
	return out
}

// volumeOverdue is for how long a volume without a server may have a status that it leaves
// by itself. Cinder does not take that long.
const volumeOverdue = 15 * time.Minute

// overdueVolumes returns what is wrong with those of p, which no server has, that Cinder
// does not finish.
func (p *parts) overdueVolumes(now time.Time) (out []string) {
	for _, v := range p.volumes {
		if passing(v.Status) && !v.UpdatedAt.IsZero() && now.Sub(v.UpdatedAt) > volumeOverdue {
			out = append(out, fmt.Sprintf("volume %s (%s) has been %s for more than 15 minutes (have an operator of the cloud run: cinder reset-state --state error %s)", v.Name, v.ID, v.Status, v.ID))
		}
	}
	return out
}

// ensureVolume makes a volume, or adopts the one of that name that the machine has. One
// that cannot be used stays unchanged, and another is made beside it. One that is usable
// and was made from another template has to go first.
func (m *maker) ensureVolume(ctx context.Context, suffix string, size int, image string, v *api.BlockDeviceVolume) (string, error) {
	name := m.r.name() + "-" + suffix
	own := slices.DeleteFunc(m.s.Volumes.Of(m.r.Owner), func(v *volumes.Volume) bool {
		return v.Name != name || len(v.Attachments) > 0 || !usable(v.Status)
	})
	for _, v := range own {
		if have := cloud.Tags(v.Metadata)[fleet.TagTemplate]; have != m.r.Tags[fleet.TagTemplate] {
			return "", m.former("volume "+name, "it was made from template "+have)
		}
	}
	own = slices.DeleteFunc(own, func(v *volumes.Volume) bool { return v.Size != size })
	own = oldest(own, func(v *volumes.Volume) int64 { return v.CreatedAt.UnixNano() }, func(v *volumes.Volume) string { return v.ID })
	if len(own) > 0 {
		m.made.volumes = append(m.made.volumes, own[0].ID)
		return own[0].ID, nil
	}
	client, err := m.p.BlockStorage(ctx)
	if err != nil {
		return "", err
	}
	opts := volumes.CreateOpts{Name: name, Size: size, ImageID: image, Metadata: cloud.Metadata(m.r.Tags)}
	if v != nil {
		opts.VolumeType, opts.AvailabilityZone = v.Type, m.volumeZone(v.AvailabilityZone)
	}
	made, err := volumes.Create(ctx, client, opts, nil).Extract()
	if err != nil {
		return "", openstackauth.Wrap("make volume "+name, invalid(err))
	}
	m.made.volumes = append(m.made.volumes, made.ID)
	return made.ID, nil
}

func (m *maker) volumeZone(z *api.VolumeAvailabilityZone) string {
	switch {
	case z == nil:
		return ""
	case z.From == api.VolumeAZFromMachine:
		return m.r.Zone
	}
	return string(ptr.Deref(z.Name, ""))
}

// awaitVolumes waits until Cinder has made the volumes.
func (m *maker) awaitVolumes(ctx context.Context) error {
	if len(m.made.volumes) == 0 {
		return nil
	}
	client, err := m.p.BlockStorage(ctx)
	if err != nil {
		return err
	}
	deadline := time.Now().Add(volumeWait)
	for _, id := range m.made.volumes {
		if err := m.awaitVolume(ctx, client, id, deadline); err != nil {
			return err
		}
	}
	return nil
}

func (m *maker) awaitVolume(ctx context.Context, client *gophercloud.ServiceClient, id string, deadline time.Time) error {
	for {
		v, err := volumes.Get(ctx, client, id).Extract()
		if err != nil {
			return openstackauth.WrapLook("look at volume "+id, err)
		}
		op := "make volume " + v.Name
		switch v.Status {
		case "available":
			return nil
		case "creating", "downloading":
		case "error":
			return fleet.Errorf(fleet.Exhausted, op, "Cinder says %q of it and does not say why (its scheduler found no room or no such type in the zone; ask those who run it)", v.Status)
		default:
			return fleet.Errorf(fleet.Conflict, op, "it has become %s (the next try makes another)", v.Status)
		}
		if time.Now().After(deadline) {
			m.keep = true
			return fleet.Errorf(fleet.Unavailable, op, "Cinder is still at it: %s", v.Status)
		}
		timer := time.NewTimer(volumePace)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			m.keep = true
			return fleet.Errorf(fleet.Unavailable, op, "%w", fmt.Errorf("waiting for Cinder: %w", ctx.Err()))
		}
	}
}
