package azure

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// An outbound is a load balancer through which the machines of a role reach the internet.
type outbound struct {
	*api.LoadBalancer
	role  fleet.Role
	field string // where Git has it
	name  string
}

// The names of outbound load balancers, their pools and their addresses.
// Source: CAPZ, api/v1beta1/azurecluster_default.go.
const (
	outboundPool  = "-outboundBackendPool"
	outboundFront = "-frontEnd"
)

// outbounds returns those that Git names.
func (v *view) outbounds() (out []outbound) {
	if lb := v.spec.NetworkSpec.NodeOutboundLB; lb != nil {
		out = append(out, outbound{lb, fleet.RoleWorker, "networkSpec.nodeOutboundLB", cmp.Or(lb.Name, v.c.Key.Name)})
	}
	if lb := v.spec.NetworkSpec.ControlPlaneOutboundLB; lb != nil {
		out = append(out, outbound{lb, fleet.RoleControlPlane, "networkSpec.controlPlaneOutboundLB", cmp.Or(lb.Name, v.named("-outbound-lb"))})
	}
	return out
}

// part is the part of a cluster that it is.
func (o *outbound) part() string { return "outbound-" + string(o.role) }

// ipPart is the part of a cluster that its ith address is.
func (o *outbound) ipPart(i int) string { return fmt.Sprint(o.part(), "-ip-", i+1) }

// pool is the name of its backend pool.
func (o *outbound) pool() string {
	if o.BackendPool != nil && o.BackendPool.Name != "" {
		return o.BackendPool.Name
	}
	return o.name + outboundPool
}

// indexed returns the name of the ith of its addresses or frontends.
func (o *outbound) indexed(name string, i int) string {
	if len(o.FrontendIPs) > 1 {
		return fmt.Sprint(name, "-", i+1)
	}
	return name
}

func (o *outbound) front(i int) string {
	return cmp.Or(o.FrontendIPs[i].Name, o.indexed(o.name+outboundFront, i))
}

// ip returns the name of its ith address. One that Git does not name keeps its own: the default depends on their number.
func (o *outbound) ip(v *view, i int) string {
	of := map[fleet.Role]string{fleet.RoleWorker: "-node-outbound", fleet.RoleControlPlane: "-controlplane-outbound"}[o.role]
	name := o.indexed("pip-"+v.named(of), i)
	if is := partOf(v.ips, o.ipPart(i), name); is != nil {
		name = is.Name
	}
	return cmp.Or(o.FrontendIPs[i].PublicIP.Name, name)
}

// parts returns the names of the frontends and of the backend pool that are there, and those of Git of what is not.
func (o *outbound) parts(is *arm.Resource[arm.Balancer], ips []string) (fronts []string, pool string) {
	for i, ip := range ips {
		fronts = append(fronts, o.front(i))
		for _, f := range is.Properties.Frontends {
			if refers(f.Properties.PublicIP, ip) {
				fronts[i] = f.Name
			}
		}
	}
	if p := partAt(is.Properties.Pools, outboundRule(is).Pool, o.pool()); p != nil {
		return fronts, p.Name
	}
	return fronts, o.pool()
}

// outboundRule returns the rule by which machines have the addresses of an outbound load balancer.
func outboundRule(is *arm.Resource[arm.Balancer]) arm.OutboundRule {
	for _, r := range is.Properties.Outbound {
		if r.Name == outboundName {
			return r.Properties
		}
	}
	return arm.OutboundRule{}
}

