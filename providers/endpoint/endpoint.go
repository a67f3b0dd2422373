package endpoint

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"

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
// whose tags are damaged may be none, and is left as it is by whoever calls.
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

// manifests is where kubelets that kubeadm sets up find static pods.
const manifests = "/etc/kubernetes/manifests/"

// Brought reports whether the servers of c bring a static pod that names the host e: people
// have it serve the endpoint, as with kube-vip.
func Brought(c *fleet.Cluster, e fleet.Endpoint) bool {
	var spec struct {
		Files []struct {
			Path    string `json:"path"`
			Content string `json:"content"`
		} `json:"files"`
	}
	if e.Host == "" || json.Unmarshal(c.ControlPlane.Bootstrap.Spec, &spec) != nil {
		return false
	}
	for _, f := range spec.Files {
		if strings.HasPrefix(f.Path, manifests) && names(f.Content, e.Host) {
			return true
		}
	}
	return false
}

// names reports whether text has host as a word of its own.
func names(text, host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		host = a.String()
	}
	return slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'=,[]{}/", r) }), host)
}
