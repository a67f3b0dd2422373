package decode

import (
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// ports warns of ports of API servers that contradict each other: one that an endpoint overrides,
// and those of kubeadm, which the first machine and machines that join read at different places.
func (s *overlaySet) ports(clusters []fleet.Cluster) []fleet.Problem {
	var out []fleet.Problem
	for i := range clusters {
		c := &clusters[i]
		root := s.clusters[c.Key]
		in, ok := root.value.(*clusterv1.Cluster)
		if !ok || c.Hosted != nil {
			continue
		}
		warn := func(o *object, field, hint, format string, args ...any) {
			out = append(out, o.problem(flaw{field, fmt.Sprintf(format, args...), hint}))
		}
		if port, named := c.Network.APIServerPort, c.NamedEndpoint().Port; port != 0 && named != 0 && port != named {
			warn(root, "spec.clusterNetwork.apiServerPort", "name one port in both, or leave this one out",
				"%d is not used: the endpoint of the cluster has port %d", port, named)
		}
		ref := in.Spec.ControlPlaneRef
		first, joining := c.ControlPlane.ListensAt(fleet.JoinInit), c.ControlPlane.ListensAt(fleet.JoinControlPlane)
		if o := s.get(ref.APIGroup, ref.Kind, c.Key.Namespace, ref.Name); o != nil && first != joining {
			warn(o, "spec.kubeadmConfigSpec", "give initConfiguration.localAPIEndpoint and joinConfiguration.controlPlane.localAPIEndpoint one bindPort",
				"the API server of the first machine listens at %d, and those of machines that join listen at %d", first, joining)
		}
	}
	return out
}
