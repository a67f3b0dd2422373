package api

import (
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// networks implements fleet.Kind: the addresses of hosts that are no names. Those of hosts that are lost
// may be others' by now.
func networks(spec any) []string {
	var out []string
	for _, h := range detailsOf(spec) {
		if a, err := netip.ParseAddr(h.Address); err == nil && !h.Lost {
			out = append(out, a.String())
		}
	}
	return out
}

// detailsOf returns the hosts of a HostPoolSpec or a HostSpec.
func detailsOf(spec any) []HostDetails {
	switch s := spec.(type) {
	case *HostPoolSpec:
		var out []HostDetails
		for _, h := range s.Hosts {
			out = append(out, h.HostDetails)
		}
		return out
	case *HostSpec:
		return []HostDetails{s.HostDetails}
	}
	return nil
}

// resolveCluster is the function Resolve of a HostCluster: an address that servers hand to each other is
// none that a host has by itself.
func resolveCluster(spec any, companions func(kind string) map[string]any) (any, field.ErrorList) {
	s, ok := spec.(*HostClusterSpec)
	if !ok || s.VirtualIP == nil {
		return spec, nil
	}
	virtual, err := netip.ParseAddr(s.ControlPlaneEndpoint.Host)
	if err != nil {
		return spec, nil //nolint:nilerr // a name belongs to no machine
	}
	for _, kind := range []string{poolKind, hostKind} {
		for _, c := range companions(kind) {
			if slices.Contains(networks(c), virtual.String()) {
				return spec, field.ErrorList{field.Invalid(field.NewPath("spec", "controlPlaneEndpoint", "host"), s.ControlPlaneEndpoint.Host,
					"is the address of a host, and virtualIP has servers announce it: choose a free address of their network, or leave virtualIP out")}
			}
		}
	}
	return spec, nil
}
