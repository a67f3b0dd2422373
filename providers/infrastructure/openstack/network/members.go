package network

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// probe is how the members of a pool are probed. The API server is asked whether it is
// ready: one that lost its etcd accepts connections, and leads nowhere. One that tells nothing to
// strangers works. Octavia's own provider asks so with the HAProxy of its amphorae; others know less,
// and other ports speak other protocols: there a connection has to do.
// Source: https://docs.openstack.org/api-ref/load-balancer/v2/#create-health-monitor
func probe(lb loadbalancers.LoadBalancer, forAPIServer bool) monitors.CreateOpts {
	if forAPIServer && slices.Contains([]string{"amphora", "amphorav2", "octavia"}, strings.ToLower(lb.Provider)) {
		return monitors.CreateOpts{Type: monitors.TypeHTTPS, HTTPMethod: http.MethodGet, URLPath: "/readyz", ExpectedCodes: "200,401,403"}
	}
	return monitors.CreateOpts{Type: monitors.TypeTCP}
}

// monitor keeps how often a pool probes its members. How it does so is decided when the
// monitor is made: Octavia cannot change the type of one.
func (v *view) monitor(d *decision, lb loadbalancers.LoadBalancer, p pool, forAPIServer bool) {
	want := v.balancer().Monitor
	if want == nil {
		return
	}
	delay, timeout, retries, down := int(want.Delay), int(want.Timeout), int(want.MaxRetries), int(want.MaxRetriesDown)
	have, ok := v.monitors[p.ID]
	none := "health monitors of load balancers of provider " + lb.Provider
	if !ok && p.MonitorID == "" && v.lacks[none] {
		return // it does without
	}
	if !ok && p.MonitorID == "" {
		o := probe(lb, forAPIServer)
		o.Name, o.PoolID, o.Tags = p.Name, p.ID, v.spec.Tags
		o.Delay, o.Timeout, o.MaxRetries, o.MaxRetriesDown = delay, timeout, retries, down
		s := v.lbStep(lb, "make the monitor of pool "+p.Name, false, func(ctx context.Context, c *gophercloud.ServiceClient) error {
			m, err := monitors.Create(ctx, c, o).Extract()
			if gophercloud.ResponseCodeIs(err, http.StatusNotImplemented) {
				v.project.Lacks(none)
				return nil
			}
			if err != nil {
				return err
			}
			p.MonitorID = m.ID
			v.monitors[p.ID] = *m
			v.putPool(p)
			return nil
		})
		s.Upkeep = true // some clouds do not have it, and clusters do without
		d.Add(s)
		return
	}
	if !ok || have.Delay == delay && have.Timeout == timeout && have.MaxRetries == retries && have.MaxRetriesDown == down {
		return
	}
	d.Add(v.lbStep(lb, "change the monitor of pool "+p.Name, false, func(ctx context.Context, c *gophercloud.ServiceClient) error {
		m, err := monitors.Update(ctx, c, have.ID, monitors.UpdateOpts{Delay: delay, Timeout: timeout, MaxRetries: retries, MaxRetriesDown: down}).Extract()
		if err != nil {
			return err
		}
		v.monitors[p.ID] = *m
		return nil
	}))
}

// poolMembers has a member for each machine of the control plane, at the address
// that it has. A member cannot change: one at another address goes first. Where Git names
// another place than the machines are in, one at any address of its machine stays. Members
// that others made stay, and those of a machine whose server is there and does not
// say that it is of the control plane: only its role or its mark can have changed.
func (v *view) poolMembers(d *decision, lb loadbalancers.LoadBalancer, p pool, port int) {
	left := slices.Clone(p.Members)
	for _, m := range v.controlPlane() {
		a, ok := v.addressOf(m.id, d.placement.Network, d.placement.primary())
		is := func(o pools.Member) bool { return v.memberOf(o) == m.name }
		if ok {
			is = func(o pools.Member) bool {
				at := func(a address) bool { return sameAddress(o.Address, a.ip) }
				kept := d.refused && v.memberOf(o) == m.name && slices.ContainsFunc(v.addressesOf(m.id, ""), at)
				return (kept || at(a)) && o.ProtocolPort == port
			}
		}
		if slices.ContainsFunc(left, is) {
			left = without(left, is)
			continue
		}
		if ok && !v.inDoubt(m) {
			d.Add(v.addMember(lb, p, m.name, a, port))
		}
	}
	for _, o := range left {
		if name := v.memberOf(o); name != "" && !v.mayServe(name) {
			d.Add(v.removeMember(lb, p, o, name))
		}
	}
}

// memberOf returns the machine that a member was made for, or nothing where it
// carries no mark of the cluster.
func (v *view) memberOf(m pools.Member) fleet.MachineName {
	for _, t := range m.Tags {
		if o, ok := cloud.ParseOwner(t); ok && o.Shared() == v.owner {
			return o.Machine
		}
	}
	return ""
}

func (v *view) addMember(lb loadbalancers.LoadBalancer, p pool, name fleet.MachineName, a address, port int) step {
	o := pools.CreateMemberOpts{
		Name: string(name), Address: a.ip, ProtocolPort: port, SubnetID: a.subnet,
		Tags: append([]string{cloud.FormatOwner("", v.owner.Part(name))}, v.spec.Tags...),
	}
	return v.lbStep(lb, fmt.Sprintf("add machine %s (%s) to pool %s", name, a.ip, p.Name), false, func(ctx context.Context, c *gophercloud.ServiceClient) error {
		m, err := pools.CreateMember(ctx, c, p.ID, o).Extract()
		if err != nil {
			return err
		}
		p.Members = append(slices.Clone(p.Members), *m)
		v.putPool(p)
		return nil
	})
}

func (v *view) removeMember(lb loadbalancers.LoadBalancer, p pool, m pools.Member, name fleet.MachineName) step {
	return v.lbStep(lb, fmt.Sprintf("remove member %s of machine %s from pool %s", m.Address, name, p.Name), false, func(ctx context.Context, c *gophercloud.ServiceClient) error {
		if err := ignoreNotFound(pools.DeleteMember(ctx, c, p.ID, m.ID).ExtractErr()); err != nil {
			return err
		}
		p.Members = without(p.Members, func(o pools.Member) bool { return o.ID == m.ID })
		v.putPool(p)
		return nil
	})
}
