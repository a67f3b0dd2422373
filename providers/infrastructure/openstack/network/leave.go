package network

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// Leave has the endpoint lead to other machines of the control plane than the one called
// name, which is to go: it leaves the load balancer, and the floating IP goes to another.
// The kind Conflict says that the endpoint would not lead to each machine that stays.
func Leave(ctx context.Context, p *cloud.Project, s *cloud.Snapshot, c *fleet.Cluster, spec *api.OpenStackClusterSpec, name fleet.MachineName) error {
	if why := newView(s, c, spec).unserved(name); why != "" {
		return fleet.Errorf(fleet.Conflict, "take machine "+string(name)+" out of the load balancer", "%s", why)
	}
	if err := RemoveMember(ctx, p, s, snapshot.OwnerOf(c).Part(name)); err != nil {
		return err
	}
	return HandOver(ctx, p, s, c, spec, name)
}

// staying returns the machines of the control plane that stay when the one called name
// goes, as far as they run and it is certain that they are of it.
func (v *view) staying(name fleet.MachineName) []machine {
	return filter(without(v.controlPlane(), v.inDoubt), func(m machine) bool { return m.name != name && m.active })
}

// unserved says which machine of the control plane stays and is not behind a load balancer
// that leads to the machine called name; empty where all are.
func (v *view) unserved(name fleet.MachineName) string {
	for _, lb := range v.mine.loadBalancers {
		for _, p := range v.poolsOf(lb) {
			if !slices.ContainsFunc(v.machines, func(m machine) bool { return m.name == name && v.leadsTo(p, m) }) {
				continue
			}
			for _, m := range v.staying(name) {
				if !v.leadsTo(p, m) {
					return "machine " + string(m.name) + " stays and is no member of pool " + p.Name + " yet, and load balancer " + cmp.Or(lb.Name, lb.ID) + " is " + lb.ProvisioningStatus
				}
			}
		}
	}
	return ""
}

// leadsTo reports whether p has a member for m: one with its mark, or one that others made
// at an address of it.
func (v *view) leadsTo(p pool, m machine) bool {
	return slices.ContainsFunc(p.Members, func(o pools.Member) bool {
		return v.memberOf(o) == m.name || slices.ContainsFunc(v.addressesOf(m.id, ""), func(a address) bool { return sameAddress(a.ip, o.Address) })
	})
}

// RemoveMember takes a machine of the control plane out of the load balancer,
// before it is removed. A load balancer that takes no change at this moment gives
// the kind Conflict; one that is broken, and a machine that is no member, nothing.
func RemoveMember(ctx context.Context, p *cloud.Project, s *cloud.Snapshot, o snapshot.Owner) error {
	v := ownedView(s, o.Shared())
	var blocked []string
	errs, _ := perform(ctx, p, v, func() *decision {
		d, waits := v.memberRemoval(o.Machine)
		blocked = waits
		return d
	})
	if len(errs) == 0 && len(blocked) > 0 {
		errs = append(errs, fleet.Errorf(fleet.Conflict, "take machine "+string(o.Machine)+" out of the load balancer", "%s", blocked[0]))
	}
	return fleet.JoinErrors(errs...)
}

// HandOver puts the floating IP of the API server on another machine of the control
// plane, where machine name, which is to be removed, has it. If others stay and it does not get
// to one of them, the kind is Conflict.
func HandOver(ctx context.Context, p *cloud.Project, s *cloud.Snapshot, c *fleet.Cluster, spec *api.OpenStackClusterSpec, name fleet.MachineName) error {
	v := newView(s, c, spec)
	for i := range v.machines {
		v.machines[i].leaving = v.machines[i].leaving || v.machines[i].name == name
	}
	errs, last := perform(ctx, p, v, func() *decision {
		d := v.decide()
		d.Steps = filter(d.Steps, func(s step) bool { return s.What == d.handsOver })
		return d
	})
	err := fleet.JoinErrors(errs...)
	for _, f := range v.all.floatingIPs {
		if v.leadsToAPIServer(f, last.Endpoint) && len(v.staying(name)) > 0 && v.on(f.PortID, name) {
			if err == nil {
				err = errors.New("no other machine of the control plane can take it")
			}
			return fleet.Errorf(fleet.Conflict, "take floating IP "+f.FloatingIP+" off machine "+string(name), "%w", err)
		}
	}
	return err
}

// leadsToAPIServer reports whether f is the floating IP of the API server, which answers at e.
// Git may name a host that leads to it.
func (v *view) leadsToAPIServer(f floatingips.FloatingIP, e fleet.Endpoint) bool {
	return sameAddress(f.FloatingIP, e.Host) || sameAddress(f.FloatingIP, v.askedFloatingIP()) ||
		slices.ContainsFunc(v.mine.floatingIPs, func(o floatingips.FloatingIP) bool { return o.ID == f.ID })
}

// on reports whether port is one of the machine called name.
func (v *view) on(port string, name fleet.MachineName) bool {
	return slices.ContainsFunc(v.machines, func(m machine) bool {
		return m.name == name && slices.ContainsFunc(v.addressesOf(m.id, ""), func(a address) bool { return a.port == port })
	})
}

// stuckAfter is how long a load balancer may be pending. Octavia does not take that
// long. Where one of its parts died, only an operator of the cloud ends it, and the load
// balancer goes on forwarding to the members that it has. A machine may go then as long
// as each one that stays is a member: its own member leads to nothing, and a monitor
// takes it out. Where one that stays is no member, no machine goes.
const stuckAfter = 15 * time.Minute

// settling reports whether lb will take changes again by itself.
func (v *view) settling(lb loadbalancers.LoadBalancer) bool {
	since := lb.UpdatedAt
	if since.IsZero() {
		since = lb.CreatedAt
	}
	return strings.HasPrefix(lb.ProvisioningStatus, "PENDING_") && v.at.Sub(since) < stuckAfter
}

// memberRemoval follows how a machine leaves the load balancers of the cluster.
func (v *view) memberRemoval(name fleet.MachineName) (*decision, []string) {
	d := new(decision)
	var blocked []string
	for _, lb := range v.mine.loadBalancers {
		for _, p := range v.poolsOf(lb) {
			for _, m := range p.Members {
				if v.memberOf(m) != name {
					continue
				}
				s := v.removeMember(lb, p, m, name)
				d.Add(s)
				if v.settling(lb) {
					blocked = append(blocked, "load balancer "+cmp.Or(lb.Name, lb.ID)+" is "+lb.ProvisioningStatus)
				}
			}
		}
	}
	return d, blocked
}
