package kubeadm

import "fairlead.dev/fleet"

// featureGates returns the feature gates for kubeadm, and refuses unsupported ones.
func (c *converter) featureGates(in map[string]bool) map[string]bool {
	out, wrong := fleet.KubeadmGates(in, c.minor)
	for _, g := range wrong {
		c.refuse(true, "clusterConfiguration.featureGates."+g.Name, "kubeadm has no such gate from Kubernetes 1.%d on, it is always %t: remove it", g.Since, g.As)
	}
	return out
}
