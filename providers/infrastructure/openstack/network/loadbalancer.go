package network

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"k8s.io/utils/ptr"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// The provisioning statuses of Octavia. While one is pending, the load balancer
// and all that is part of it take no change.
// Source: https://docs.openstack.org/api-ref/load-balancer/v2/#prov-status
const (
	lbActive        = "ACTIVE"
	lbError         = "ERROR"
	lbPendingCreate = "PENDING_CREATE"
	lbPendingUpdate = "PENDING_UPDATE"
	lbPendingDelete = "PENDING_DELETE"
	lbDeleted       = "DELETED"
)

func lbGoing(lb loadbalancers.LoadBalancer) bool {
	return lb.ProvisioningStatus == lbPendingDelete || lb.ProvisioningStatus == lbDeleted
}

// loadBalancer has the load balancer made, with a listener, a pool and a monitor
// for each port and a member for each machine of the control plane.
func (v *view) loadBalancer(d *decision) {
	all := filter(v.mine.loadBalancers, func(lb loadbalancers.LoadBalancer) bool { return isFor(lb.Description, ForEndpoint) })
	going := filter(all, lbGoing)
	lb, surplus, extra := pick(without(all, lbGoing), func(lb loadbalancers.LoadBalancer) (time.Time, string) { return lb.CreatedAt, lb.ID }, v.lbUsed)
	for _, s := range surplus {
		d.Add(v.removeLoadBalancer(s))
	}
	for _, e := range extra {
		d.CannotFollow("load balancer "+e.ID, "the cluster has two that are in use, %s too (remove its members)", lb.ID)
	}
	if lb == nil {
		if len(going) > 0 {
			d.wait("load balancer %s is %s", going[0].Name, going[0].ProvisioningStatus)
			return
		}
		v.missingLoadBalancer(d)
		return
	}
	v.lbDiffers(d, *lb)
	v.serveThrough(d, *lb)
	v.listeners(d, *lb)
}

// serveThrough serves the API server at the address of lb, or at the floating IP on it.
func (v *view) serveThrough(d *decision, lb loadbalancers.LoadBalancer) {
	floating := v.floating(d)
	switch {
	case lb.ProvisioningStatus == lbPendingCreate:
		d.wait("load balancer %s is %s", lb.Name, lb.ProvisioningStatus)
	case lb.ProvisioningStatus == lbError:
		v.recover(d, lb)
	case lb.ProvisioningStatus == lbPendingUpdate && !v.settling(lb):
		d.Faults = append(d.Faults, fleet.Errorf(fleet.Conflict, "change load balancer "+lb.Name,
			"it has been PENDING_UPDATE for more than 15 minutes. Octavia takes no change of it, so no machine of the control plane that is no member can become one (have an operator of the cloud reset it and run: openstack loadbalancer failover %s)", lb.ID))
	}
	if !floating && lb.VipAddress != "" {
		d.serve(lb.VipAddress, v)
	}
	if floating && lb.VipPortID != "" {
		if f := v.floatingIP(d, lb.VipPortID); f != nil {
			d.serve(f.FloatingIP, v)
			if f.PortID != lb.VipPortID {
				s := v.attach(*f, lb.VipPortID, "", "load balancer "+lb.Name)
				s.Essential = true
				d.Add(s)
			}
		}
	}
}

func (v *view) putLoadBalancer(lb loadbalancers.LoadBalancer) {
	put(&v.all.loadBalancers, &v.mine.loadBalancers, lb, func(o loadbalancers.LoadBalancer) bool { return o.ID == lb.ID })
}

// lbUsed reports whether machines or a floating IP hang on lb.
func (v *view) lbUsed(lb loadbalancers.LoadBalancer) bool {
	for _, f := range v.all.floatingIPs {
		if lb.VipPortID != "" && f.PortID == lb.VipPortID {
			return true
		}
	}
	return slices.ContainsFunc(v.poolsOf(lb), func(p pool) bool { return len(p.Members) > 0 })
}