// makeOutbound decides about the outbound load balancers.
func (v *view) makeOutbound(d *steps.Decision) {
	for _, o := range v.outbounds() {
		ips := make([]string, len(o.FrontendIPs))
		for i := range ips {
			want := o.FrontendIPs[i].PublicIP
			if ip := there(v, d, &v.ips, arm.PublicIPs, o.ipPart(i), o.ip(v, i), nil, func() map[string]any {
				return withZones(addressOf(want, labelIn(want.DNSName)), o.AvailabilityZones)
			}); ip != nil {
				ips[i] = ip.ID
				compareTags(d, ip, want, o.field+".frontendIPs.publicIP")
				v.nameAddress(d, ip, want)
			}
		}
		if slices.Contains(ips, "") {
			continue
		}
		is := there(v, d, &v.lbs, arm.Balancers, o.part(), o.name, nil, func() map[string]any {
			fronts, pool := o.parts(new(arm.Resource[arm.Balancer]), ips)
			p := o.frontends(v.place.resource(arm.Balancers, o.name), ips, fronts, pool)
			p["backendAddressPools"] = []any{map[string]any{"name": pool}}
			return map[string]any{"sku": map[string]any{"name": "Standard"}, "properties": p}
		})
		if is != nil {
			v.keepOutbound(d, is, o, ips)
		}
	}
}

// frontends returns the addresses of the load balancer with an id, and the rule by which machines have them.
func (o *outbound) frontends(id string, ips, names []string, pool string) map[string]any {
	var fronts, refs []any
	for i, ip := range ips {
		fronts = append(fronts, map[string]any{"name": names[i], "properties": map[string]any{"publicIPAddress": arm.Ref{ID: ip}}})
		refs = append(refs, arm.Ref{ID: id + "/frontendIPConfigurations/" + names[i]})
	}
	return map[string]any{"frontendIPConfigurations": fronts, "outboundRules": []any{map[string]any{"name": outboundName, "properties": map[string]any{
		"protocol": "All", "idleTimeoutInMinutes": *o.IdleTimeoutInMinutes, "frontendIPConfigurations": refs, "backendAddressPool": arm.Ref{ID: id + "/backendAddressPools/" + pool},
	}}}}
}

// keepOutbound decides about the addresses and the rule of an outbound load balancer that is there. What controllers and people
// added stays, and so do names: machines refer to them.
func (v *view) keepOutbound(d *steps.Decision, is *arm.Resource[arm.Balancer], o outbound, ips []string) {
	fronts, pool := o.parts(is, ips)
	stays := func(field, what, name, want string) {
		if want != "" && !strings.EqualFold(name, want) {
			d.CannotFollow(o.field+field, "%s %s of load balancer %s cannot get the name %s (put it back, or make another cluster)", what, name, is.Name, want)
		}
	}
	if o.BackendPool != nil {
		stays(".backendPool.name", "backend pool", pool, o.BackendPool.Name)
	}
	rule := outboundRule(is)
	same := rule.Idle == *o.IdleTimeoutInMinutes && len(rule.Frontends) == len(ips)
	for i := range ips {
		stays(".frontendIPs.name", "frontend", fronts[i], o.FrontendIPs[i].Name)
		same = same && slices.ContainsFunc(is.Properties.Frontends, func(f arm.Resource[arm.Frontend]) bool { return strings.EqualFold(f.Name, fronts[i]) })
	}
	if same {
		return
	}
	d.Add(steps.Step{What: "set the addresses of load balancer " + is.Name, Do: func(ctx context.Context) error {
		err := v.edit(ctx, is.ID, func(p map[string]any) error {
			for k, x := range o.frontends(is.ID, ips, fronts, pool) {
				p[k] = withOthers(x, p[k], false, nil)
			}
			return nil
		})
		if err == nil {
			is.Properties.Provisioning = "Updating"
		}
		return err
	}})
}

// outboundPools returns the ids of the pools of outbound load balancers that a machine of a role is in.
func (v *view) outboundPools(role fleet.Role) (out []any, err error) {
	for _, o := range v.outbounds() {
		if o.role != role {
			continue
		}
		is := partOf(v.lbs, o.part(), o.name)
		if is == nil {
			return nil, fleet.Errorf(fleet.Conflict, "find load balancer "+o.name, "the infrastructure of the cluster is not complete")
		}
		_, pool := o.parts(is, nil)
		out = append(out, arm.Ref{ID: is.ID + "/backendAddressPools/" + pool})
	}
	return out, nil
}
