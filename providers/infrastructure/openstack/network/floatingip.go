package network

import (
	"context"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"k8s.io/utils/ptr"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// floatingIP returns the floating IP of the API server, or nil and has it made.
// It is the one that the machines know; else the one that Git names by its address; else
// the one that is on port, which may be empty; else the cluster's own.
func (v *view) floatingIP(d *decision, port string) *floatingips.FloatingIP {
	used := func(f floatingips.FloatingIP) bool {
		return f.PortID != "" || sameAddress(f.FloatingIP, v.known().Host)
	}
	mine, surplus, _ := pick(v.mine.floatingIPs, func(f floatingips.FloatingIP) (time.Time, string) { return f.CreatedAt, f.ID }, used)
	asked := v.askedFloatingIP()
	if mine != nil && asked != "" && !sameAddress(mine.FloatingIP, asked) {
		if v.started() {
			d.CannotFollow("the floating IP of the API server", "the machines know the API server at %s, Git says %s (put it back, or make a new cluster)", mine.FloatingIP, asked)
			asked = mine.FloatingIP
		} else {
			surplus, mine = append(surplus, *mine), nil
		}
	}
	for _, s := range surplus {
		d.Add(v.removeFloatingIP(s))
	}
	if mine != nil {
		v.tags(d, "floatingips", mine.ID, mine.FloatingIP, mine.Tags, func(t []string) { mine.Tags = t; v.putFloatingIP(*mine) })
		return mine
	}
	if kept, ok := v.keptFloatingIP(); ok {
		if asked != "" && !sameAddress(kept.FloatingIP, asked) {
			d.CannotFollow("the floating IP of the API server", "the machines know the API server at %s, Git says %s "+putBack, kept.FloatingIP, asked)
		}
		return &kept
	}
	if asked == "" && isAddress(v.cluster.RestoreHost()) {
		asked = v.cluster.RestoreHost()
	}
	if asked != "" {
		return v.namedFloatingIP(d, asked, port)
	}
	if f, ok := find(v.all.floatingIPs, func(f floatingips.FloatingIP) bool { return port != "" && f.PortID == port }); ok {
		return &f
	}
	v.makeFloatingIP(d, "", port)
	return nil
}

// askedFloatingIP returns the address that Git names, if it does.
func (v *view) askedFloatingIP() string {
	if asked := ptr.Deref(v.apiServer().FloatingIP, ""); asked != "" {
		return asked
	}
	if isAddress(v.host()) {
		return v.host()
	}
	return ""
}

// namedFloatingIP returns the one that Git names. One that is in use elsewhere is
// left there.
func (v *view) namedFloatingIP(d *decision, asked, port string) *floatingips.FloatingIP {
	f, ok := find(v.all.floatingIPs, func(f floatingips.FloatingIP) bool { return sameAddress(f.FloatingIP, asked) })
	if !ok {
		v.makeFloatingIP(d, asked, port)
		return nil
	}
	if o, marked := cloud.ParseOwner(f.Description); marked && o != v.owner {
		d.Fault(fleet.Errorf(fleet.Conflict, "use floating IP "+asked, "it belongs to cluster %s of fleet %s", o.Cluster, o.Fleet))
		return nil
	}
	if f.PortID != "" && f.PortID != port && !v.onControlPlane(d, port, f.PortID) {
		d.Fault(fleet.Errorf(fleet.Conflict, "use floating IP "+asked, "it is on port %s, which is not of the API server (take it off, or name another)", f.PortID))
		return nil
	}
	return &f
}

// onControlPlane reports whether a floating IP may stay on the port that it is
// on: one of a machine of the control plane, where there is no load balancer.
func (v *view) onControlPlane(d *decision, balancer, port string) bool {
	return balancer == "" && slices.ContainsFunc(v.machines, func(m machine) bool {
		return (m.controlPlane || v.inDoubt(m)) && slices.ContainsFunc(v.addressesOf(m.id, d.placement.Network), func(a address) bool { return a.port == port })
	})
}

// makeFloatingIP has one made, with the address that Git names if it does.
func (v *view) makeFloatingIP(d *decision, asked, port string) {
	external := d.placement.ExternalNetwork
	what := "make a floating IP for the API server"
	if asked != "" {
		what = "make floating IP " + asked + " for the API server"
	}
	d.Add(step{What: what, Essential: true, Do: v.neutron(func(ctx context.Context, c *gophercloud.ServiceClient) (err error) {
		if asked == "" && v.host() != "" {
			if asked, err = resolve(ctx, v.host(), "apiServer.floatingIP"); err != nil {
				return err
			}
			f, ok := find(v.all.floatingIPs, func(f floatingips.FloatingIP) bool { return sameAddress(f.FloatingIP, asked) })
			if ok && f.PortID == "" && port != "" {
				return v.attach(f, port, "", "").Do(ctx)
			}
		}
		f, err := floatingips.Create(ctx, c, floatingips.CreateOpts{
			Description: v.description(ForEndpoint), FloatingNetworkID: external, FloatingIP: asked, PortID: port,
		}).Extract()
		return entered(v.putFloatingIP, f, err)
	})})
}

func (v *view) putFloatingIP(f floatingips.FloatingIP) {
	same := func(o floatingips.FloatingIP) bool { return o.ID == f.ID }
	if o, ok := cloud.ParseOwner(f.Description); ok && o == v.owner && isFor(f.Description, ForEndpoint) {
		put(&v.all.floatingIPs, &v.mine.floatingIPs, f, same)
		return
	}
	v.all.floatingIPs = append(without(v.all.floatingIPs, same), f)
}

// attach puts f on a port.
func (v *view) attach(f floatingips.FloatingIP, port, fixed, where string) step {
	return step{What: "put floating IP " + f.FloatingIP + " on " + where, Do: v.neutron(func(ctx context.Context, c *gophercloud.ServiceClient) error {
		got, err := floatingips.Update(ctx, c, f.ID, floatingips.UpdateOpts{PortID: &port, FixedIP: fixed}).Extract()
		return entered(v.putFloatingIP, got, err)
	})}
}
