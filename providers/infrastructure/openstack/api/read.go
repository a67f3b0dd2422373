package api

import (
	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/objects"
)

// ReadCluster returns the spec of an OpenStackCluster that was normalised.
func ReadCluster(o fleet.Object) (*OpenStackClusterSpec, error) {
	return objects.Read[OpenStackClusterSpec](o, clusterKind)
}

// ReadMachine returns the spec of an OpenStackMachine, or of the machines of an
// OpenStackMachineTemplate, that was normalised.
func ReadMachine(o fleet.Object) (*OpenStackMachineSpec, error) {
	if o.GVK.Kind == machineKind {
		return objects.Read[OpenStackMachineSpec](o, machineKind)
	}
	return objects.Read[OpenStackMachineSpec](o, templateKind)
}

// ReadIdentity returns the spec of an OpenStackClusterIdentity that was
// normalised.
func ReadIdentity(o fleet.Object) (*OpenStackClusterIdentitySpec, error) {
	return objects.Read[OpenStackClusterIdentitySpec](o, identityKind)
}

// ReadFloatingIPPool returns the spec of an OpenStackFloatingIPPool that was
// normalised.
func ReadFloatingIPPool(o fleet.Object) (*OpenStackFloatingIPPoolSpec, error) {
	return objects.Read[OpenStackFloatingIPPoolSpec](o, poolKind)
}

// IsImage reports whether o is an Image.
func IsImage(o fleet.Object) bool { return o.GVK.Group == imageGroup && o.GVK.Kind == imageKind }

// ReadImage returns the spec of an Image that was normalised.
func ReadImage(o fleet.Object) (*ImageSpec, error) { return objects.Read[ImageSpec](o, imageKind) }
