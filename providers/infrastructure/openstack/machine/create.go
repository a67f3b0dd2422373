package machine

import (
	"context"
	"fmt"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"k8s.io/utils/ptr"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// A maker makes one server.
type maker struct {
	k    *Keeper
	p    *cloud.Project
	s    *cloud.Snapshot
	r    Request
	made made
	keep bool // what was made is wanted by the next call
	left bool // parts of an earlier machine of the name are in the way
}

// former says that a part of an earlier machine of that name is in the way. It is left
// over, and is removed before the next try.
func (m *maker) former(part, why string) error {
	m.keep, m.left = true, true
	return fleet.Errorf(fleet.Conflict, "make "+part, "that of the last machine of the name is there, and %s: it is removed first", why)
}

// made is what a call made or adopted.
type made struct {
	ports, trunks, volumes, floating []string
	kept                             []string // floating IPs taken from what a pool keeps
}

// Create makes the server of r, which s, a look at p, does not have, with the parts of it that s has.
// If it is definitely refused, nothing that it made is left.
func (k *Keeper) Create(ctx context.Context, p *cloud.Project, s *cloud.Snapshot, r Request) error {
	k.forget(machineID{p, r.Owner})
	m := &maker{k: k, p: p, s: s, r: r}
	defer p.Changed(r.Owner)
	err := m.make(ctx)
	if m.left {
		k.noteDeletion(machineID{p, r.Owner}, "")
	}
	if fleet.Refused(err) && !m.keep {
		err = fleet.JoinErrors(err, m.undo(ctx))
	}
	return err
}

func (m *maker) make(ctx context.Context) error {
	data, err := encode(m.r.UserData)
	if err != nil {
		return err
	}
	image, err := imageID(ctx, m.p, m.r.Spec.Image, m.r.Image)
	if err != nil {
		return err
	}
	flavor, err := flavorID(ctx, m.p, m.r.Spec.Flavor)
	if err != nil {
		return err
	}
	if err := m.room(ctx, flavor); err != nil {
		return err
	}
	group, err := serverGroupID(ctx, m.p, m.r.Spec.ServerGroup)
	if err != nil {
		return err
	}
	wanted, err := m.ports(ctx)
	if err != nil {
		return err
	}
	var nets []servers.Network
	for i, t := range wanted {
		id, err := m.ensurePort(ctx, t)
		if err != nil {
			return err
		}
		nets = append(nets, servers.Network{Port: id})
		if i == m.floatingPort(wanted) {
			if err := m.ensureFloating(ctx, id); err != nil {
				return err
			}
		}
	}
	disks, err := m.devices(ctx, image)
	if err != nil {
		return err
	}
	opts := servers.CreateOpts{
		Name: m.r.name(), ImageRef: image, FlavorRef: flavor, AvailabilityZone: m.r.Zone,
		Networks: nets, UserData: data, Tags: m.r.tags(), Metadata: m.r.metadata(),
		ConfigDrive: m.r.Spec.ConfigDrive, BlockDevice: disks,
	}
	if m.r.Spec.RootVolume != nil {
		opts.ImageRef = ""
	}
	return m.server(ctx, opts, group)
}

// floatingPort is the index of the port that a floating IP goes to: the first on
// the network of the cluster, which has the router.
func (m *maker) floatingPort(wanted []port) int {
	for i, t := range wanted {
		if t.network == m.r.Place.Network {
			return i
		}
	}
	return 0
}

func (m *maker) server(ctx context.Context, opts servers.CreateOpts, group string) error {
	client, err := m.p.Compute(ctx)
	if err != nil {
		return err
	}
	hints := make(map[string]any)
	if group != "" {
		hints["group"] = group
	}
	for _, h := range m.r.Spec.SchedulerHintAdditionalProperties {
		switch h.Value.Type {
		case api.SchedulerHintTypeBool:
			hints[h.Name] = ptr.Deref(h.Value.Bool, false)
		case api.SchedulerHintTypeNumber:
			hints[h.Name] = ptr.Deref(h.Value.Number, 0)
		case api.SchedulerHintTypeString:
			hints[h.Name] = ptr.Deref(h.Value.String, "")
		}
	}
	_, err = servers.Create(ctx, client,
		keypairs.CreateOptsExt{CreateOptsBuilder: opts, KeyName: m.r.Spec.SSHKeyName},
		servers.SchedulerHintOpts{AdditionalProperties: hints}).Extract()
	err = openstackauth.Wrap("make server "+m.r.name(), invalid(err))
	// A port that is in use may be that of the server that an earlier call made.
	m.keep = m.keep || fleet.KindOf(err) == fleet.Conflict
	return err
}

// undoWithin bounds what follows on a refusal, also of a call whose time is up.
const undoWithin = 30 * time.Second

// undo removes what a refused request made.
func (m *maker) undo(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWithin)
	defer cancel()
	if err := m.remove(ctx); err != nil {
		return fmt.Errorf("and what was made for it is left for later: %w", err)
	}
	return nil
}
