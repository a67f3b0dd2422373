package decode

import (
	"fairlead.dev/fleet"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// checkShared adds a problem to each Cluster that refers to a control plane or infrastructure
// which another one before it refers to: in Cluster API an object has one owner. A Cluster
// that is to go shares nothing.
func (s *overlaySet) checkShared() {
	first := make(map[string]*object) // the Cluster that refers to an object, by nameKey
	for _, o := range s.objects {
		in, ok := o.value.(*clusterv1.Cluster)
		if !ok || s.clusters[o.key()] != o || o.notes[fleet.DeleteAnnotation] == "true" || o.notes[fleet.DeleteAnnotation] == fleet.Abandon {
			continue
		}
		for _, of := range []struct {
			field string
			ref   clusterv1.ContractVersionedObjectReference
		}{
			{"spec.controlPlaneRef", in.Spec.ControlPlaneRef}, {"spec.infrastructureRef", in.Spec.InfrastructureRef},
		} {
			key := nameKey(groupKind(of.ref.APIGroup, of.ref.Kind), o.namespace, of.ref.Name)
			if other := first[key]; other != nil && other != o {
				o.add(of.field+".name", "give each cluster an object of its own", "%s %s/%s is what %s refers to as well", of.ref.Kind, o.namespace, of.ref.Name, other)
				continue
			}
			first[key] = o
		}
	}
}
