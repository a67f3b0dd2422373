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

// endpointPart begins the parts of a cluster that are private endpoints: addresses of services in its subnets.
const endpointPart = "endpoint-"

// partOfEndpoint is the part of a cluster that the private endpoint called name is. Azure does not tell upper and lower case apart.
func partOfEndpoint(name string) string { return endpointPart + strings.ToLower(name) }

// lookAtEndpoints finds the private endpoints, of a cluster that has some in Git or in its subnets.
func (v *view) lookAtEndpoints(ctx context.Context) (err error) {
	named := func(s api.Subnet) bool { return len(s.PrivateEndpoints) > 0 }
	prefix := strings.ToLower(v.place.kind(arm.Endpoints) + "/")
	has := func(s arm.Resource[arm.Subnet]) bool {
		return slices.ContainsFunc(s.Properties.Endpoints, func(r arm.Ref) bool { return strings.HasPrefix(strings.ToLower(r.ID), prefix) })
	}
	vnet := v.given
	if len(v.vnets) > 0 {
		vnet = partOf(v.vnets, vnetPart, v.vnetName())
	}
	if slices.ContainsFunc(v.spec.NetworkSpec.Subnets, named) || vnet != nil && slices.ContainsFunc(vnet.Properties.Subnets, has) {
		v.endpoints, err = ownOf[arm.PrivateEndpoint](ctx, v, arm.Endpoints, false)
	}
	return err
}

// privateEndpoints decides about the private endpoints in the subnets that are ready. What left Git goes.
func (v *view) privateEndpoints(d *steps.Decision, n network) {
	wanted := make(map[string]bool)
	for i := range v.spec.NetworkSpec.Subnets {
		s := &v.spec.NetworkSpec.Subnets[i]
		in := slices.IndexFunc(n.subnets, func(is subnet) bool { return is.name == v.subnetName(s) })
		for j := range s.PrivateEndpoints {
			e := &s.PrivateEndpoints[j]
			wanted[partOfEndpoint(e.Name)] = true
			if in < 0 {
				continue
			}
			is := there(v, d, &v.endpoints, arm.Endpoints, partOfEndpoint(e.Name), e.Name, nil, func() map[string]any {
				return endpointBody(e, n.subnets[in].id)
			})
			if is = orFailed(is, v.endpoints, partOfEndpoint(e.Name), e.Name); is != nil {
				tellConnections(d, is)
				v.compareEndpoint(d, is, e, n.subnets[in].id)
			}
		}
	}
	for i := range v.endpoints {
		e := v.endpoints[i : i+1]
		if part := tagsFrom(e[0].Tags)[partTag]; strings.HasPrefix(part, endpointPart) && !wanted[part] {
			goes(v, d, e, arm.Endpoints, false)
		}
	}
}

// isManual reports whether the owner of the service approves the connections of a private endpoint.
func isManual(e *api.PrivateEndpoint) bool { return e.ManualApproval != nil && *e.ManualApproval }

// endpointBody is a private endpoint in a subnet.
func endpointBody(e *api.PrivateEndpoint, subnet string) map[string]any {
	var connections []map[string]any
	for _, c := range e.PrivateLinkServiceConnections {
		p := map[string]any{"privateLinkServiceId": c.PrivateLinkServiceID}
		if len(c.GroupIDs) > 0 {
			p["groupIds"] = c.GroupIDs
		}
		if c.RequestMessage != "" {
			p["requestMessage"] = c.RequestMessage
		}
		connections = append(connections, map[string]any{"name": c.Name, "properties": p})
	}
	kind := "privateLinkServiceConnections"
	if isManual(e) {
		kind = "manualPrivateLinkServiceConnections"
	}
	p := map[string]any{"subnet": arm.Ref{ID: subnet}, kind: connections}
	if e.CustomNetworkInterfaceName != "" {
		p["customNetworkInterfaceName"] = e.CustomNetworkInterfaceName
	}
	var addresses []map[string]any
	for i, ip := range e.PrivateIPAddresses {
		addresses = append(addresses, map[string]any{"name": fmt.Sprint(e.Name, "-", i+1), "properties": map[string]any{"privateIPAddress": ip}})
	}
	if len(addresses) > 0 {
		p["ipConfigurations"] = addresses
	}
	var groups []arm.Ref
	for _, id := range e.ApplicationSecurityGroups {
		groups = append(groups, arm.Ref{ID: id})
	}
	if len(groups) > 0 {
		p["applicationSecurityGroups"] = groups
	}
	return map[string]any{"properties": p}
}

// compareEndpoint tells what Git asks for of a private endpoint that is there, and is not so.
func (v *view) compareEndpoint(d *steps.Decision, is *arm.Resource[arm.PrivateEndpoint], e *api.PrivateEndpoint, subnet string) {
	connections, how := is.Properties.Connections, ""
	if isManual(e) {
		connections, how = is.Properties.Manual, " with manual approval"
	}
	leads := func(c api.PrivateLinkConnection) bool {
		return slices.ContainsFunc(connections, func(has arm.Resource[arm.Connection]) bool {
			return arm.Same(has.Properties.Service, c.PrivateLinkServiceID) && (len(c.GroupIDs) == 0 || sameTexts(has.Properties.Groups, c.GroupIDs))
		})
	}
	for _, c := range e.PrivateLinkServiceConnections {
		if !leads(c) {
			to := strings.Join(append([]string{c.PrivateLinkServiceID}, c.GroupIDs...), " ") + how
			d.CannotFollow("networkSpec.subnets.privateEndpoints", "private endpoint %s does not lead to %s (give it another name, and the former one goes)", is.Name, to)
		}
	}
	var addresses []string
	for _, c := range is.Properties.Addresses {
		addresses = append(addresses, c.Properties.Address)
	}
	if want := e.PrivateIPAddresses; len(want) > 0 && !sameTexts(addresses, want) {
		d.CannotFollow("networkSpec.subnets.privateEndpoints", "private endpoint %s has %s and not %s (give it another name, and the former one goes)", is.Name, cmp.Or(strings.Join(addresses, ", "), "an address that Azure chose"), strings.Join(want, ", "))
	}
	if !arm.Same(is.Properties.Subnet.ID, subnet) {
		d.CannotFollow("networkSpec.subnets.privateEndpoints", "private endpoint %s is in %s (give it another name, and the former one goes)", is.Name, is.Properties.Subnet.ID)
	}
}

// tellConnections tells of connections that the owner of the service has not approved, or has ended.
func tellConnections(d *steps.Decision, e *arm.Resource[arm.PrivateEndpoint]) {
	for _, c := range slices.Concat(e.Properties.Connections, e.Properties.Manual) {
		if s := c.Properties.State; s.Status != "" && s.Status != "Approved" {
			d.Faults = append(d.Faults, fleet.Errorf(fleet.Conflict, "connect private endpoint "+e.Name, "connection %s is %s: %s (the owner of the service has to approve it)", c.Name, s.Status, s.Description))
		}
	}
}
