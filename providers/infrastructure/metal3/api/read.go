package api

import (
	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/objects"
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

// ReadPool returns the spec of an IPPool that was normalised.
func ReadPool(o fleet.Object) (*IPPoolSpec, error) {
	return objects.Read[IPPoolSpec](o, PoolKind)
}

// Firmware is what Git says of the firmware of a host; nil: nothing.
type Firmware struct {
	Settings   *HostFirmwareSettingsSpec
	Components *HostFirmwareComponentsSpec
}

// ReadFirmware returns what objects say of the firmware of hosts, by these.
func ReadFirmware(list []fleet.Object) (map[fleet.Key]Firmware, error) {
	out := make(map[fleet.Key]Firmware)
	for _, o := range list {
		if o.GVK.Group != hostGroup {
			continue
		}
		k := fleet.Key{Namespace: o.Namespace, Name: o.Name}
		f, err := out[k], error(nil)
		switch o.GVK.Kind {
		case settingsKind:
			f.Settings, err = objects.Read[HostFirmwareSettingsSpec](o, settingsKind)
		case componentsKind:
			f.Components, err = objects.Read[HostFirmwareComponentsSpec](o, componentsKind)
		default:
			continue
		}
		if err != nil {
			return nil, err
		}
		out[k] = f
	}
	return out, nil
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
