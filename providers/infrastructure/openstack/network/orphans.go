package network

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// The kinds of orphan that this package knows.
const (
	OrphanFloatingIP    = "floating IP"
	OrphanLoadBalancer  = "load balancer"
	OrphanNetwork       = "network"
	OrphanPort          = "port"
	OrphanRouter        = "router"
	OrphanSecurityGroup = "security group"
	OrphanSubnet        = "subnet"
)

// Orphans lists what the snapshot has that machines shared, of clusters of fleet
// id that are none of clusters, and load balancers that such a cluster's cloud
// controller manager made for Services. Provider and Place are left for the
// caller to fill in. Sorted.
//
// A load balancer for a Service has no mark. On a network of the lost cluster it
// is the cluster's. Elsewhere only its name tells: it is listed where that is the
// name of a lost cluster that left other things too, and of no cluster else.
func Orphans(s *cloud.Snapshot, id fleet.ID, clusters []fleet.Key) []fleet.Orphan {
	var out []fleet.Orphan
	for _, o := range s.Clusters() {
		if o.Fleet != id || slices.Contains(clusters, o.Cluster) {
			continue
		}
		for _, l := range ownedView(s, o).orphans(s, clusters) {
			out = append(out, l.orphan)
		}
	}
	return sorted(out)
}

