package endpoint

import (
	"slices"

	"fairlead.dev/fleet"
)

// Known returns where the machines of c know the API server, which was there when their
// control plane was: zero where Git names it, and where none was.
func Known(c *fleet.Cluster) fleet.Endpoint {
	if !c.NamedEndpoint().IsZero() || c.Residence.ControlPlane != fleet.InitializedOnce {
		return fleet.Endpoint{}
	}
	return c.Residence.Endpoint
}

// Wanted returns where the API server of c is to answer: as Git names it, and else at the host
// that machines know. What is zero is the provider's to choose.
func Wanted(c *fleet.Cluster) fleet.Endpoint {
	e := c.NamedEndpoint()
	if e.Host == "" {
		e.Host = Known(c).Host
	}
	if e.Port == 0 {
		e.Port = c.Network.APIServerPort
	}
	return e
}

// Leads reports whether a load balancer leads to m: a server that is not on its way out. One
// whose tags are damaged may be none, and the callers leave it unchanged.
func Leads(m *fleet.Machine) bool {
	return m.Role == fleet.RoleControlPlane && m.State != fleet.MachineDeleting && m.State != fleet.MachineReleased
}

// Successors returns the servers, which are given oldest first, in the order in which they are
// to have an address that is on one at a time. A rollout takes the outdated ones, the oldest
// first, so the youngest of these has it the longest; a current one has joined for certain
// where another was made after it.
func Successors[T any](servers []T, outdated func(T) bool) []T {
	var old, current []T
	for _, s := range servers {
		if outdated(s) {
			old = append(old, s)
		} else {
			current = append(current, s)
		}
	}
	slices.Reverse(old)
	if len(old) == 1 && len(current) > 1 {
		return append(current, old...)
	}
	return append(old, current...)
}
