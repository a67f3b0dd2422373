package api

import (
	"fairlead.dev/fleet"
	"fairlead.dev/providers/objects"
)

// ReadCluster returns the spec of a Metal3Cluster that was normalised.
func ReadCluster(o fleet.Object) (*Metal3ClusterSpec, error) {
	return objects.Read[Metal3ClusterSpec](o, clusterKind)
}

// ReadMachine returns the spec of the machines of a Metal3MachineTemplate that was normalised.
func ReadMachine(o fleet.Object) (*MachineSpec, error) {
	return objects.Read[MachineSpec](o, templateKind)
}

// ReadHost returns the spec of a BareMetalHost that was normalised.
func ReadHost(o fleet.Object) (*BareMetalHostSpec, error) {
	return objects.Read[BareMetalHostSpec](o, HostKind)
}

// ReadSettings returns the spec of HostFirmwareSettings that was normalised.
func ReadSettings(o fleet.Object) (*HostFirmwareSettingsSpec, error) {
	return objects.Read[HostFirmwareSettingsSpec](o, settingsKind)
}

// ReadComponents returns the spec of HostFirmwareComponents that was normalised.
func ReadComponents(o fleet.Object) (*HostFirmwareComponentsSpec, error) {
	return objects.Read[HostFirmwareComponentsSpec](o, componentsKind)
}

// ReadPool returns the spec of an IPPool that was normalised.
func ReadPool(o fleet.Object) (*IPPoolSpec, error) {
	return objects.Read[IPPoolSpec](o, PoolKind)
}

// Firmware returns the objects among list that say which firmware, and which settings of it, the
// host k has; nil: Git has none.
func Firmware(list []fleet.Object, k fleet.Key) (settings, components *fleet.Object) {
	for i := range list {
		switch o := &list[i]; {
		case o.GVK.Group != hostGroup || o.Namespace != k.Namespace || o.Name != k.Name:
		case o.GVK.Kind == settingsKind:
			settings = o
		case o.GVK.Kind == componentsKind:
			components = o
		}
	}
	return settings, components
}

// Hosts returns the BareMetalHosts among objects, in their order: that of Git.
func Hosts(list []fleet.Object) []fleet.Object {
	var out []fleet.Object
	for _, o := range list {
		if o.GVK.Group == hostGroup && o.GVK.Kind == HostKind {
			out = append(out, o)
		}
	}
	return out
}
