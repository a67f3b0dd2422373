package network

import (
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// removal is a step that removes one thing of Neutron. Nothing there is success.
func (v *view) removal(what string, do func(context.Context, *gophercloud.ServiceClient) error, drop func()) step {
	return step{What: what, Do: v.neutron(func(ctx context.Context, c *gophercloud.ServiceClient) error {
		if err := ignoreNotFound(do(ctx, c)); err != nil {
			return err
		}
		drop()
		return nil
	})}
}

// remove is a removal of what del removes by its id, and same finds in both lists.
func remove[T any, R interface{ ExtractErr() error }](v *view, what, id string, del func(context.Context, *gophercloud.ServiceClient, string) R, all, mine *[]T, same func(T) bool) step {
	return v.removal("remove "+what, func(ctx context.Context, c *gophercloud.ServiceClient) error { return del(ctx, c, id).ExtractErr() }, func() { drop(all, mine, same) })
}

func (v *view) removeNetwork(n cloud.Network) step {
	return v.removal("remove network "+n.Name+" ("+n.ID+")", func(ctx context.Context, c *gophercloud.ServiceClient) error {
		return networks.Delete(ctx, c, n.ID).ExtractErr()
	}, func() {
		drop(&v.all.networks, &v.mine.networks, func(o cloud.Network) bool { return o.ID == n.ID })
		drop(&v.all.subnets, &v.mine.subnets, func(o subnets.Subnet) bool { return o.NetworkID == n.ID })
	})
}

func (v *view) removeSubnet(s subnets.Subnet) step {
	return remove(v, "subnet "+s.CIDR+" ("+s.ID+")", s.ID, subnets.Delete, &v.all.subnets, &v.mine.subnets, func(o subnets.Subnet) bool { return o.ID == s.ID })
}

func (v *view) removeRouter(r routers.Router) step {
	return remove(v, "router "+r.Name+" ("+r.ID+")", r.ID, routers.Delete, &v.all.routers, &v.mine.routers, func(o routers.Router) bool { return o.ID == r.ID })
}

// disconnect takes one of the cluster's subnets off the router that p is of.
func (v *view) disconnect(p cloud.Port, s subnets.Subnet) step {
	return v.removal("disconnect subnet "+s.CIDR+" from router "+p.DeviceID, func(ctx context.Context, c *gophercloud.ServiceClient) error {
		_, err := routers.RemoveInterface(ctx, c, p.DeviceID, routers.RemoveInterfaceOpts{SubnetID: s.ID}).Extract()
		return err
	}, func() {
		v.all.ports = without(v.all.ports, func(o cloud.Port) bool { return o.ID == p.ID })
	})
}

func (v *view) removeGroup(g groups.SecGroup) step {
	return remove(v, "security group "+g.Name+" ("+g.ID+")", g.ID, groups.Delete, &v.all.groups, &v.mine.groups, func(o groups.SecGroup) bool { return o.ID == g.ID })
}

func (v *view) removeFloatingIP(f floatingips.FloatingIP) step {
	return remove(v, "floating IP "+f.FloatingIP, f.ID, floatingips.Delete, &v.all.floatingIPs, &v.mine.floatingIPs, func(o floatingips.FloatingIP) bool { return o.ID == f.ID })
}

func (v *view) removePort(p cloud.Port) step {
	return remove(v, "port "+p.Name+" ("+p.ID+")", p.ID, ports.Delete, &v.all.ports, &v.mine.ports, func(o cloud.Port) bool { return o.ID == p.ID })
}

// removeLoadBalancer removes it with all its parts. Octavia does that later: lb
// is pending until it is gone.
func (v *view) removeLoadBalancer(lb loadbalancers.LoadBalancer) step {
	blocked := lb.ProvisioningStatus != lbActive && lb.ProvisioningStatus != lbError
	return step{What: "remove load balancer " + lb.Name + " (" + lb.ID + ")", Blocked: blocked, Do: v.octavia(func(ctx context.Context, c *gophercloud.ServiceClient) error {
		err := loadbalancers.Delete(ctx, c, lb.ID, loadbalancers.DeleteOpts{Cascade: true}).ExtractErr()
		if err != nil && !openstackauth.NotFound(err) {
			return err
		}
		same := func(o loadbalancers.LoadBalancer) bool { return o.ID == lb.ID }
		if openstackauth.NotFound(err) {
			drop(&v.all.loadBalancers, &v.mine.loadBalancers, same)
			return nil
		}
		lb.ProvisioningStatus = lbPendingDelete
		mine := slices.ContainsFunc(v.mine.loadBalancers, same)
		v.all.loadBalancers = append(without(v.all.loadBalancers, same), lb)
		if mine {
			v.mine.loadBalancers = append(without(v.mine.loadBalancers, same), lb)
		}
		return nil
	})}
}
