package network

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/endpoint"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

const defaultPort = 6443

func (v *view) apiServer() api.APIServer { return ptr.Deref(v.spec.APIServer, api.APIServer{}) }

func (v *view) balancer() *api.APIServerLoadBalancer { return v.apiServer().ManagedLoadBalancer }

// port returns that of the API server: the one that the machines know, else the one
// that Git says.
func (v *view) port() int32 { return cmp.Or(v.knownPort(), v.askedPort()) }

// knownPort returns the port that the machines know, which is that of the listener where
// it is not remembered; 0: none is known.
func (v *view) knownPort() int32 {
	if port := v.known().Port; port != 0 || !v.started() {
		return port
	}
	l, _ := find(v.mine.listeners, func(l listeners.Listener) bool { return isFor(l.Description, ForEndpoint) })
	return int32(l.ProtocolPort)
}

func (v *view) askedPort() int32 {
	return cmp.Or(ptr.Deref(v.spec.ControlPlaneEndpoint, clusterv1.APIEndpoint{}).Port, v.cluster.Endpoint.Port,
		int32(ptr.Deref(v.apiServer().Port, 0)), v.cluster.Network.APIServerPort, defaultPort)
}

// known returns where the machines of the cluster know the API server.
func (v *view) known() fleet.Endpoint { return endpoint.Known(v.cluster) }

// host returns where Git says that the API server answers, if it does.
func (v *view) host() string {
	return cmp.Or(ptr.Deref(v.spec.ControlPlaneEndpoint, clusterv1.APIEndpoint{}).Host, v.cluster.Endpoint.Host)
}

// floating reports whether the API server has a floating IP: where there is an
// external network, if Git does not say otherwise, and where machines know it by
// the one that it has.
func (v *view) floating(d *decision) bool {
	_, kept := v.keptFloatingIP()
	return v.wantsFloating(d) || kept
}

func (v *view) wantsFloating(d *decision) bool {
	return ptr.Deref(v.apiServer().EnableFloatingIP, true) && d.placement.ExternalNetwork != ""
}

// servedByOwn reports whether a cluster that runs has a floating IP that was made for its API server:
// it follows the control plane under each name that Git gives the API server later.
func (v *view) servedByOwn() bool { return v.started() && len(v.mine.floatingIPs) > 0 }

// endpoint decides where the API server answers: at the host that Git names, a
// floating IP, the address of a load balancer, or a fixed address.
func (v *view) endpoint(d *decision) {
	if d.placement.Network == "" {
		return
	}
	if v.cluster.ServedElsewhere() {
		d.Endpoint = v.cluster.Endpoint
		return
	}
	if kept, ok := v.keptFloatingIP(); ok && !v.wantsFloating(d) {
		d.CannotFollow("apiServer.enableFloatingIP", "the machines know the API server by the floating IP %s "+putBack, kept.FloatingIP)
	}
	if known := v.knownPort(); known != 0 && known != v.askedPort() {
		d.CannotFollow("the port of the API server", "the machines know it at %d, Git says %d "+putBack, known, v.askedPort())
	}
	if v.endedLoadBalancer(d) {
		return
	}
	fixed := ptr.Deref(v.apiServer().FixedIP, "")
	if kept, ok := v.keptFixedIP(d); ok && kept != fixed {
		d.CannotFollow("apiServer.fixedIP", "the machines know the API server at %s, Git says %s "+putBack, kept, cmp.Or(fixed, "none"))
		fixed = kept
	}
	switch {
	case ptr.Deref(v.apiServer().EnableFloatingIP, false) && d.placement.ExternalNetwork == "" && !v.floating(d) && !d.Missing:
		d.Fault(fleet.Errorf(fleet.Invalid, "make a floating IP for the API server",
			"there is no external network (name one that the project sees in externalNetwork, or set apiServer.enableFloatingIP to false)"))
	case v.balancer().IsEnabled():
		v.loadBalancer(d)
	case v.floating(d) && (v.host() == "" || isAddress(v.host()) || v.apiServer().FloatingIP != nil || v.servedByOwn()):
		v.floatingEndpoint(d)
	case v.host() != "":
		d.serve("", v)
	case fixed != "":
		v.fixedEndpoint(d, fixed)
	default:
		d.Fault(fleet.Errorf(fleet.Invalid, "find an endpoint for the API server",
			"Git names none and there is no external network for a floating IP (set apiServer.managedLoadBalancer, apiServer.fixedIP or controlPlaneEndpoint)"))
	}
}

// serve sets the endpoint: at the host that Git names, else at address.
func (d *decision) serve(address string, v *view) {
	d.Endpoint = fleet.Endpoint{Host: cmp.Or(v.host(), address), Port: v.port()}
}

// floatingEndpoint is a floating IP on a machine of the control plane: at first on
// the one that begins the cluster. It moves when that one goes.
func (v *view) floatingEndpoint(d *decision) {
	f := v.floatingIP(d, "")
	if f == nil {
		return
	}
	d.serve(f.FloatingIP, v)
	if f.PortID != "" && v.stays(d, f.PortID) {
		return
	}
	for _, m := range v.successors() {
		a, ok := v.addressOf(m.id, d.placement.Network, d.placement.primary())
		if ok && m.active {
			s := v.attach(*f, a.port, a.ip, "machine "+string(m.name))
			d.handsOver = s.What
			d.Add(s)
			return
		}
	}
}

