package network

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// Delete takes the steps towards removing what the machines of the cluster of o
// share that are possible at this moment: load balancers of its Services and its
// own, floating IPs, ports, the interfaces of routers in its subnets, its router,
// its network and its security groups. It follows from the marks alone, so that
// it works whatever became of Git. Nothing there is success; what has to be
// gone first, a load balancer or a part of the bastion, is no error. While machines
// of the cluster are there the error is of kind Conflict.
func Delete(ctx context.Context, p *cloud.Project, s *cloud.Snapshot, o snapshot.Owner) error {
	v := ownedView(s, o.Shared())
	if n := len(v.machines) + len(v.held); n > 0 {
		return fleet.Errorf(fleet.Conflict, "remove the infrastructure of cluster "+o.Cluster.String(), "%d of its machines are there", n)
	}
	errs, _ := perform(ctx, p, v, v.teardown)
	return fleet.JoinErrors(errs...)
}

// teardown follows what is to be removed. It is pure.
func (v *view) teardown() *decision {
	d := new(decision)
	v.teardownServices(d)
	for _, f := range v.mine.floatingIPs {
		d.Add(v.removeFloatingIP(f))
	}
	for _, lb := range v.mine.loadBalancers {
		if !lbGoing(lb) {
			d.Add(v.removeLoadBalancer(lb))
		}
	}
	for _, lb := range slices.Concat(v.services(), v.mine.loadBalancers) {
		if lb.ProvisioningStatus != lbActive && lb.ProvisioningStatus != lbError {
			d.wait("load balancer %s is %s", cmp.Or(lb.Name, lb.ID), lb.ProvisioningStatus)
		}
	}
	for _, p := range v.mine.ports {
		d.Add(v.removePort(p))
	}
	if len(v.bastion) > 0 {
		d.wait("the bastion is there, server %s", strings.Join(v.bastion, ", "))
	} else if v.parts > 0 {
		d.wait("ports of machines are there")
	}
	if v.balanced() || len(v.bastion)+v.parts > 0 {
		return d // until their ports are gone nothing below them can go
	}
	v.heldByOthers(d)
	d.Steps = append(d.Steps, v.disconnectAll(func(cloud.Port, subnets.Subnet) bool { return true })...)
	for _, r := range without(v.mine.routers, v.routerUsed) {
		d.Add(v.removeRouter(r))
	}
	for _, n := range v.mine.networks {
		if !slices.ContainsFunc(v.all.ports, func(p cloud.Port) bool { return p.NetworkID == n.ID && ofRouter(p) }) {
			d.Add(v.removeNetwork(n))
		}
	}
	for _, s := range without(v.strandedSubnets(), v.subnetHeld) {
		d.Add(v.removeSubnet(s))
	}
	for _, g := range v.mine.groups {
		d.Add(v.removeGroup(g))
	}
	return d
}

// heldByOthers notes the ports that were not made for the cluster and that keep a router, a
// network or a subnet of it. They are not removed with the cluster.
func (v *view) heldByOthers(d *decision) {
	mine := func(p cloud.Port) bool {
		return slices.ContainsFunc(v.mine.subnets, func(s subnets.Subnet) bool { return inSubnet(p, s.ID) })
	}
	for _, p := range v.all.ports {
		if !ofRouter(p) || mine(p) {
			continue
		}
		const advice = "in a subnet that was not made for the cluster (run: openstack router remove port %s %s)"
		if r, ok := find(v.mine.routers, func(r routers.Router) bool { return r.ID == p.DeviceID }); ok {
			d.wait("router %s (%s) has port %s "+advice, r.Name, r.ID, p.ID, r.ID, p.ID)
		} else if n, ok := find(v.mine.networks, func(n cloud.Network) bool { return n.ID == p.NetworkID }); ok {
			d.wait("network %s (%s) has port %s "+advice, n.Name, n.ID, p.ID, p.DeviceID, p.ID)
		}
	}
	for _, s := range v.strandedSubnets() {
		for _, p := range v.all.ports {
			if inSubnet(p, s.ID) && !ofNeutron(p) {
				d.wait("subnet %s (%s) has port %s of %s (remove that port)", s.CIDR, s.ID, p.ID, cmp.Or(p.DeviceOwner, "nothing"))
			}
		}
	}
}

