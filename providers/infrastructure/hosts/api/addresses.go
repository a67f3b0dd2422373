package api

import (
	"maps"
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

// resolveCluster is the function Resolve of a HostCluster: the hosts that it is about are in Git, and an address
// that servers hand to each other is none that a host has by itself.
func resolveCluster(spec any, companions func(kind string) map[string]any) (any, field.ErrorList) {
	s, ok := spec.(*HostClusterSpec)
	if !ok {
		return spec, nil
	}
	errs := append(hostsTwice(companions), resolveBalancer(s.LoadBalancer, companions)...)
	virtual, err := netip.ParseAddr(s.ControlPlaneEndpoint.Host)
	if s.VirtualIP == nil || err != nil { // a name belongs to no machine
		return spec, errs
	}
	for _, kind := range []string{poolKind, hostKind} {
		for _, c := range companions(kind) {
			if slices.Contains(networks(c), virtual.String()) {
				return spec, append(errs, field.Invalid(field.NewPath("spec", "controlPlaneEndpoint", "host"), s.ControlPlaneEndpoint.Host,
					"is the address of a host, and virtualIP has servers announce it: choose a free address of their network, or leave virtualIP out"))
			}
		}
	}
	return spec, errs
}

// resolveBalancer checks that the host of a load balancer is in Git.
func resolveBalancer(l *LoadBalancer, companions func(kind string) map[string]any) field.ErrorList {
	pools := companions(poolKind)
	if l == nil || pools == nil {
		return nil // what else Git holds is not known yet
	}
	at := field.NewPath("spec", "loadBalancer")
	of, ok := pools[l.PoolName]
	if !ok {
		return field.ErrorList{field.NotFound(at.Child("poolName"), poolKind+" "+l.PoolName)}
	}
	pool, ok := of.(*HostPoolSpec)
	if h, is := companions(hostKind)[l.HostName].(*HostSpec); !ok || pool.has(l.HostName) || is && h.PoolName == l.PoolName {
		return nil // what is wrong with the pool is reported of it
	}
	return field.ErrorList{field.NotFound(at.Child("hostName"), "host "+l.HostName+" of "+poolKind+" "+l.PoolName)}
}

// hostsTwice checks that no Host is in the list of its pool as well.
func hostsTwice(companions func(kind string) map[string]any) (errs field.ErrorList) {
	hosts := companions(hostKind)
	for _, name := range slices.Sorted(maps.Keys(hosts)) {
		h, _ := hosts[name].(*HostSpec)
		if h == nil {
			continue
		}
		if pool, ok := companions(poolKind)[h.PoolName].(*HostPoolSpec); ok && pool.has(name) {
			errs = append(errs, field.Duplicate(field.NewPath("spec"), poolKind+" "+h.PoolName+" and "+hostKind+" "+name+" have a host of that name: rename or remove one of them"))
		}
	}
	return errs
}

// has reports whether the list of the pool has a host called name.
func (s *HostPoolSpec) has(name string) bool {
	return slices.ContainsFunc(s.Hosts, func(h PoolHost) bool { return h.Name == name })
}

// resolveHost is the function Resolve of a Host: its pool is in Git.
func resolveHost(spec any, companions func(kind string) map[string]any) (any, field.ErrorList) {
	s, ok := spec.(*HostSpec)
	pools := companions(poolKind)
	if !ok || pools == nil {
		return spec, nil // what else Git holds is not known yet
	}
	if _, found := pools[s.PoolName]; found {
		return spec, nil
	}
	return spec, field.ErrorList{field.NotFound(field.NewPath("spec", "poolName"), poolKind+" "+s.PoolName)}
}
