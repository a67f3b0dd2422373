package api

import (
	"encoding/json"

	"fairlead.dev/fleet"
)

// ReadCluster returns the spec of an OpenStackCluster that was normalised.
func ReadCluster(o fleet.Object) (*OpenStackClusterSpec, error) {
	return read[OpenStackClusterSpec](o, "OpenStackCluster")
}

// ReadMachine returns the spec of an OpenStackMachine, or of the machines of an
// OpenStackMachineTemplate, that was normalised.
func ReadMachine(o fleet.Object) (*OpenStackMachineSpec, error) {
	if o.GVK.Kind == machineKind {
		return read[OpenStackMachineSpec](o, machineKind)
	}
	return read[OpenStackMachineSpec](o, templateKind)
}

// ReadIdentity returns the spec of an OpenStackClusterIdentity that was
// normalised.
func ReadIdentity(o fleet.Object) (*OpenStackClusterIdentitySpec, error) {
	return read[OpenStackClusterIdentitySpec](o, "OpenStackClusterIdentity")
}

// ReadFloatingIPPool returns the spec of an OpenStackFloatingIPPool that was
// normalised.
func ReadFloatingIPPool(o fleet.Object) (*OpenStackFloatingIPPoolSpec, error) {
	return read[OpenStackFloatingIPPoolSpec](o, "OpenStackFloatingIPPool")
}

// IsImage reports whether o is an Image.
func IsImage(o fleet.Object) bool { return o.GVK.Group == imageGroup && o.GVK.Kind == imageKind }

// ReadImage returns the spec of an Image that was normalised.
func ReadImage(o fleet.Object) (*ImageSpec, error) { return read[ImageSpec](o, imageKind) }

func read[T any](o fleet.Object, kind string) (*T, error) {
	if o.GVK.Kind != kind {
		return nil, fleet.Errorf(fleet.Invalid, "read "+kind+" "+o.Name, "it is a %s", o.GVK.Kind)
	}
	spec := new(T)
	if err := json.Unmarshal(o.Spec, spec); err != nil {
		return nil, fleet.Errorf(fleet.Invalid, "read "+kind+" "+o.Name, "%w", err)
	}
	return spec, nil
}
