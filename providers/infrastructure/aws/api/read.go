package api

import (
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/objects"
)

// ReadCluster returns the spec of an AWSCluster that was normalised.
func ReadCluster(o fleet.Object) (*AWSClusterSpec, error) {
	return objects.Read[AWSClusterSpec](o, clusterKind)
}

// ReadControlPlane returns the spec of the AWSManagedControlPlane of c, which has an AWSManagedCluster beside it.
func ReadControlPlane(c *fleet.Cluster) (*AWSManagedControlPlaneSpec, error) {
	hosted := c.Hosted != nil && c.Hosted.Object.GVK.Kind == ManagedControlPlane
	if hosted && c.Infrastructure.GVK.Kind == ManagedCluster {
		return objects.Read[AWSManagedControlPlaneSpec](c.Hosted.Object, ManagedControlPlane)
	}
	op := "read the control plane of " + c.Key.String()
	if hosted {
		return nil, fleet.Errorf(fleet.Invalid, op, "%s %s needs an %s as infrastructureRef of the Cluster, and not %s", ManagedControlPlane, c.Hosted.Object.Name, ManagedCluster, c.Infrastructure.GVK.Kind)
	}
	return nil, fleet.Errorf(fleet.Invalid, op, "%s %s needs an %s as controlPlaneRef of the Cluster", ManagedCluster, c.Infrastructure.Name, ManagedControlPlane)
}

// IsManaged reports whether EKS keeps the control plane of c, or ought to.
func IsManaged(c *fleet.Cluster) bool { return c.Infrastructure.GVK.Kind == ManagedCluster }

// ReadShared returns what clusters of both kinds have: the account, the region and the network.
func ReadShared(c *fleet.Cluster) (*AWSClusterSpec, error) {
	if !IsManaged(c) {
		return ReadCluster(c.Infrastructure)
	}
	s, err := ReadControlPlane(c)
	if err != nil {
		return nil, err
	}
	return &AWSClusterSpec{
		AdditionalTags: s.AdditionalTags, IdentityRef: s.IdentityRef, Network: s.Network, Region: s.Region, SSHKeyName: s.SSHKeyName,
		ImageLookupBaseOS: s.ImageLookupBaseOS, ImageLookupFormat: s.ImageLookupFormat, ImageLookupOrg: s.ImageLookupOrg,
		ControlPlaneLoadBalancer: &LoadBalancer{LoadBalancerType: Disabled},
	}, nil
}

// ReadPool returns the spec of an AWSManagedMachinePool that was normalised.
func ReadPool(o fleet.Object) (*AWSManagedMachinePoolSpec, error) {
	return objects.Read[AWSManagedMachinePoolSpec](o, managedPoolKind)
}

// ReadMachine returns the spec of an AWSMachine, or of the machines of an AWSMachineTemplate or an AWSMachinePool, that
// was normalised.
func ReadMachine(o fleet.Object) (*AWSMachineSpec, error) {
	switch o.GVK.Kind {
	case machineKind:
		return objects.Read[AWSMachineSpec](o, machineKind)
	case poolKind:
		p, err := objects.Read[MachinePool](o, poolKind)
		if err != nil {
			return nil, err
		}
		if p.Places.Kind == PublicSubnets && len(p.Places.Subnets) == 0 {
			p.Machine.PublicIP = new(true)
		}
		return &p.Machine, nil
	}
	return objects.Read[AWSMachineSpec](o, templateKind)
}

// LetsIn reports whether clusters of the namespace of c may use an identity with these namespaces.
// Nil lets in none, empty all.
// Source: CAPA, pkg/cloud/scope/session.go.
func (a *AllowedNamespaces) LetsIn(c *fleet.Cluster) (bool, error) {
	switch {
	case a == nil:
		return false, nil
	case slices.Contains(a.List, c.Key.Namespace):
		return true, nil
	case len(a.Selector.MatchLabels)+len(a.Selector.MatchExpressions) == 0:
		return len(a.List) == 0, nil
	}
	return objects.LetsIn(&a.Selector, c)
}
