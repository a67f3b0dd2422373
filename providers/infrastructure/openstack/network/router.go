package network

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"k8s.io/utils/ptr"

	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// managedRouter has the subnets connected: to the router that Git names, or to
// one that is made where there is an external network to lead to.
func (v *view) managedRouter(d *decision) {
	if v.spec.Router != nil {
		if r, ok := v.namedRouter(d); ok {
			d.placement.router = &r
			v.interfaces(d, r)
		}
		return
	}
	r, surplus, extra := pick(v.mine.routers, func(r routers.Router) (time.Time, string) { return r.CreatedAt, r.ID }, v.routerUsed)
	for _, s := range surplus {
		d.Add(v.removeRouter(s))
	}
	for _, e := range extra {
		d.CannotFollow("router "+e.ID, "the cluster has two routers that are in use, %s too (remove its interfaces)", r.ID)
	}
	if r == nil && v.started() {
		if v.connected(d); d.placement.router != nil {
			d.CannotFollow("router", "the network is connected to router %s, which was not made for the cluster "+putBack, d.placement.router.Name)
			return
		}
	}
	switch {
	case d.placement.ExternalNetwork == "" && r == nil:
		return // nothing to lead to
	case d.placement.ExternalNetwork == "":
		d.CannotFollow("enableExternalNetwork", "router %s leads to network %s, and the machines use that "+putBack, r.Name, r.GatewayInfo.NetworkID)
	case r == nil:
		external := d.placement.ExternalNetwork
		d.Add(step{What: "make router " + v.name(), Essential: true, Do: v.neutron(func(ctx context.Context, c *gophercloud.ServiceClient) error {
			return v.makeRouter(ctx, c, external)
		})})
		return
	}
	d.placement.router = r
	v.gateway(d, *r)
	v.tags(d, "routers", r.ID, r.Name, r.Tags, func(t []string) { r.Tags = t; v.putRouter(*r) })
	v.interfaces(d, *r)
}

// namedRouter finds the router that Git names. Where it is not found, the machines of a
// cluster that runs are connected to the one that they are connected to, and need no other.
func (v *view) namedRouter(d *decision) (routers.Router, bool) {
	r, err := findRouter("router", v.all.routers, v.spec.Router)
	if err != nil {
		v.notFound(d, err)
		v.connected(d)
	}
	return r, err == nil
}

func (v *view) putRouter(r routers.Router) {
	put(&v.all.routers, &v.mine.routers, r, func(o routers.Router) bool { return o.ID == r.ID })
}

func (v *view) routerUsed(r routers.Router) bool {
	return slices.ContainsFunc(v.all.ports, func(p cloud.Port) bool { return p.DeviceID == r.ID && ofRouter(p) })
}

// makeRouter makes it with its gateway, but for a gateway with given addresses:
// the policy of some clouds takes those in a later call only.
// Source: the OpenStack provider of Cluster API, which found out.
func (v *view) makeRouter(ctx context.Context, c *gophercloud.ServiceClient, external string) error {
	o := routers.CreateOpts{Name: v.name(), Description: v.description(ForNodes), AdminStateUp: gophercloud.Enabled}
	if v.spec.ManagedRouter == nil {
		o.GatewayInfo = &routers.GatewayInfo{NetworkID: external}
	}
	r, err := routers.Create(ctx, c, o).Extract()
	return entered(v.putRouter, r, err)
}

// gateway has the router lead to the external network, with the addresses that
// Git gives it.
func (v *view) gateway(d *decision, r routers.Router) {
	if d.placement.ExternalNetwork == "" {
		return
	}
	if has := r.GatewayInfo.NetworkID; has != "" && has != d.placement.ExternalNetwork {
		d.CannotFollow("externalNetwork", "router %s leads to network %s, where the floating IPs are "+putBack, r.Name, has)
		return
	}
	want, ok := v.gatewayAddresses(d)
	if !ok {
		return
	}
	if r.GatewayInfo.NetworkID != "" && !slices.ContainsFunc(want, func(w routers.ExternalFixedIP) bool {
		return !slices.ContainsFunc(r.GatewayInfo.ExternalFixedIPs, func(h routers.ExternalFixedIP) bool {
			return h.SubnetID == w.SubnetID && (w.IPAddress == "" || sameAddress(w.IPAddress, h.IPAddress))
		})
	}) {
		return
	}
	o := routers.UpdateOpts{GatewayInfo: &routers.GatewayInfo{NetworkID: d.placement.ExternalNetwork, ExternalFixedIPs: want}}
	what := "lead router " + r.Name + " to the external network"
	if len(want) > 0 {
		what += " as " + words(want, func(f routers.ExternalFixedIP) string { return f.IPAddress + " in " + f.SubnetID })
	}
	d.Add(step{What: what, Essential: r.GatewayInfo.NetworkID == "", Do: v.neutron(func(ctx context.Context, c *gophercloud.ServiceClient) error {
		got, err := routers.Update(ctx, c, r.ID, o).Extract()
		return entered(v.putRouter, got, err)
	})})
}

