package api

import (
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/objects"
)

// ReadCluster returns the spec of an AWSCluster that was normalised.
func ReadCluster(o fleet.Object) (*AWSClusterSpec, error) {
	return objects.Read[AWSClusterSpec](o, clusterKind)
}

// ReadMachine returns the spec of an AWSMachine, or of the machines of an AWSMachineTemplate, that
// was normalised.
func ReadMachine(o fleet.Object) (*AWSMachineSpec, error) {
	if o.GVK.Kind == machineKind {
		return objects.Read[AWSMachineSpec](o, machineKind)
	}
	return objects.Read[AWSMachineSpec](o, templateKind)
}

// LetsIn reports whether clusters of the namespace of c may use an identity with these namespaces.
// Nil lets in none, empty all.
// Source: CAPA, pkg/cloud/scope/session.go.
func (a *AllowedNamespaces) LetsIn(c *fleet.Cluster) (bool, error) {
	switch {
	case a == nil:
		return false, nil
	case slices.Contains(a.List, c.Key.Namespace):
		return true, nil
	case len(a.Selector.MatchLabels)+len(a.Selector.MatchExpressions) == 0:
		return len(a.List) == 0, nil
	}
	return objects.LetsIn(&a.Selector, c)
}
