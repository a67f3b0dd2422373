package azure

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// A right is an action that the role of a principal needs, for some clusters; nil: for all.
type right struct {
	action string
	needed func(v *view) bool
}

// Which clusters need a right.
func ofVMs(v *view) bool    { return !api.IsManaged(v.c) }
func ofAKS(v *view) bool    { return api.IsManaged(v.c) }
func ownVNet(v *view) bool  { return v.given == nil }
func ownVMNet(v *view) bool { return ownVNet(v) && ofVMs(v) }
func never(*view) bool      { return false } // it is for an adoption, or for what is left of clusters
func newGroup(v *view) bool { return v.group == nil || v.ownGroup() }
func private(v *view) bool  { return ofVMs(v) && !v.c.ServedElsewhere() && v.isInternal() }
func zoned(v *view) bool    { return private(v) && v.spec.NetworkSpec.PrivateDNSZone != "None" }
func zonedHere(v *view) bool {
	g := v.spec.NetworkSpec.PrivateDNSZoneResourceGroup
	return zoned(v) && (g == "" || strings.EqualFold(g, v.place.group))
}
func public(v *view) bool { return ofVMs(v) && !v.c.ServedElsewhere() && !v.isInternal() }
func routed(v *view) bool {
	return ownVMNet(v) && slices.ContainsFunc(v.spec.NetworkSpec.Subnets, func(s api.Subnet) bool { return s.RouteTable != nil })
}

func withBastion(v *view) bool { return ofVMs(v) && v.bastion() != nil }

func isOutbound(v *view) bool { return ofVMs(v) && len(v.outbounds()) > 0 }

func withEndpoints(v *view) bool {
	return anyEndpoint(v, func(api.PrivateEndpoint) bool { return true })
}

func inGroups(v *view) bool {
	return anyEndpoint(v, func(e api.PrivateEndpoint) bool { return len(e.ApplicationSecurityGroups) > 0 })
}

// anyEndpoint returns whether private endpoints of a cluster are so.
func anyEndpoint(v *view, is func(e api.PrivateEndpoint) bool) bool {
	return slices.ContainsFunc(v.spec.NetworkSpec.Subnets, func(s api.Subnet) bool { return slices.ContainsFunc(s.PrivateEndpoints, is) })
}

func peered(v *view) bool { return ownVMNet(v) && len(v.spec.NetworkSpec.VNet.Peerings) > 0 }

// besideAKS returns the control plane of a cluster of AKS; empty: the cluster is another.
func besideAKS(v *view) *api.AzureManagedControlPlaneSpec {
	if s, _, err := api.ReadControlPlane(v.c); err == nil {
		return s
	}
	return new(api.AzureManagedControlPlaneSpec)
}

// memberships begins the actions of memberships of clusters of AKS in fleets of Azure.
const memberships = "Microsoft.ContainerService/fleets/members/"

// anyMachine returns whether machines of a cluster are so.
func anyMachine(is func(v *view, m *api.AzureMachineSpec) bool) func(v *view) bool {
	return func(v *view) bool {
		return ofVMs(v) && slices.ContainsFunc(v.c.Pools(), func(p fleet.Pool) bool {
			m, err := api.ReadMachine(p.Infrastructure)
			return err == nil && is(v, m)
		})
	}
}