func sorted(list []fleet.Orphan) []fleet.Orphan {
	slices.SortFunc(list, func(a, b fleet.Orphan) int {
		return cmp.Or(cmp.Compare(a.Cluster.String(), b.Cluster.String()), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// Unproven is how the reasons of what Ended lists end.
const Unproven = "not removed, since nothing proves it"

// Ended lists what the names and descriptions of a cloud controller manager say that
// it made for Services of clusters that were deleted, and left nothing else. Nothing
// proves that they are right, so that none of it is removed. A cluster that has
// anything in s is passed over. clusters are all that Git has. Sorted.
func Ended(s *cloud.Snapshot, ended []snapshot.Owner, clusters []fleet.Key) []fleet.Orphan {
	var out []fleet.Orphan
	there := s.Clusters()
	for _, o := range ended {
		if !slices.Contains(there, o) {
			out = append(out, ownedView(s, o).named(s, clusters)...)
		}
	}
	return sorted(out)
}

// named lists what carries the name of the cluster in the way of the cloud controller
// manager, where no other cluster has that name.
func (v *view) named(s *cloud.Snapshot, clusters []fleet.Key) []fleet.Orphan {
	if v.nameTaken(s, clusters) {
		return nil
	}
	var out []fleet.Orphan
	name := v.owner.Cluster.Name
	add := func(kind, id, called string, born time.Time) {
		out = append(out, fleet.Orphan{
			Cluster: v.owner.Cluster, Kind: kind, ID: id, Name: called, Created: born,
			Reason: "cluster " + v.owner.Cluster.String() + " is deleted, and the name says that it was made for a Service of it: " + Unproven,
		})
	}
	for _, lb := range v.all.loadBalancers {
		if _, marked := cloud.ParseOwner(lb.Description); !marked && strings.HasPrefix(lb.Name, servicePrefix+name+"_") {
			add(OrphanLoadBalancer, lb.ID, lb.Name, lb.CreatedAt)
		}
	}
	for _, f := range v.all.floatingIPs {
		if strings.HasPrefix(f.Description, serviceAddress) && strings.HasSuffix(f.Description, " from cluster "+name) {
			add(OrphanFloatingIP, f.ID, f.FloatingIP, f.CreatedAt)
		}
	}
	for _, g := range v.all.groups {
		if strings.HasPrefix(g.Name, serviceGroup) && strings.HasPrefix(g.Description, serviceGroupWords) && strings.HasSuffix(g.Description, " Service LoadBalancer in cluster "+name) {
			add(OrphanSecurityGroup, g.ID, g.Name, g.CreatedAt)
		}
	}
	return out
}

// nameTaken reports whether the name of the cluster is that of another one too, or
// what the cloud controller manager calls a cluster that it was told no name of.
func (v *view) nameTaken(s *cloud.Snapshot, clusters []fleet.Key) bool {
	name := v.owner.Cluster.Name
	return name == "kubernetes" ||
		slices.ContainsFunc(clusters, func(k fleet.Key) bool { return k != v.owner.Cluster && k.Name == name }) ||
		slices.ContainsFunc(s.Clusters(), func(o snapshot.Owner) bool { return o != v.owner && o.Cluster.Name == name })
}

// RemoveOrphan takes the steps towards removing o, one of what Orphans gave for
// the same arguments, that are possible at this moment. What is not there, or no
// orphan any more, is success; what others hang on gives the kind Conflict.
func RemoveOrphan(ctx context.Context, p *cloud.Project, s *cloud.Snapshot, id fleet.ID, clusters []fleet.Key, o fleet.Orphan) error {
	owner := snapshot.Owner{Fleet: id, Cluster: o.Cluster}
	if slices.Contains(clusters, o.Cluster) {
		return nil
	}
	v := ownedView(s, owner)
	errs, _ := perform(ctx, p, v, func() *decision {
		d := new(decision)
		for _, l := range v.orphans(s, clusters) {
			if l.orphan.Kind == o.Kind && l.orphan.ID == o.ID {
				d.Steps = append(d.Steps, l.steps...)
			}
		}
		return d
	})
	return fleet.JoinErrors(errs...)
}

// An orphan is one of a cluster that is gone, with what removes it.
type orphan struct {
	orphan fleet.Orphan
	steps  []step
}

// orphans lists the orphans of a cluster that is gone.
func (v *view) orphans(s *cloud.Snapshot, clusters []fleet.Key) []orphan {
	var out []orphan
	why := "cluster " + v.owner.Cluster.String() + " is not in the fleet any more"
	add := func(kind, id, name string, born time.Time, reason string, steps ...step) {
		out = append(out, orphan{fleet.Orphan{Cluster: v.owner.Cluster, Kind: kind, ID: id, Name: name, Reason: reason, Created: born}, steps})
	}
	for _, f := range v.mine.floatingIPs {
		add(OrphanFloatingIP, f.ID, f.FloatingIP, f.CreatedAt, why, v.removeFloatingIP(f))
	}
	for _, lb := range without(v.mine.loadBalancers, lbGoing) {
		add(OrphanLoadBalancer, lb.ID, lb.Name, lb.CreatedAt, why, v.removeLoadBalancer(lb))
	}
	for _, lb := range without(v.lostServices(s, clusters), lbGoing) {
		reason := why + ", and the name says that it was made for a Service of such a cluster"
		if v.onOwnNetwork(lb) {
			reason = why + ", and it was made for a Service on the cluster's network"
		}
		add(OrphanLoadBalancer, lb.ID, lb.Name, lb.CreatedAt, reason, append(v.serviceParts(lb), v.removeLoadBalancer(lb))...)
	}
	for _, p := range v.mine.ports {
		add(OrphanPort, p.ID, p.Name, p.CreatedAt, why, v.removePort(p))
	}
	for _, r := range v.mine.routers {
		add(OrphanRouter, r.ID, r.Name, r.CreatedAt, why, append(v.disconnectAll(func(p cloud.Port, _ subnets.Subnet) bool { return p.DeviceID == r.ID }), v.removeRouter(r))...)
	}
	for _, n := range v.mine.networks {
		add(OrphanNetwork, n.ID, n.Name, n.CreatedAt, why, append(v.disconnectAll(func(_ cloud.Port, s subnets.Subnet) bool { return s.NetworkID == n.ID }), v.removeNetwork(n))...)
	}
	for _, g := range v.mine.groups {
		add(OrphanSecurityGroup, g.ID, g.Name, g.CreatedAt, why, v.removeGroup(g))
	}
	for _, s := range v.strandedSubnets() {
		add(OrphanSubnet, s.ID, cmp.Or(s.Name, s.CIDR), s.CreatedAt, why, v.removeSubnet(s))
	}
	return out
}

// lostServices returns the load balancers of Services of a cluster that is gone.
func (v *view) lostServices(s *cloud.Snapshot, clusters []fleet.Key) []loadbalancers.LoadBalancer {
	out := v.services()
	if v.nameTaken(s, clusters) {
		return out
	}
	name := v.owner.Cluster.Name
	for _, lb := range v.all.loadBalancers {
		_, marked := cloud.ParseOwner(lb.Description)
		if !marked && strings.HasPrefix(lb.Name, servicePrefix+name+"_") && !v.onOwnNetwork(lb) {
			out = append(out, lb)
		}
	}
	return out
}
