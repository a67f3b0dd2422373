package decode

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// unused warns of each object that changes no cluster: nothing refers to it, or it selects
// nothing. clusters are those of the overlay without problems. Objects of folders elsewhere
// are left out: such a folder is a base, and what one overlay does not use may be for another
// one. So are classes and what they are made of.
func (s *overlaySet) unused(clusters []fleet.Cluster) []fleet.Problem {
	if s.unreadable || len(clusters) < len(s.clusters) {
		return nil // what seems to be missing may be there
	}
	ofClasses := make(map[*object]bool)
	for _, o := range s.objects {
		if o.groupKind() == clusterClass {
			for _, t := range s.templates(o) {
				ofClasses[t] = true
			}
		}
	}
	var out []fleet.Problem
	for _, o := range s.objects {
		if o.kind == nil || ofClasses[o] || !s.owns(o) {
			continue
		}
		if field, what, hint := s.effectless(o, clusters); what != "" {
			out = append(out, o.problem(flaw{field, fmt.Sprintf("changes no cluster: %s", what), hint}))
		}
	}
	return out
}

// owns reports whether o is in a file of the overlay's own folder.
func (s *overlaySet) owns(o *object) bool {
	return s.path == "." || strings.HasPrefix(path.Clean(o.file), s.path+"/")
}

// effectless returns why o changes no cluster of the overlay, and what to do; empty if it changes
// one.
func (s *overlaySet) effectless(o *object, clusters []fleet.Cluster) (field, what, hint string) {
	const remove = "refer to it, or remove it"
	switch o.kind.role {
	case fleet.ControlPlaneKind, fleet.BootstrapConfigKind, fleet.BootstrapConfigTemplateKind, fleet.InfrastructureCluster,
		fleet.InfrastructureMachine, fleet.InfrastructureMachineTemplate, fleet.InfrastructureMachinePool:
		if len(s.members[o]) == 0 {
			return "", "nothing in the overlay refers to it", remove
		}
		return "", "", ""
	}
	selects := func(found func(c *fleet.Cluster) bool) bool {
		return slices.ContainsFunc(clusters, func(c fleet.Cluster) bool { return found(&c) })
	}
	switch v := o.value.(type) {
	case *clusterv1.MachineHealthCheck:
		if !selects(func(c *fleet.Cluster) bool {
			return c.Key.Namespace == o.namespace && c.Key.Name == v.Spec.ClusterName && slices.ContainsFunc(c.Pools(), func(p fleet.Pool) bool {
				return fleet.Selects(&v.Spec.Selector, c.MachineLabels(&p))
			})
		}) {
			return "spec.selector", "it selects no machine of Cluster " + o.namespace + "/" + v.Spec.ClusterName, "select labels of machines, such as " + clusterv1.MachineDeploymentNameLabel
		}
	case *clusterv1.MachineDrainRule:
		if !selects(func(c *fleet.Cluster) bool {
			return c.Key.Namespace == o.namespace && slices.ContainsFunc(c.Pools(), func(p fleet.Pool) bool {
				return slices.ContainsFunc(c.DrainRulesOf(p.Name), func(r clusterv1.MachineDrainRule) bool { return r.Name == o.name })
			})
		}) {
			return "spec.machines", "it selects no machine of a cluster of the overlay", "select labels that machines and clusters have"
		}
	default:
		if g := o.groupKind(); (g == "ClusterResourceSet.addons.cluster.x-k8s.io" || g == "HelmChartProxy.addons.cluster.x-k8s.io") && len(s.members[o]) == 0 {
			return "spec.clusterSelector", "it selects no Cluster of the overlay", "select labels that a Cluster of namespace " + o.namespace + " has"
		}
	}
	return "", "", ""
}