// rights returns all that a role needs.
// Source: Azure documentation, "Azure permissions".
func rights() []right {
	const network, compute, groups, aks = "Microsoft.Network/", "Microsoft.Compute/", "Microsoft.Resources/subscriptions/resourceGroups/", "Microsoft.ContainerService/managedClusters/"
	var out []right
	add := func(needed func(v *view) bool, prefix string, actions ...string) {
		for _, a := range actions {
			out = append(out, right{prefix + a, needed})
		}
	}
	identity := anyMachine(func(_ *view, m *api.AzureMachineSpec) bool { return m.Identity == api.UserAssigned })
	reserved := anyMachine(func(_ *view, m *api.AzureMachineSpec) bool { return m.CapacityReservationGroupID != "" })
	racks := anyMachine(func(v *view, m *api.AzureMachineSpec) bool {
		s, ok := v.place.known(v.spec.Location)[strings.ToLower(m.VMSize)]
		return ok && len(s.zones) == 0 && inSet(m)
	})
	from := func(kind string) func(v *view) bool {
		return anyMachine(func(_ *view, m *api.AzureMachineSpec) bool {
			image, _ := imageOf(m.Image, "", "")
			id, _ := image["id"].(string)
			return strings.Contains(strings.ToLower(id), "/microsoft.compute/"+kind+"/")
		})
	}
	add(nil, groups, "read")
	add(newGroup, groups, "write", "delete", "resources/read")
	add(never, "", "Microsoft.Resources/subscriptions/resources/read", "Microsoft.Resources/tags/write", "Microsoft.Authorization/permissions/read")
	add(nil, network, "virtualNetworks/read", "virtualNetworks/subnets/join/action", "networkSecurityGroups/read", "natGateways/read", "publicIPAddresses/read", "loadBalancers/read", "networkInterfaces/read", "privateDnsZones/read")
	add(nil, compute, "virtualMachines/read", "disks/read", "skus/read")
	add(ownVNet, network, "virtualNetworks/write", "virtualNetworks/delete", "virtualNetworks/subnets/read", "virtualNetworks/subnets/write")
	add(ownVMNet, network, "networkSecurityGroups/write", "networkSecurityGroups/delete", "networkSecurityGroups/join/action", "natGateways/write", "natGateways/delete", "natGateways/join/action")
	addressed := anyMachine(func(_ *view, m *api.AzureMachineSpec) bool { return m.AllocatePublicIP != nil && *m.AllocatePublicIP })
	add(func(v *view) bool { return ownVMNet(v) || public(v) || withBastion(v) || addressed(v) || isOutbound(v) }, network, "publicIPAddresses/write", "publicIPAddresses/delete", "publicIPAddresses/join/action")
	add(peered, network, "virtualNetworks/peer/action", "virtualNetworks/virtualNetworkPeerings/read", "virtualNetworks/virtualNetworkPeerings/write", "virtualNetworks/virtualNetworkPeerings/delete")
	add(withBastion, network, "bastionHosts/read", "bastionHosts/write", "bastionHosts/delete")
	add(withEndpoints, network, "privateEndpoints/read", "privateEndpoints/write", "privateEndpoints/delete")
	add(inGroups, network, "applicationSecurityGroups/joinIpConfiguration/action")
	add(routed, network, "routeTables/read", "routeTables/write", "routeTables/delete", "routeTables/join/action")
	add(func(v *view) bool { return private(v) || public(v) || isOutbound(v) }, network, "loadBalancers/write", "loadBalancers/delete", "loadBalancers/backendAddressPools/join/action")
	add(never, network, "loadBalancers/inboundNatRules/join/action")
	add(zoned, network, "virtualNetworks/join/action")
	add(zonedHere, network, "privateDnsZones/write", "privateDnsZones/delete", "privateDnsZones/A/read", "privateDnsZones/A/write",
		"privateDnsZones/virtualNetworkLinks/read", "privateDnsZones/virtualNetworkLinks/write", "privateDnsZones/virtualNetworkLinks/delete")
	add(ofVMs, compute, "virtualMachines/write", "virtualMachines/delete", "disks/write", "disks/delete")
	add(ofVMs, network, "networkInterfaces/write", "networkInterfaces/delete")
	add(anyMachine(withExtensions), compute, "virtualMachines/extensions/read", "virtualMachines/extensions/write")
	add(racks, compute, "availabilitySets/read", "availabilitySets/write", "availabilitySets/delete")
	add(from("galleries"), compute, "galleries/images/versions/read")
	add(from("images"), compute, "images/read")
	add(never, compute, "locations/usages/read", "locations/communityGalleries/images/versions/read", "locations/publishers/artifacttypes/offers/skus/versions/read")
	add(reserved, compute, "capacityReservationGroups/deploy/action")
	add(identity, "Microsoft.ManagedIdentity/userAssignedIdentities/", "read", "assign/action")
	add(func(v *view) bool { return len(besideAKS(v).Extensions) > 0 }, "Microsoft.KubernetesConfiguration/extensions/", "read", "write")
	add(never, memberships, "read", "write", "delete") // in the resource group of the fleet
	add(ofAKS, aks, "read", "write", "delete", "agentPools/read", "agentPools/write", "agentPools/delete", "listClusterAdminCredential/action")
	add(ofAKS, compute, "virtualMachineScaleSets/read", "virtualMachineScaleSets/virtualMachines/read")
	return out
}