// gatewayAddresses returns the addresses that Git gives the router.
func (v *view) gatewayAddresses(d *decision) ([]routers.ExternalFixedIP, bool) {
	if v.spec.ManagedRouter == nil {
		return nil, true
	}
	var out []routers.ExternalFixedIP
	for i, e := range v.spec.ManagedRouter.ExternalIPs {
		id := ptr.Deref(e.Subnet.ID, "") // what lies outside may not be visible: an id is taken unchecked
		if id == "" {
			s, err := findSubnet(fmt.Sprintf("managedRouter.externalIPs[%d].subnet", i), v.all.subnets, d.placement.ExternalNetwork, &e.Subnet)
			if err != nil {
				v.notFound(d, err)
				return nil, false
			}
			id = s.ID
		}
		out = append(out, routers.ExternalFixedIP{SubnetID: id, IPAddress: e.FixedIP})
	}
	return out, true
}

// interfaces connects the subnets that were made to r.
func (v *view) interfaces(d *decision, r routers.Router) {
	for _, s := range d.placement.subnets {
		p, ok := find(v.all.ports, func(p cloud.Port) bool { return ofRouter(p) && inSubnet(p, s.ID) })
		if ok && p.DeviceID != r.ID {
			d.CannotFollow("router", "subnet %s is connected to router %s (name that one, or disconnect it)", s.CIDR, p.DeviceID)
			v.connected(d)
		}
		if ok {
			continue
		}
		d.Add(step{What: "connect subnet " + s.CIDR + " to router " + r.Name, Essential: true, Do: v.neutron(func(ctx context.Context, c *gophercloud.ServiceClient) error {
			return v.connect(ctx, c, r, s)
		})})
	}
}

func (v *view) connect(ctx context.Context, c *gophercloud.ServiceClient, r routers.Router, s subnets.Subnet) error {
	got, err := routers.AddInterface(ctx, c, r.ID, routers.AddInterfaceOpts{SubnetID: s.ID}).Extract()
	if err != nil {
		return err
	}
	p := cloud.Port{Port: ports.Port{
		ID: got.PortID, NetworkID: s.NetworkID, DeviceID: r.ID, DeviceOwner: routerInterface,
		FixedIPs: []ports.IP{{SubnetID: s.ID, IPAddress: s.GatewayIP}},
	}}
	v.all.ports = append(without(v.all.ports, func(o cloud.Port) bool { return o.ID == p.ID }), p)
	return nil
}

const routerInterface = "network:router_interface"

// ofRouter reports whether p is an interface of a router inside.
// Source: neutron-lib, constants ROUTER_INTERFACE_OWNERS.
func ofRouter(p cloud.Port) bool {
	switch p.DeviceOwner {
	case routerInterface, "network:router_interface_distributed", "network:ha_router_replicated_interface":
		return true
	}
	return false
}

// ofNeutron reports whether Neutron itself made p: for DHCP, for metadata, for a
// router.
func ofNeutron(p cloud.Port) bool { return strings.HasPrefix(p.DeviceOwner, "network:") }

func inSubnet(p cloud.Port, subnet string) bool {
	return slices.ContainsFunc(p.FixedIPs, func(ip ports.IP) bool { return ip.SubnetID == subnet })
}

// words joins what f says of each.
func words[T any](all []T, f func(T) string) string {
	out := make([]string, len(all))
	for i, t := range all {
		out[i] = strings.TrimSpace(f(t))
	}
	return strings.Join(out, ", ")
}
