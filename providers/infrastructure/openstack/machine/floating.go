package machine

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// ensureFloating attaches a floating IP to the port of the server: the one that
// it has, one that the user named, one that its pool has to spare, or a new one.
func (m *maker) ensureFloating(ctx context.Context, portID string) error {
	if !m.r.Floating.wanted() {
		return nil
	}
	release, err := m.p.Exclusive(ctx) // so that no two machines take the same one
	if err != nil {
		return err
	}
	defer release()
	client, err := m.p.Network(ctx)
	if err != nil {
		return err
	}
	candidates, err := m.spare(portID)
	if err != nil || (len(candidates) == 1 && candidates[0].PortID == portID) {
		return err
	}
	for _, f := range candidates {
		taken, err := m.attach(ctx, client, f.ID, portID, f)
		if err != nil || taken {
			return err
		}
	}
	if m.r.Floating.Address != "" {
		return fleet.Errorf(fleet.Conflict, "attach floating IP "+m.r.Floating.Address, "it is attached to another port, or was made for something else (detach it, or name another)")
	}
	if err := m.roomInPool(ctx, client); err != nil {
		return err
	}
	text, net := "", m.r.Floating.Network
	if pool := m.r.Floating.Pool; pool != nil {
		text, net = pool.text(), pool.Network
	}
	made, err := floatingips.Create(ctx, client, floatingips.CreateOpts{
		FloatingNetworkID: net, PortID: portID, Description: cloud.FormatOwner(text, m.r.Owner),
	}).Extract()
	if err != nil {
		return openstackauth.Wrap("make a floating IP for "+m.r.name(), invalid(err))
	}
	m.made.floating = append(m.made.floating, made.ID)
	return m.setTags(ctx, client, "floatingips", made.ID, m.r.tags(), nil)
}

// spare returns the floating IPs that the server may have, the best first; only
// the one that it has, where it has one.
func (m *maker) spare(portID string) ([]*floatingips.FloatingIP, error) {
	all := m.s.FloatingIPs.All
	byAddress := func(a string) *floatingips.FloatingIP {
		i := slices.IndexFunc(all, func(f floatingips.FloatingIP) bool { return f.FloatingIP == a })
		if i < 0 {
			return nil
		}
		return &all[i]
	}
	for i := range all {
		if all[i].PortID == portID {
			return []*floatingips.FloatingIP{&all[i]}, nil
		}
	}
	if a := m.r.Floating.Address; a != "" {
		f := byAddress(a)
		if f == nil {
			return nil, fleet.Errorf(fleet.Invalid, "find floating IP "+a, "the project has none of that address (make it, or leave the field out)")
		}
		return []*floatingips.FloatingIP{f}, nil
	}
	out := m.s.FloatingIPs.Of(m.r.Owner) // made for it by an earlier call
	if pool := m.r.Floating.Pool; pool != nil {
		for _, a := range pool.Spec.PreAllocatedFloatingIPs {
			if f := byAddress(a); f != nil && f.PortID == "" {
				out = append(out, f)
			}
		}
		for _, f := range retainedFloatingIPs(m.s, m.r.Owner) {
			if f.PortID == "" && strings.HasPrefix(f.Description, pool.text()+" [") {
				out = append(out, f)
			}
		}
	}
	return out, nil
}

// attach gives f to the port, unless something else has it by now: Neutron would
// take it from there without a word. A kept one is marked as the machine's.
func (m *maker) attach(ctx context.Context, client *gophercloud.ServiceClient, id, portID string, seen *floatingips.FloatingIP) (bool, error) {
	now, err := floatingips.Get(ctx, client, id).Extract()
	switch {
	case openstackauth.NotFound(err):
		return false, nil
	case err != nil:
		return false, openstackauth.WrapLook("look at floating IP "+seen.FloatingIP, err)
	case now.PortID == portID:
		return true, nil
	case now.PortID != "":
		return false, nil
	}
	opts := floatingips.UpdateOpts{PortID: &portID}
	pool := m.r.Floating.Pool
	switch o, marked := cloud.ParseOwner(now.Description); {
	case !marked || o == m.r.Owner:
	case pool == nil || o != m.r.Owner.Shared() || !strings.HasPrefix(now.Description, pool.text()+" ["):
		return false, nil // made for something else, which will come for it
	default:
		text := cloud.FormatOwner(pool.text(), m.r.Owner)
		opts.Description = &text
		m.made.kept = append(m.made.kept, id)
	}
	if _, err := floatingips.Update(ctx, client, id, opts).Extract(); err != nil {
		return false, openstackauth.Wrap("attach floating IP "+now.FloatingIP, err)
	}
	return true, nil
}