// Actions returns the actions that the role of a principal needs for all kinds of clusters, sorted.
func Actions() []string {
	var out []string
	for _, r := range rights() {
		out = append(out, r.action)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// allows reports whether one of permissions has an action.
func allows(permissions []arm.Permission, action string) bool {
	matches := func(pattern string) bool { // a star stands for any number of segments
		ok, err := path.Match(strings.ReplaceAll(strings.ToLower(pattern), "/", "."), strings.ReplaceAll(strings.ToLower(action), "/", "."))
		return err == nil && ok
	}
	return slices.ContainsFunc(permissions, func(p arm.Permission) bool {
		return slices.ContainsFunc(p.Actions, matches) && !slices.ContainsFunc(p.NotActions, matches)
	})
}

// checkRights compares what the principal may do with what the cluster needs.
func (v *view) checkRights(ctx context.Context, note driver.Note) {
	own := arm.GroupID(v.place.Subscription(), v.place.group)
	if v.group == nil {
		own = "/subscriptions/" + v.place.Subscription()
	}
	needs := map[string][]string{}
	for _, r := range rights() {
		if r.needed == nil || r.needed(v) {
			needs[own] = append(needs[own], r.action)
		}
	}
	if f := besideAKS(v).FleetsMember; f != nil {
		at := arm.GroupID(v.place.Subscription(), f.ManagerResourceGroup)
		needs[at] = append(needs[at], memberships+"read", memberships+"write", memberships+"delete")
	}
	if v.given != nil && !v.vnetInGroup() {
		at := arm.GroupID(v.place.Subscription(), v.spec.NetworkSpec.VNet.ResourceGroup)
		needs[at] = append(needs[at], arm.VNets+"/read", arm.VNets+"/subnets/join/action")
	}
	if zoned(v) && !zonedHere(v) {
		for _, r := range rights() {
			if strings.HasPrefix(r.action, arm.Zones+"/") {
				needs[v.zoneGroup()] = append(needs[v.zoneGroup()], r.action)
			}
		}
	}
	for i := range v.spec.NetworkSpec.VNet.Peerings {
		if group := v.spec.NetworkSpec.VNet.Peerings[i].ResourceGroup; group != "" && !strings.EqualFold(group, v.place.group) && peered(v) {
			const half = arm.VNets + "/virtualNetworkPeerings/"
			of := []string{arm.VNets + "/peer/action", half + "read", half + "write", half + "delete"}
			if zoned(v) { // the zone is known there
				of = append(of, arm.VNets+"/join/action")
			}
			at := arm.GroupID(v.place.Subscription(), group)
			needs[at] = append(needs[at], of...)
		}
	}
	for _, scope := range slices.Sorted(maps.Keys(needs)) {
		actions := needs[scope]
		has, err := arm.List[arm.Permission](ctx, v.place.Client, scope+"/providers/Microsoft.Authorization/permissions")
		lacks := slices.DeleteFunc(slices.Clone(actions), func(a string) bool { return allows(has, a) })
		slices.Sort(lacks)
		const op = "check the role of the service principal"
		switch {
		case arm.IsUnused(err):
			note("rights", "not checked: the role lacks Microsoft.Authorization/permissions/read", nil)
		case err != nil:
			note("rights", "", arm.WrapLook(op, err))
		case len(lacks) > 0:
			note("rights", "", fleet.Errorf(fleet.Unauthorized, op, "for %s it lacks %s (add them to the role)", scope, strings.Join(lacks, ", ")))
		default:
			note("rights", "the role allows all that is needed", nil)
		}
	}
}