// subnetHeld reports whether s has ports that keep it from being removed.
func (v *view) subnetHeld(s subnets.Subnet) bool {
	return slices.ContainsFunc(v.all.ports, func(p cloud.Port) bool { return inSubnet(p, s.ID) && (ofRouter(p) || !ofNeutron(p)) })
}

// disconnectAll takes those of the cluster's subnets off their routers that match
// finds.
func (v *view) disconnectAll(match func(cloud.Port, subnets.Subnet) bool) []step {
	var out []step
	for _, s := range v.mine.subnets {
		for _, p := range v.all.ports {
			if ofRouter(p) && inSubnet(p, s.ID) && match(p, s) {
				out = append(out, v.disconnect(p, s))
			}
		}
	}
	return out
}

// strandedSubnets returns the cluster's subnets in networks of others.
func (v *view) strandedSubnets() []subnets.Subnet {
	return filter(v.mine.subnets, func(s subnets.Subnet) bool {
		return !slices.ContainsFunc(v.mine.networks, func(n cloud.Network) bool { return n.ID == s.NetworkID })
	})
}

// balanced reports whether load balancers are there, of the cluster or of its
// Services.
func (v *view) balanced() bool {
	return len(v.mine.loadBalancers) > 0 || len(v.services()) > 0
}

// What the cloud controller manager calls what it makes for Services.
// Source: kubernetes/cloud-provider-openstack, pkg/openstack/loadbalancer.go.
const (
	servicePrefix     = "kube_service_"
	serviceAddress    = "Floating IP for Kubernetes external service "
	serviceGroup      = "lb-sg-"
	serviceGroupWords = "Security Group for "
)

// services returns the load balancers that the cloud controller manager made for
// Services of the cluster. Their name says a cluster's name, which may be that of
// another cluster in the project: what proves it is that they are on a network
// of this one.
func (v *view) services() []loadbalancers.LoadBalancer {
	return filter(v.all.loadBalancers, func(lb loadbalancers.LoadBalancer) bool {
		_, marked := cloud.ParseOwner(lb.Description)
		return !marked && strings.HasPrefix(lb.Name, servicePrefix) && v.onOwnNetwork(lb)
	})
}

func (v *view) onOwnNetwork(lb loadbalancers.LoadBalancer) bool {
	return slices.ContainsFunc(v.mine.networks, func(n cloud.Network) bool { return n.ID == lb.VipNetworkID }) ||
		slices.ContainsFunc(v.mine.subnets, func(s subnets.Subnet) bool { return s.ID == lb.VipSubnetID })
}

// teardownServices removes what is left of the cluster's Services.
func (v *view) teardownServices(d *decision) {
	for _, lb := range v.services() {
		d.Steps = append(d.Steps, v.serviceParts(lb)...)
		if !lbGoing(lb) {
			d.Add(v.removeLoadBalancer(lb))
		}
	}
}

// serviceParts removes what was made for the Service of lb and is found through
// lb alone, which therefore goes last. A floating IP that people gave to the
// Service stays.
func (v *view) serviceParts(lb loadbalancers.LoadBalancer) []step {
	var out []step
	for _, f := range v.all.floatingIPs {
		if lb.VipPortID != "" && f.PortID == lb.VipPortID && strings.HasPrefix(f.Description, serviceAddress) {
			out = append(out, v.removeFloatingIP(f))
		}
	}
	for _, g := range v.serviceGroups(lb) {
		out = append(out, v.removeGroup(g))
	}
	return out
}

// serviceGroups returns the security groups of the Service of lb. Nothing but
// their words connects the two: they are for a Service and a cluster of the same
// name, and on no port. Those of a living cluster are on the ports of its nodes.
func (v *view) serviceGroups(lb loadbalancers.LoadBalancer) []groups.SecGroup {
	return filter(v.all.groups, func(g groups.SecGroup) bool {
		rest, ok := strings.CutPrefix(g.Description, serviceGroupWords)
		service, cluster, ok2 := strings.Cut(rest, " Service LoadBalancer in cluster ")
		namespace, name, ok3 := strings.Cut(service, "/")
		return ok && ok2 && ok3 && strings.HasPrefix(g.Name, serviceGroup) && !v.groupUsed(g) &&
			lb.Name == serviceName(cluster, namespace, name)
	})
}

// serviceName is what the cloud controller manager calls a load balancer.
func serviceName(cluster, namespace, service string) string {
	n := servicePrefix + cluster + "_" + namespace + "_" + service
	return n[:min(len(n), 255)]
}