// stays reports whether the floating IP of the API server stays on port: that of a
// machine of the control plane that does not go, or of a server that lost its mark.
func (v *view) stays(d *decision, port string) bool {
	if p, ok := find(v.all.ports, func(p cloud.Port) bool { return p.ID == port }); ok {
		if o, _ := cloud.ParseOwner(p.Description); o.Shared() == v.owner && v.held[o.Machine] {
			return true
		}
	}
	return slices.ContainsFunc(v.machines, func(m machine) bool {
		return !m.leaving && (m.controlPlane || v.inDoubt(m)) && slices.ContainsFunc(v.addressesOf(m.id, d.placement.Network), func(a address) bool { return a.port == port })
	})
}

// inDoubt reports whether the role of m contradicts its pool: people changed one of
// the two. It keeps what it has of the endpoint, and is given nothing of it.
func (v *view) inDoubt(m machine) bool {
	role := fleet.RoleWorker
	if m.controlPlane {
		role = fleet.RoleControlPlane
	}
	return v.cluster.Contradicts(&fleet.Machine{Pool: m.pool, Role: role}) != ""
}

// successors returns the machines of the control plane that do not go, in the order in
// which they are to serve.
func (v *view) successors() []machine {
	return endpoint.Successors(without(v.controlPlane(), v.inDoubt), func(m machine) bool {
		same, _ := v.cluster.ControlPlane.Has(m.template)
		return !same
	})
}

// fixedEndpoint is an address that somebody serves, as kube-vip does. Where it is
// one of the cluster's network and is free, a port keeps it from being
// given to anyone else. One that another cluster or a server has is left to it.
func (v *view) fixedEndpoint(d *decision, fixed string) {
	d.serve(fixed, v)
	for _, p := range v.mine.ports {
		v.tags(d, "ports", p.ID, p.Name, p.Tags, func(t []string) { p.Tags = t; v.putPort(p) })
	}
	s, ok := find(d.placement.subnets, func(s subnets.Subnet) bool { return contains(s.CIDR, fixed) })
	if !ok {
		return
	}
	if p, taken := find(v.all.ports, func(p cloud.Port) bool {
		return p.NetworkID == s.NetworkID && slices.ContainsFunc(p.FixedIPs, func(ip ports.IP) bool { return sameAddress(ip.IPAddress, fixed) })
	}); taken {
		if err := v.othersPort(p, fixed); err != nil && len(v.machines) == 0 && v.known().IsZero() {
			d.Fault(err)
		} else if err != nil { // the machines know the API server there
			d.Faults = append(d.Faults, err)
		}
		return
	}
	d.Add(step{What: "reserve address " + fixed, Essential: true, Do: v.neutron(func(ctx context.Context, c *gophercloud.ServiceClient) error {
		var p cloud.Port
		err := ports.Create(ctx, c, ports.CreateOpts{
			NetworkID: s.NetworkID, Name: v.name("kubeapi"), Description: v.description(ForEndpoint),
			FixedIPs: []ports.IP{{SubnetID: s.ID, IPAddress: fixed}},
		}).ExtractInto(&p)
		if err != nil {
			return err
		}
		v.putPort(p)
		return nil
	})})
}

// othersPort says whose p is, which has the address of the API server: another cluster's, or a
// server's. A port that people made to keep the address, and that of their load balancer, are good.
func (v *view) othersPort(p cloud.Port, fixed string) error {
	op := "use address " + fixed + " for the API server"
	o, marked := cloud.ParseOwner(p.Description)
	switch {
	case marked && o.Shared() != v.owner:
		return fleet.Errorf(fleet.Conflict, op, "it belongs to cluster %s of fleet %s (name another address in apiServer.fixedIP)", o.Cluster, o.Fleet)
	case marked, slices.ContainsFunc(v.machines, func(m machine) bool { return m.id == p.DeviceID }):
		return nil
	case strings.HasPrefix(p.DeviceOwner, "compute:"), strings.HasPrefix(p.DeviceOwner, "network:"):
		return fleet.Errorf(fleet.Conflict, op, "port %s of %s %s has it (name another address in apiServer.fixedIP; where that device balances the load of the API server, name it in controlPlaneEndpoint)",
			p.ID, p.DeviceOwner, p.DeviceID)
	}
	return nil
}

func (v *view) putPort(p cloud.Port) {
	put(&v.all.ports, &v.mine.ports, p, func(o cloud.Port) bool { return o.ID == p.ID })
}

// resolve returns the first address of a host that Git names.
func resolve(ctx context.Context, host, instead string) (string, error) {
	if isAddress(host) {
		return host, nil
	}
	found, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil || len(found) == 0 {
		return "", fleet.Errorf(fleet.Invalid, "find the address of controlPlaneEndpoint.host", "%w (have the name resolve, or set %s)",
			cmp.Or(err, fmt.Errorf("%s has none", host)), instead)
	}
	return found[0], nil
}
