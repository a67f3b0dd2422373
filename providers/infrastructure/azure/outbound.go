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
func (o *outbound) ipPart(i int) string { return fmt.Sprint("ip-", o.part(), "-", i+1) }

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

func (o *outbound) ip(v *view, i int) string {
	of := map[fleet.Role]string{fleet.RoleWorker: "-node-outbound", fleet.RoleControlPlane: "-controlplane-outbound"}[o.role]
	return cmp.Or(o.FrontendIPs[i].PublicIP.Name, o.indexed("pip-"+v.named(of), i))
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
			p := o.frontends(v.place.resource(arm.Balancers, o.name), ips)
			p["backendAddressPools"] = []any{map[string]any{"name": o.pool()}}
			return map[string]any{"sku": map[string]any{"name": "Standard"}, "properties": p}
		})
		if is != nil {
			v.keepOutbound(d, is, o, ips)
		}
	}
}

// frontends returns the addresses of the load balancer with an id, and the rule by which machines have them.
func (o *outbound) frontends(id string, ips []string) map[string]any {
	var fronts, refs []any
	for i, ip := range ips {
		fronts = append(fronts, map[string]any{"name": o.front(i), "properties": map[string]any{"publicIPAddress": arm.Ref{ID: ip}}})
		refs = append(refs, arm.Ref{ID: id + "/frontendIPConfigurations/" + o.front(i)})
	}
	return map[string]any{"frontendIPConfigurations": fronts, "outboundRules": []any{map[string]any{"name": outboundName, "properties": map[string]any{
		"protocol": "All", "idleTimeoutInMinutes": *o.IdleTimeoutInMinutes, "frontendIPConfigurations": refs, "backendAddressPool": arm.Ref{ID: id + "/backendAddressPools/" + o.pool()},
	}}}}
}

// keepOutbound decides about the addresses and the rule of an outbound load balancer that is there. What controllers and people
// added stays.
func (v *view) keepOutbound(d *steps.Decision, is *arm.Resource[arm.Balancer], o outbound, ips []string) {
	rule := slices.IndexFunc(is.Properties.Outbound, func(r arm.Resource[arm.OutboundRule]) bool { return r.Name == outboundName })
	same := rule >= 0 && is.Properties.Outbound[rule].Properties.Idle == *o.IdleTimeoutInMinutes && len(is.Properties.Outbound[rule].Properties.Frontends) == len(ips)
	for i := range ips {
		same = same && slices.ContainsFunc(is.Properties.Frontends, func(f arm.Resource[arm.Frontend]) bool { return strings.EqualFold(f.Name, o.front(i)) })
	}
	if same {
		return
	}
	d.Add(steps.Step{What: "set the addresses of load balancer " + is.Name, Do: func(ctx context.Context) error {
		err := v.edit(ctx, is.ID, func(p map[string]any) error {
			for k, x := range o.frontends(is.ID, ips) {
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
		out = append(out, arm.Ref{ID: is.ID + "/backendAddressPools/" + o.pool()})
	}
	return out, nil
}