// roomInPool refuses to make more floating IPs than the pool may have. It asks
// again: other machines may have taken some since the snapshot.
func (m *maker) roomInPool(ctx context.Context, client *gophercloud.ServiceClient) error {
	pool := m.r.Floating.Pool
	if pool == nil || pool.Spec.MaxIPs == nil {
		return nil
	}
	op := "take a floating IP from pool " + pool.Name
	pages, err := floatingips.List(client, floatingips.ListOpts{}).AllPages(ctx)
	if err != nil {
		return openstackauth.WrapLook(op, err)
	}
	all, err := floatingips.ExtractFloatingIPs(pages)
	if err != nil {
		return openstackauth.WrapLook(op, err)
	}
	n := 0
	for i := range all {
		if m.ofPool(&all[i], pool) {
			n++
		}
	}
	if n < *pool.Spec.MaxIPs {
		return nil
	}
	return fleet.Errorf(fleet.Exhausted, op, "all %d of maxIPs are in use (raise maxIPs, or remove machines)", *pool.Spec.MaxIPs)
}

// ofPool reports whether pool made f, for any cluster in its namespace, or gave
// it out.
func (m *maker) ofPool(f *floatingips.FloatingIP, pool *Pool) bool {
	if f.PortID != "" && slices.Contains(pool.Spec.PreAllocatedFloatingIPs, f.FloatingIP) {
		return true
	}
	o, ours := cloud.ParseOwner(f.Description)
	return ours && o.Fleet == m.r.Owner.Fleet && o.Cluster.Namespace == m.r.Owner.Cluster.Namespace &&
		strings.HasPrefix(f.Description, pool.text()+" [")
}

// retainedFloatingIPs returns the floating IPs that the pools of the cluster of o keep.
func retainedFloatingIPs(s *cloud.Snapshot, o snapshot.Owner) []*floatingips.FloatingIP {
	return slices.DeleteFunc(s.FloatingIPs.SharedBy(o), func(f *floatingips.FloatingIP) bool {
		return !strings.HasPrefix(f.Description, PoolText)
	})
}

// poolOfText returns the pool that the description of a floating IP names.
func poolOfText(description string) (string, bool) {
	text, _, _ := strings.Cut(description, " [fairlead.dev ")
	return strings.CutPrefix(text, PoolText)
}

// release gives a floating IP of a machine back: to its pool where that keeps
// them, else to the cloud.
func release(ctx context.Context, p *cloud.Project, f *floatingips.FloatingIP, o snapshot.Owner, keeps func(pool string) bool) error {
	client, err := p.Network(ctx)
	if err != nil {
		return err
	}
	if err := stillUnused(ctx, client, f); err != nil {
		return err
	}
	if name, ok := poolOfText(f.Description); ok && keeps(name) {
		text := cloud.FormatOwner(PoolText+name, o.Shared())
		_, err = floatingips.Update(ctx, client, f.ID, floatingips.UpdateOpts{Description: &text, PortID: new(string)}).Extract()
		if err != nil && !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			return openstackauth.Wrap("give floating IP "+f.FloatingIP+" back to its pool", err)
		}
		return nil
	}
	return deleted("floating IP "+f.FloatingIP, floatingips.Delete(ctx, client, f.ID).Err)
}

// stillUnused looks at f again: the listing may be old. The kind Conflict says that people gave it to
// something else since, or took the mark off it.
func stillUnused(ctx context.Context, client *gophercloud.ServiceClient, f *floatingips.FloatingIP) error {
	now, err := floatingips.Get(ctx, client, f.ID).Extract()
	switch {
	case openstackauth.NotFound(err):
		return nil
	case err != nil:
		return openstackauth.WrapLook("look at floating IP "+f.FloatingIP, err)
	case now.Description != f.Description, now.PortID != "" && now.PortID != f.PortID:
		return fleet.Errorf(fleet.Conflict, "give back floating IP "+f.FloatingIP, "somebody gave it to port %q since it was listed, or changed its description", now.PortID)
	}
	return nil
}