// missingLoadBalancer has one made, on the network that Git names for it, else on
// the primary subnet.
func (v *view) missingLoadBalancer(d *decision) {
	subnet := d.placement.primary()
	o := loadbalancers.CreateOpts{
		Name: v.name("kubeapi"), Description: v.description(ForEndpoint), Tags: v.spec.Tags,
		Provider: ptr.Deref(v.balancer().Provider, ""), AvailabilityZone: ptr.Deref(v.balancer().AvailabilityZone, ""),
	}
	if p := v.balancer().Network; p != nil {
		n, err := findNetwork("apiServer.managedLoadBalancer.network", v.all.networks, p, nil)
		if err != nil {
			d.Fault(err)
			return
		}
		o.VipNetworkID, subnet = n.ID, ""
	}
	if p := v.balancer().Subnets; len(p) > 0 {
		s, err := findSubnet("apiServer.managedLoadBalancer.subnets[0]", v.all.subnets, o.VipNetworkID, &p[0])
		if err != nil {
			d.Fault(err)
			return
		}
		subnet = s.ID
	}
	if subnet == "" && o.VipNetworkID == "" {
		return // its subnet is still to be made
	}
	if o.VipSubnetID = subnet; subnet != "" {
		o.VipNetworkID = ""
	}
	wanted := ptr.Deref(v.apiServer().FixedIP, "")
	if wanted == "" && !v.floating(d) {
		wanted = cmp.Or(v.host(), v.cluster.RestoreHost())
	}
	d.Add(step{What: "make load balancer " + o.Name, Essential: true, Do: v.octavia(func(ctx context.Context, c *gophercloud.ServiceClient) error {
		return v.makeLoadBalancer(ctx, c, o, wanted)
	})})
}

func (v *view) makeLoadBalancer(ctx context.Context, c *gophercloud.ServiceClient, o loadbalancers.CreateOpts, wanted string) (err error) {
	if wanted != "" {
		if o.VipAddress, err = resolve(ctx, wanted, "apiServer.fixedIP"); err != nil {
			return err
		}
	}
	if name := ptr.Deref(v.balancer().Flavor, ""); name != "" {
		if o.FlavorID, err = flavor(ctx, v.project, name); err != nil {
			return err
		}
	}
	lb, err := loadbalancers.Create(ctx, c, o).Extract()
	return entered(v.putLoadBalancer, lb, err)
}

// flavor returns the id of Octavia's flavor called name.
func flavor(ctx context.Context, p *cloud.Project, name string) (string, error) {
	all, err := p.LoadBalancerFlavors(ctx)
	if err != nil {
		return "", err
	}
	f, err := Only("apiServer.managedLoadBalancer.flavor", "flavor of Octavia", name, all,
		func(f flavors.Flavor) bool { return f.Enabled && f.Name == name }, func(f flavors.Flavor) string { return f.ID })
	return f.ID, err
}

// How long a load balancer is left in ERROR before something is tried. A failover
// that fails starts the count again.
const (
	beforeRebuild  = time.Minute
	beforeFailover = 5 * time.Minute
)

// recover tries to repair a load balancer in ERROR. Octavia takes two changes of
// one: its removal and a failover. One that no machine knows is recreated, as the
// cloud controller manager does with its own. One that the cluster may still be
// reached through is only failed over: often it goes on working, and another one
// would have another address.
func (v *view) recover(d *decision, lb loadbalancers.LoadBalancer) {
	d.wait("load balancer %s is in %s, operating status %s", lb.Name, lb.ProvisioningStatus, lb.OperatingStatus)
	since := v.at.Sub(lb.CreatedAt)
	if !lb.UpdatedAt.IsZero() {
		since = v.at.Sub(lb.UpdatedAt)
	}
	if !v.started() {
		if since >= beforeRebuild {
			d.Add(v.removeLoadBalancer(lb))
		}
		return
	}
	if since < beforeFailover {
		return
	}
	d.Add(step{What: "fail over load balancer " + lb.Name, Essential: true, Do: v.octavia(func(ctx context.Context, c *gophercloud.ServiceClient) error {
		if err := loadbalancers.Failover(ctx, c, lb.ID).ExtractErr(); err != nil {
			err = openstackauth.Wrap("fail over load balancer "+lb.Name, err)
			if fleet.KindOf(err) == fleet.Unauthorized {
				return fleet.Errorf(fleet.Unavailable, "fix load balancer "+lb.Name,
					"it is in ERROR, and a failover is refused: %w (have an operator of the cloud run: openstack loadbalancer failover %s)", err, lb.ID)
			}
			return err
		}
		lb.ProvisioningStatus = lbPendingUpdate
		v.putLoadBalancer(lb)
		return nil
	})})
}
