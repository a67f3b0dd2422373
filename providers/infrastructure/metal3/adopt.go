package metal3

import (
	"context"
	"maps"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/machine"
)

var _ providers.Adopter = (*Provider)(nil)

// An adoption is of a host with a machine that Metal3 made. Nothing else of the host is changed: neither
// power nor provision state, and of what Ironic has of it only what says whose it is.
type adoption = driver.Adoption[*observedHost]

// isMarked reports whether the host of x has all its tags. When it was deployed was told when it got them.
func isMarked(x *adoption) bool {
	r, want := x.Thing.record, x.Tags
	if at := r.extra[TagCreated]; at != "" {
		want = maps.Clone(want)
		want[TagCreated] = at
	}
	return maps.Equal(r.extra, want) && maps.Equal(r.info, want) && instanceOf(want) == x.Thing.node.Instance
}

// Adoptable implements providers.Adopter.
func (p *Provider) Adoptable(ctx context.Context, c *fleet.Cluster, machines []providers.AdoptedMachine) ([]string, error) {
	all, got, err := p.adoptions(ctx, c, machines)
	if err != nil {
		return nil, ofAll("adopt "+c.Key.String(), err)
	}
	var out []string
	for i := range all {
		if x := &all[i]; !isMarked(x) {
			out = append(out, x.Where)
		}
	}
	for _, h := range got.unnoted(all) {
		out = append(out, "host "+h.String())
	}
	slices.Sort(out)
	return slices.Compact(out), ofAll("adopt "+c.Key.String(), err)
}

// Adopt implements providers.Adopter: extra and instance_info of each node get the tags. A node
// that Metal3 adopted again, since its Ironic had lost its database, has no instance_uuid, and gets
// that of its machine, which Ironic refuses where anybody has the node.
func (p *Provider) Adopt(ctx context.Context, c *fleet.Cluster, machines []providers.AdoptedMachine) error {
	op := "adopt " + c.Key.String()
	all, got, err := p.adoptions(ctx, c, machines)
	if err != nil {
		return ofAll(op, err)
	}
	for i := range all {
		x := &all[i]
		if isMarked(x) {
			continue
		}
		switch now, err := p.again(ctx, got, x.Thing); {
		case err != nil:
			return wrap(op, err)
		case now.node.Instance != x.Thing.node.Instance || now.node.State != x.Thing.node.State:
			return fleet.Errorf(fleet.Conflict, op, "%s changed while it was being adopted: it is %s now", x.Where, now.node.State)
		}
		m := ironic.Mark{Extra: extraOf(x.Tags, false), Info: x.Tags}
		if x.Thing.node.Instance == "" {
			m.Instance = instanceOf(x.Tags)
		}
		err := got.client.Mark(ctx, x.ID, m)
		got.listings.Changed(snapshot.OwnerOf(c).Part(x.Machine))
		if err != nil {
			return wrap(op+": mark "+x.Where, err)
		}
	}
	return wrap(op, got.notePrepared(ctx, all))
}

// unnoted returns the hosts of all, and those that are free, of which it is not noted that they are as
// Git says: who enrolled them prepared them before machines had them.
func (o *observation) unnoted(all []adoption) []*observedHost {
	var out []*observedHost
	for i := range o.hosts {
		h := &o.hosts[i]
		free := h.node != nil && h.node.Instance == "" && h.node.State == ironic.Available
		ours := slices.ContainsFunc(all, func(x adoption) bool { return x.Thing == h })
		if h.object != nil && !h.spec.ExternallyProvisioned && o.isForeign(h) && h.prepared == (machine.PreparationRecord{}) && (free || ours) && h.git.What(h.prepared) != "" {
			out = append(out, h)
		}
	}
	return out
}

// notePrepared notes that.
func (o *observation) notePrepared(ctx context.Context, all []adoption) error {
	for _, h := range o.unnoted(all) {
		now := h.git.Ask(h.prepared, h.node.Updated).Ended(true)
		err := o.client.Note(ctx, h.node.UUID, machine.PreparationKey, now, nil)
		o.listings.Changed(snapshot.OwnerOf(o.cluster))
		if err != nil {
			return err
		}
	}
	return nil
}

// isForeign reports whether another controller enrolled h.
func (o *observation) isForeign(h *observedHost) bool {
	return h.node != nil && h.node.UUID != ironic.NodeID(string(o.cluster.Fleet), h.Namespace, h.Name)
}

// forgetPrepared takes that away again, of hosts that another controller enrolled.
func (o *observation) forgetPrepared(ctx context.Context) error {
	for i := range o.hosts {
		h := &o.hosts[i]
		if !o.isForeign(h) || h.node.DriverInfo[machine.PreparationKey] == nil {
			continue
		}
		if err := o.client.Note(ctx, h.node.UUID, machine.PreparationKey, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// ofAll returns err, which may be of several machines, as what could not be done.
func ofAll(op string, err error) error {
	if err == nil {
		return nil
	}
	return fleet.Errorf(fleet.KindOf(err), op, "%w", err)
}

// Release implements providers.Adopter.
func (p *Provider) Release(ctx context.Context, c *fleet.Cluster, machines []providers.AdoptedMachine) error {
	op := "release " + c.Key.String()
	got, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return wrap(op, err)
	}
	var seen []fleet.Machine
	for _, h := range got.machines {
		m := h.machine
		if h.lost {
			m.Damaged = m.Message
		}
		seen = append(seen, m)
	}
	if err := driver.MayRelease(op, c, seen, machines, func(id fleet.ProviderID) string { return string(id) }); err != nil {
		return err
	}
	for _, h := range got.machines {
		instance := ""
		if h.tags[TagInstance] == "" {
			instance = instanceOf(h.tags)
		}
		err := got.client.Unmark(ctx, h.node, instance)
		got.listings.Changed(snapshot.OwnerOf(c).Part(h.machine.Name))
		if err != nil {
			return wrap(op, err)
		}
	}
	if err := got.forgetPrepared(ctx); err != nil {
		return wrap(op, err)
	}
	p.found.Forget(snapshot.OwnerOf(c))
	return nil
}
