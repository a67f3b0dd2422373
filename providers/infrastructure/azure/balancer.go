package azure

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/endpoint"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// The parts of the load balancer of the API server.
const (
	balancerPart   = "apiserver"
	balancerIPPart = "ip-apiserver"
	zonePart       = "apiserver-zone"
	recordName     = "apiserver"
	probeName      = "HTTPSProbe"
	apiRuleName    = "LBRuleHTTPS"
	outboundName   = "OutboundNATAllProtocols"
)

// balancer returns the load balancer of the API server; nil: there is none.
func (v *view) balancer() *arm.Resource[arm.Balancer] {
	return partOf(v.lbs, balancerPart, v.balancerName())
}

// isInternal reports whether the load balancer has a private address, or is to have one.
func (v *view) isInternal() bool {
	if f := v.frontend(); f != nil {
		return f.Properties.PublicIP == nil
	}
	return v.spec.NetworkSpec.APIServerLB.Type == api.Internal
}

// apiRule returns the rule of the API server.
func apiRule(lb *arm.Resource[arm.Balancer]) arm.BalancerRule {
	for _, r := range lb.Properties.Rules {
		if strings.EqualFold(r.Name, apiRuleName) {
			return r.Properties
		}
	}
	return arm.BalancerRule{}
}

// partAt returns the part of a load balancer that the rule of the API server refers to; without a rule that with
// a name, or the first: controllers and people add others. Nil: there are none.
func partAt[P any](parts []arm.Resource[P], of arm.Ref, name string) *arm.Resource[P] {
	for _, want := range []string{of.ID[strings.LastIndexByte(of.ID, '/')+1:], name} {
		for i := range parts {
			if strings.EqualFold(parts[i].Name, want) {
				return &parts[i]
			}
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return &parts[0]
}

// frontend returns the address of the API server; nil: there is none.
func (v *view) frontend() *arm.Resource[arm.Frontend] {
	is := v.balancer()
	if is == nil {
		return nil
	}
	return partAt(is.Properties.Frontends, apiRule(is).Frontend, v.frontendName())
}

// makeEndpoint decides about the load balancer of the API server, its name, and what it leads to.
func (v *view) makeEndpoint(d *steps.Decision, n network) {
	if v.c.ServedElsewhere() {
		d.Endpoint = v.c.Endpoint
		return
	}
	lb := v.spec.NetworkSpec.APIServerLB
	if asked := v.askedPort(); asked != v.apiPort() {
		d.CannotFollow("the port of the API server", "machines know it at %d, Git says %d (put it back, or make another cluster)", v.apiPort(), asked)
	}
	is := v.balancer()
	if is != nil && v.isInternal() != (lb.Type == api.Internal) {
		d.CannotFollow("networkSpec.apiServerLB.type", "load balancer %s cannot become %s (put it back, or make another cluster)", is.Name, lb.Type)
		v.keepEndpoint(d)
		return
	}
	known := endpoint.Known(v.c).Host
	if is == nil && known != "" && v.hostOf() != known {
		d.Fault(fleet.Errorf(fleet.Conflict, "find load balancer "+v.balancerName(), "it is gone with its name, and machines know the API server at %s (put its name back, or make another cluster and restore etcd there)", known))
		return
	}
	if lb.Type == api.Internal {
		v.internal(d, n)
	} else {
		v.public(d)
	}
	if d.Endpoint.Host != "" && known != "" && known != d.Endpoint.Host && v.c.NamedEndpoint().Host == "" {
		host := d.Endpoint.Host
		d.Endpoint.Host = known
		d.Fault(fleet.Errorf(fleet.Conflict, "keep the endpoint", "machines know the API server at %s, and the load balancer is at %s (put its name back, or make another cluster)", known, host))
	}
	v.lead(d)
}

// keepEndpoint keeps the endpoint that is there, where Git asks for one that cannot be.
func (v *view) keepEndpoint(d *steps.Decision) {
	d.Endpoint = v.endpointAt(cmp.Or(endpoint.Known(v.c).Host, v.hostOf()))
	v.lead(d)
}

// hostOf returns the name or the address of the load balancer that is there, or of one that is made.
func (v *view) hostOf() string {
	lb := v.spec.NetworkSpec.APIServerLB
	ip, zone, f := partOf(v.ips, balancerIPPart, v.balancerIPName()), partOf(v.dns, zonePart, v.zoneName()), v.frontend()
	switch {
	case ip != nil && ip.Properties.DNS.FQDN != "":
		return ip.Properties.DNS.FQDN
	case zone != nil:
		return recordName + "." + zone.Name
	case f != nil && f.Properties.Address != "":
		return f.Properties.Address
	case lb.Type == api.Public:
		return v.label() + "." + v.spec.Location + "." + v.place.domain
	case v.spec.NetworkSpec.PrivateDNSZone == "None":
		return lb.FrontendIPs[0].PrivateIP
	}
	return recordName + "." + v.zoneName()
}

// public decides about a load balancer with a public address and name.
func (v *view) public(d *steps.Decision) {
	lb := v.spec.NetworkSpec.APIServerLB
	ip := there(v, d, &v.ips, arm.PublicIPs, balancerIPPart, v.balancerIPName(), nil, func() map[string]any {
		return withZones(addressOf(lb.FrontendIPs[0].PublicIP, v.label()), lb.AvailabilityZones)
	})
	if ip == nil {
		return
	}
	if ip.Properties.DNS.FQDN == "" {
		d.Fault(fleet.Errorf(fleet.Conflict, "find the name of the API server", "public address %s has lost its name in DNS (set the label %s in Azure)", ip.Name, v.label()))
		return
	}
	if has := ip.Properties.DNS.Label; !strings.EqualFold(has, v.label()) {
		d.CannotFollow("networkSpec.apiServerLB.frontendIPs.publicIP.dnsName", "machines know the API server by %s and not by %s (put it back, or make another cluster)", has, v.label())
	}
	compareTags(d, ip, lb.FrontendIPs[0].PublicIP, "networkSpec.apiServerLB.frontendIPs.publicIP")
	d.Endpoint = v.endpointAt(ip.Properties.DNS.FQDN)
	v.ofBalancer(d, map[string]any{"publicIPAddress": arm.Ref{ID: ip.ID}}, nil, true)
}

// internal decides about a load balancer with a private address, and the private zone that has its name.
func (v *view) internal(d *steps.Decision, n network) {
	lb := v.spec.NetworkSpec.APIServerLB
	s := n.subnet(fleet.RoleControlPlane, "")
	if s == nil {
		return
	}
	address := lb.FrontendIPs[0].PrivateIP
	if f := v.frontend(); f != nil && f.Properties.Address != address && f.Properties.Address != "" {
		d.CannotFollow("networkSpec.apiServerLB.frontendIPs", "load balancer %s is at %s and not at %s (put it back, or make another cluster)", v.balancer().Name, f.Properties.Address, address)
		address = f.Properties.Address
	}
	v.ofBalancer(d, map[string]any{"privateIPAddress": address, "privateIPAllocationMethod": "Static", "subnet": arm.Ref{ID: s.id}}, lb.AvailabilityZones, false)
	if v.spec.NetworkSpec.PrivateDNSZone == "None" {
		d.Endpoint = v.endpointAt(address)
		return
	}
	zone := there(v, d, &v.dns, arm.Zones, zonePart, v.zoneName(), nil, func() map[string]any {
		return map[string]any{"properties": map[string]any{}}
	})
	if zone == nil {
		return
	}
	if !arm.Same(zone.ID, v.idOf(arm.Zones, zone.Name)) {
		d.CannotFollow("networkSpec.privateDNSZoneResourceGroup", "zone %s stays where it is, %s (put it back, or make another cluster)", zone.Name, zone.ID)
	}
	d.Endpoint = v.endpointAt(recordName + "." + zone.Name)
	record := zone.ID + "/A/" + recordName
	v.link(d, zone, v.vnetName(), n.vnet, "the VNet", true)
	for i := range v.spec.NetworkSpec.VNet.Peerings {
		if p := &v.spec.NetworkSpec.VNet.Peerings[i]; v.given == nil {
			v.link(d, zone, p.RemoteVnetName, v.remoteID(p), "VNet "+p.RemoteVnetName, !v.started())
		}
	}
	if !v.records[recordName] {
		d.Add(steps.Step{What: "create record " + recordName + "." + zone.Name, Essential: true, Do: func(ctx context.Context) error {
			err := v.place.Put(ctx, record, map[string]any{"properties": map[string]any{"ttl": 300, "aRecords": []any{map[string]any{"ipv4Address": address}}}}, arm.Absent())
			if err == nil {
				v.records[recordName] = true
			}
			return err
		}})
	}
}

// link decides about the link that makes a private zone known in a VNet.
func (v *view) link(d *steps.Decision, zone *arm.Resource[arm.Zone], name, vnet, what string, essential bool) {
	link := strings.ToLower(zone.ID + "/virtualNetworkLinks/" + name + "-link")
	switch v.links[link] {
	case "Succeeded":
	case "", "Failed":
		d.Add(steps.Step{What: "make zone " + zone.Name + " known in " + what, Essential: essential, Do: func(ctx context.Context) error {
			err := v.place.Put(ctx, link, map[string]any{"location": "global", "tags": v.shared("apiserver-link", nil), "properties": map[string]any{
				"virtualNetwork": arm.Ref{ID: vnet}, "registrationEnabled": false,
			}}, arm.Condition{})
			if err == nil {
				v.links[link] = made
			}
			return err
		}})
	default:
		v.pending(d, "the link of zone "+zone.Name+" is being created", essential)
	}
}

// A port is one of the load balancer.
type port struct {
	name     string
	from, to int32
}

// ports returns those of the load balancer, the API server's first.
func (v *view) ports() []port {
	out := []port{{apiRuleName, v.apiPort(), v.targetPort()}}
	for _, p := range v.spec.NetworkSpec.AdditionalAPIServerLBPorts {
		out = append(out, port{p.Name, p.Port, p.Port})
	}
	for _, p := range v.c.ControlPlane.Ports {
		if !slices.ContainsFunc(out, func(o port) bool { return o.from == p }) {
			out = append(out, port{fmt.Sprint("port-", p), p, p})
		}
	}
	return out
}

// ofBalancer decides about the load balancer and its ports.
func (v *view) ofBalancer(d *steps.Decision, frontend map[string]any, zones []string, outbound bool) {
	id := v.place.resource(arm.Balancers, v.balancerName())
	is := there(v, d, &v.lbs, arm.Balancers, balancerPart, v.balancerName(), nil, func() map[string]any {
		p := v.balancerRules(id, v.frontendName(), v.poolName(), outbound)
		p["frontendIPConfigurations"] = []any{withZones(map[string]any{"name": v.frontendName(), "properties": frontend}, zones)}
		p["backendAddressPools"] = []any{map[string]any{"name": v.poolName()}}
		return map[string]any{"sku": map[string]any{"name": "Standard"}, "properties": p}
	})
	if is == nil || len(is.Properties.Frontends) == 0 || len(is.Properties.Pools) == 0 {
		return
	}
	want := v.ports()
	idle := *v.spec.NetworkSpec.APIServerLB.IdleTimeoutInMinutes
	front, pool := v.frontend(), v.pool()
	isWanted := func(name string) bool { return slices.ContainsFunc(want, func(w port) bool { return w.name == name }) }
	ours := func(of, probe string) bool {
		return arm.Same(of, pool) && strings.HasSuffix(strings.ToLower(probe), "/probes/"+strings.ToLower(probeName))
	}
	same := !slices.ContainsFunc(is.Properties.Rules, func(r arm.Resource[arm.BalancerRule]) bool {
		return !isWanted(r.Name) && ours(r.Properties.Pool.ID, r.Properties.Probe.ID)
	})
	for _, w := range want {
		same = same && slices.ContainsFunc(is.Properties.Rules, func(r arm.Resource[arm.BalancerRule]) bool {
			return r.Name == w.name && r.Properties.FrontendPort == w.from && r.Properties.BackendPort == w.to && r.Properties.Idle == idle
		})
	}
	if same {
		return
	}
	d.Add(steps.Step{What: "set the ports of load balancer " + is.Name, Do: func(ctx context.Context) error {
		err := v.edit(ctx, is.ID, func(p map[string]any) error {
			for k, x := range v.balancerRules(is.ID, front.Name, pool[strings.LastIndexByte(pool, '/')+1:], outbound) {
				p[k] = withOthers(x, p[k], k == "loadBalancingRules", ours)
			}
			return nil
		})
		if err == nil {
			is.Properties.Rules = nil
			for _, w := range want {
				is.Properties.Rules = append(is.Properties.Rules, arm.Resource[arm.BalancerRule]{Name: w.name, Properties: arm.BalancerRule{
					FrontendPort: w.from, BackendPort: w.to, Idle: idle, Frontend: arm.Ref{ID: front.ID}, Pool: arm.Ref{ID: pool},
				}})
			}
		}
		return err
	}})
}

// balancerRules returns where the load balancer with an id leads, and how it looks whether a server is ready. With
// outbound, servers reach the internet through it, by a rule of its own.
func (v *view) balancerRules(id, frontend, pool string, outbound bool) map[string]any {
	idle := *v.spec.NetworkSpec.APIServerLB.IdleTimeoutInMinutes
	front, back, probe := arm.Ref{ID: id + "/frontendIPConfigurations/" + frontend}, arm.Ref{ID: id + "/backendAddressPools/" + pool}, arm.Ref{ID: id + "/probes/" + probeName}
	var rules []any
	for _, p := range v.ports() {
		rules = append(rules, map[string]any{"name": p.name, "properties": map[string]any{
			"protocol": "Tcp", "frontendPort": p.from, "backendPort": p.to, "idleTimeoutInMinutes": idle, "enableFloatingIP": false, "loadDistribution": "Default",
			"disableOutboundSnat": true, "frontendIPConfiguration": front, "backendAddressPool": back, "probe": probe,
		}})
	}
	out := map[string]any{"loadBalancingRules": rules, "probes": []any{map[string]any{"name": probeName, "properties": map[string]any{
		"protocol": "Https", "port": v.targetPort(), "requestPath": "/readyz", "intervalInSeconds": 15, "numberOfProbes": 4,
	}}}}
	if outbound {
		out["outboundRules"] = []any{map[string]any{"name": outboundName, "properties": map[string]any{
			"protocol": "All", "idleTimeoutInMinutes": idle, "frontendIPConfigurations": []any{front}, "backendAddressPool": back,
		}}}
	}
	return out
}

// withOthers returns next with the parts of has that others added. Rules that are ours and have no place in next go.
func withOthers(next, has any, rules bool, ours func(pool, probe string) bool) []any {
	out, _ := next.([]any)
	parts, _ := has.([]any)
	for _, x := range parts {
		part, _ := x.(map[string]any)
		properties, _ := part["properties"].(map[string]any)
		idOf := func(name string) string {
			ref, _ := properties[name].(map[string]any)
			id, _ := ref["id"].(string)
			return id
		}
		isSame := func(x any) bool {
			o, _ := x.(map[string]any)
			return o["name"] == part["name"]
		}
		if !slices.ContainsFunc(out, isSame) && !(rules && ours(idOf("backendAddressPool"), idOf("probe"))) {
			out = append(out, x)
		}
	}
	return out
}

// pool returns the id of the pool of the load balancer; empty: there is none.
func (v *view) pool() string {
	is := v.balancer()
	if is == nil || len(is.Properties.Pools) == 0 {
		return ""
	}
	return is.ID + "/backendAddressPools/" + partAt(is.Properties.Pools, apiRule(is).Pool, v.poolName()).Name
}

// isBehind reports whether the load balancer leads to an interface.
func isBehind(nic *arm.Resource[arm.Interface], pool string) bool {
	return slices.ContainsFunc(nic.Properties.Configurations, func(c arm.Resource[arm.IPConfiguration]) bool {
		return slices.ContainsFunc(c.Properties.Pools, func(r arm.Ref) bool { return arm.Same(r.ID, pool) })
	})
}

// lead decides which servers the load balancer leads to. A VM is made behind it, and leaves it before it is deleted.
// One of which it is not certain what it is stays where it is.
func (v *view) lead(d *steps.Decision) {
	pool := v.pool()
	if pool == "" {
		return
	}
	for _, m := range v.vms {
		if len(m.nics) == 0 || m.machine.Damaged != "" || m.machine.State == fleet.MachineDeleting || m.machine.State == fleet.MachineFailed {
			continue
		}
		want, is := endpoint.Leads(&m.machine) && !v.p.leaving.Has(m.Properties.ID), isBehind(m.nics[0], pool)
		if want == is {
			continue
		}
		what := "lead the endpoint to " + m.Name
		if is {
			what = "lead the endpoint away from " + m.Name
		}
		d.Add(steps.Step{What: what, Upkeep: true, Do: func(ctx context.Context) error { return v.setBehind(ctx, m, pool, want) }})
	}
}

// setBehind leads the load balancer to the first interface of a VM, or away from it.
func (v *view) setBehind(ctx context.Context, m *vm, pool string, on bool) error {
	return v.edit(ctx, m.nics[0].ID, func(p map[string]any) error {
		list, _ := p["ipConfigurations"].([]any)
		for i, x := range list {
			c, _ := x.(map[string]any)
			of, _ := c["properties"].(map[string]any)
			if of == nil {
				continue
			}
			has, _ := of["loadBalancerBackendAddressPools"].([]any)
			has = slices.DeleteFunc(slices.Clone(has), func(x any) bool {
				r, _ := x.(map[string]any)
				id, _ := r["id"].(string)
				return arm.Same(id, pool)
			})
			if primary, _ := of["primary"].(bool); on && (primary || len(list) == 1 && i == 0) {
				has = append(has, arm.Ref{ID: pool})
			}
			of["loadBalancerBackendAddressPools"] = has
		}
		return nil
	})
}

// LeaveEndpoint implements providers.EndpointKeeper.
func (p *Provider) LeaveEndpoint(ctx context.Context, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID) error {
	op := "lead the endpoint away from machine " + c.Key.Namespace + "/" + string(name)
	v, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return arm.WrapLook(op, err)
	}
	for _, m := range v.vms {
		if m.machine.Name == name && (id == "" || m.machine.ProviderID == id) {
			if err := v.leave(ctx, m); err != nil {
				return arm.Wrap(op, err)
			}
		}
	}
	return nil
}

// leave leads the endpoint away from a server, once it leads to each one that stays. Where everything is to go, nothing
// has to.
func (v *view) leave(ctx context.Context, m *vm) error {
	pool := v.pool()
	if m.machine.Role != fleet.RoleControlPlane || v.c.Delete || v.c.ServedElsewhere() || pool == "" || len(m.nics) == 0 {
		return nil
	}
	var stay, back []*vm
	for _, o := range v.vms {
		switch {
		case strings.EqualFold(o.ID, m.ID) || o.machine.Role != fleet.RoleControlPlane || o.machine.State != fleet.MachineRunning || o.machine.Damaged != "":
		case len(o.nics) == 0:
			return fleet.Errorf(fleet.Unavailable, "change the endpoint", "the interface of %s is not listed (the machine stays until it is)", o.Name)
		case v.p.leaving.Has(o.Properties.ID):
			back = append(back, o)
		default:
			stay = append(stay, o)
		}
	}
	if len(stay) == 0 { // what was to go stays after all
		stay = back
		for _, o := range back {
			v.p.leaving.Forget(o.Properties.ID)
		}
	}
	if len(stay) == 0 {
		return nil
	}
	defer v.changed()
	refuse := func(err error) error {
		if arm.Kind(err) == fleet.Unanswered {
			return err
		}
		return fleet.Errorf(fleet.Conflict, "change the endpoint", "%w (the machine stays until Azure takes the change)", arm.Wrap("lead it elsewhere", err))
	}
	for _, o := range stay {
		if isBehind(o.nics[0], pool) {
			continue
		}
		if err := v.setBehind(ctx, o, pool, true); err != nil {
			return refuse(err)
		}
	}
	if isBehind(m.nics[0], pool) {
		switch err := v.setBehind(ctx, m, pool, false); {
		case arm.IsMissing(err): // it went with its VM
		case err != nil:
			return refuse(err)
		}
	}
	v.p.leaving.Note(m.Properties.ID)
	return nil
}
