package api

import (
	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/objects"
)

// IsManaged reports whether AKS keeps the control plane of c, or ought to.
func IsManaged(c *fleet.Cluster) bool { return c.Infrastructure.GVK.Kind == managedClusterKind }

// ReadControlPlane returns the spec of the AzureManagedControlPlane of c, which has an AzureManagedCluster beside it, and
// its name.
func ReadControlPlane(c *fleet.Cluster) (*AzureManagedControlPlaneSpec, string, error) {
	hosted := c.Hosted != nil && c.Hosted.Object.GVK.Kind == ManagedControlPlane
	if hosted && IsManaged(c) {
		s, err := objects.Read[AzureManagedControlPlaneSpec](c.Hosted.Object, ManagedControlPlane)
		return s, c.Hosted.Object.Name, err
	}
	op := "read the control plane of " + c.Key.String()
	if hosted {
		return nil, "", fleet.Errorf(fleet.Invalid, op, "%s %s needs an %s as infrastructureRef of the Cluster, and not %s", ManagedControlPlane, c.Hosted.Object.Name, managedClusterKind, c.Infrastructure.GVK.Kind)
	}
	return nil, "", fleet.Errorf(fleet.Invalid, op, "%s %s needs an %s as controlPlaneRef of the Cluster", managedClusterKind, c.Infrastructure.Name, ManagedControlPlane)
}

// ReadShared returns what clusters of both kinds have: the subscription, the resource group and the network.
func ReadShared(c *fleet.Cluster) (*AzureClusterSpec, error) {
	if !IsManaged(c) {
		return ReadCluster(c.Infrastructure)
	}
	s, _, err := ReadControlPlane(c)
	if err != nil {
		return nil, err
	}
	return s.shared(), nil
}

// shared returns s as the cluster whose network has one subnet. It has no load balancer for API servers.
func (s *AzureManagedControlPlaneSpec) shared() *AzureClusterSpec {
	out := &AzureClusterSpec{
		AdditionalTags: s.AdditionalTags, AzureEnvironment: s.AzureEnvironment, IdentityRef: s.IdentityRef, Location: s.Location,
		ResourceGroup: s.ResourceGroupName, SubscriptionID: s.SubscriptionID,
	}
	out.NetworkSpec.APIServerLB = &LoadBalancer{Type: Public, FrontendIPs: []FrontendIP{{}}}
	if n := s.VirtualNetwork; n != nil && n.Subnet != nil {
		out.NetworkSpec.VNet = VNet{Name: n.Name, ResourceGroup: n.ResourceGroup, CIDRBlocks: []string{n.CIDRBlock}}
		out.NetworkSpec.Subnets = []Subnet{{Name: n.Subnet.Name, Role: NodeSubnet, CIDRBlocks: []string{n.Subnet.CIDRBlock}, ServiceEndpoints: n.Subnet.ServiceEndpoints, PrivateEndpoints: n.Subnet.PrivateEndpoints}}
	}
	return out
}

// ReadPool returns the spec of an AzureManagedMachinePool that was normalised.
func ReadPool(o fleet.Object) (*AzureManagedMachinePoolSpec, error) {
	return objects.Read[AzureManagedMachinePoolSpec](o, managedPoolKind)
}
