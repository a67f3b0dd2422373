package api

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/providers/driver/addresses"
)

// resolveCluster is the function Resolve of a VSphereCluster: the pool of its endpoint is in Git.
func resolveCluster(spec any, companions func(kind string) map[string]any) (any, field.ErrorList) {
	s, ok := spec.(*VSphereClusterSpec)
	if !ok || s.VirtualIP == nil || s.VirtualIP.AddressFromPool == nil {
		return spec, nil
	}
	return spec, addresses.ResolveRef(*s.VirtualIP.AddressFromPool, specPath.Child("virtualIP", "addressFromPool"), companions)
}

// resolveBelow returns the function Resolve of a kind whose spec is at a path: the pools that
// devices name are in Git, and each device has a network and addresses, from the machine or
// from a failure domain. Nothing of companions is written into the spec: where a machine is
// put is no part of what it is.
func resolveBelow(at *field.Path) func(any, func(string) map[string]any) (any, field.ErrorList) {
	return func(spec any, companions func(kind string) map[string]any) (any, field.ErrorList) {
		s, ok := spec.(*VSphereMachineSpec)
		if !ok {
			return spec, nil
		}
		var v validator
		list := at.Child("network", "devices")
		for i := range s.Network.Devices {
			v.Add(addresses.Resolve(s.Network.Devices[i].AddressesFromPools, list.Index(i).Child("addressesFromPools"), companions)...)
		}
		if domains, known := failureDomains(companions); known {
			v.incomplete(list, s.Network.Devices, domains)
		}
		return spec, v.Errs
	}
}

// failureDomains returns those of Git, and whether all are known.
func failureDomains(companions func(kind string) map[string]any) ([]*VSphereFailureDomainSpec, bool) {
	all := companions(failureDomainKind)
	if all == nil {
		return nil, false // what else Git holds is not known yet
	}
	var out []*VSphereFailureDomainSpec
	for _, c := range all {
		d, ok := c.(*VSphereFailureDomainSpec)
		if !ok {
			return nil, false // it could not be read
		}
		out = append(out, d)
	}
	return out, true
}

// incomplete refuses devices that have no network or no way to an address, where no failure
// domain says it of the device of that index.
func (v *validator) incomplete(at *field.Path, devices []NetworkDeviceSpec, domains []*VSphereFailureDomainSpec) {
	named, addressed := 0, make(map[int]bool)
	for _, d := range domains {
		named = max(named, len(d.Topology.Networks), len(d.Topology.NetworkConfigurations))
		for i, n := range d.Topology.NetworkConfigurations {
			addressed[i] = addressed[i] || n.addressed()
		}
	}
	if len(devices) == 0 && named == 0 {
		v.Add(field.Required(at, "a machine needs a network: name one, with dhcp4: true or addressesFromPools"))
	}
	for i := range devices {
		d, at := &devices[i], at.Index(i)
		if d.NetworkName == "" && i >= named {
			v.Add(field.Required(at.Child("networkName"), "the network of the device, here or in the topology of failure domains"))
		}
		if !d.Addressed() && !addressed[i] {
			v.Add(field.Required(at, "it is not said where the device gets its address: dhcp4: true, dhcp6: true, addressesFromPools, "+
				"or skipIPAllocation: true where something else gives it one"))
		}
	}
}

// Addressed reports whether the source of the device's addresses is set, or that it has none.
func (d *NetworkDeviceSpec) Addressed() bool {
	return d.addressed() || len(d.IPAddrs) > 0 || isTrue(d.SkipIPAllocation)
}

func (n *NetworkConfiguration) addressed() bool {
	return isTrue(n.DHCP4) || isTrue(n.DHCP6) || len(n.AddressesFromPools) > 0
}

func isTrue(b *bool) bool { return b != nil && *b }
