package api

import (
	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/objects"
)

// ReadCluster returns the spec of a VSphereCluster that was normalised.
func ReadCluster(o fleet.Object) (*VSphereClusterSpec, error) {
	return objects.Read[VSphereClusterSpec](o, clusterKind)
}

// ReadMachine returns the spec of a VSphereMachine, or of the machines of a
// VSphereMachineTemplate, that was normalised.
func ReadMachine(o fleet.Object) (*VSphereMachineSpec, error) {
	if o.GVK.Kind == machineKind {
		return objects.Read[VSphereMachineSpec](o, machineKind)
	}
	return objects.Read[VSphereMachineSpec](o, templateKind)
}

// ReadIdentity returns the spec of a VSphereClusterIdentity that was normalised.
func ReadIdentity(o fleet.Object) (*VSphereClusterIdentitySpec, error) {
	return objects.Read[VSphereClusterIdentitySpec](o, identityKind)
}

// ReadFailureDomain returns the spec of a VSphereFailureDomain that was normalised.
func ReadFailureDomain(o fleet.Object) (*VSphereFailureDomainSpec, error) {
	return objects.Read[VSphereFailureDomainSpec](o, failureDomainKind)
}

// ReadDeploymentZone returns the spec of a VSphereDeploymentZone that was normalised.
func ReadDeploymentZone(o fleet.Object) (*VSphereDeploymentZoneSpec, error) {
	return objects.Read[VSphereDeploymentZoneSpec](o, deploymentZoneKind)
}

// CredentialsOf returns the Secret with the account of c, whose spec is s, and those of
// Secrets that Git holds of it. A VSphereClusterIdentity that is not there, or does not
// allow the namespace of c, gives the kind Unauthorized.
func CredentialsOf(c *fleet.Cluster, s *VSphereClusterSpec) (fleet.Key, map[fleet.Key]fleet.SecretData, error) {
	op := "find the account of " + c.Key.String()
	if s.IdentityRef.Kind != IdentityClusterIdentity {
		return fleet.Key{Namespace: c.Key.Namespace, Name: s.IdentityRef.Name}, c.Infrastructure.Secrets, nil
	}
	o := objects.Companion(c, identityKind, s.IdentityRef.Name)
	if o == nil {
		return fleet.Key{}, nil, fleet.Errorf(fleet.Unauthorized, op, "Git has no %s %s (add it to the overlay)", identityKind, s.IdentityRef.Name)
	}
	id, err := ReadIdentity(*o)
	if err != nil {
		return fleet.Key{}, nil, err
	}
	if id.AllowedNamespaces == nil {
		return fleet.Key{}, nil, fleet.Errorf(fleet.Unauthorized, op, "%s %s lets in no namespace (give it allowedNamespaces)", identityKind, o.Name)
	}
	in, err := objects.LetsIn(&id.AllowedNamespaces.Selector, c)
	if err != nil {
		return fleet.Key{}, nil, fleet.Errorf(fleet.Invalid, op, "%s %s: %w", identityKind, o.Name, err)
	}
	if !in {
		return fleet.Key{}, nil, fleet.Errorf(fleet.Unauthorized, op, "%s %s does not let in the namespace %s (label the namespace as its allowedNamespaces say)", identityKind, o.Name, c.Key.Namespace)
	}
	return fleet.Key{Namespace: IdentityNamespace, Name: id.SecretName}, o.Secrets, nil
}
