package kubeadm

import (
	"maps"
	"slices"
)

// A gone gate is a feature gate that kubeadm knew once. It is on, or off, for
// good: a kubeadm that does not know a gate refuses the whole configuration, that
// of the cluster that it joins as well.
// Source: kubernetes, cmd/kubeadm/app/features.
type goneGate struct {
	from uint // the first minor version without it
	as   bool
}

func goneGates() map[string]goneGate {
	return map[string]goneGate{
		"EtcdLearnerMode":                  {from: 33, as: true},
		"WaitForAllControlPlaneComponents": {from: 35, as: true},
		localMode:                          {from: 36, as: true},
	}
}

// localMode lets the kubelet of a control-plane machine talk to the API server
// beside it, which the version skew of an upgrade needs. kubeadm has it from 1.31.
const localMode = "ControlPlaneKubeletLocalMode"

// featureGates adds localMode, and leaves out gates that are for good what they
// are set to.
// Source: Cluster API, controlplane/kubeadm/pkg/desiredstate.
func (c *converter) featureGates(in map[string]bool) map[string]bool {
	if c.minor < 31 {
		return in
	}
	out := map[string]bool{localMode: true}
	maps.Copy(out, in)
	for _, name := range slices.Sorted(maps.Keys(out)) {
		gone, ok := goneGates()[name]
		if !ok || c.minor < gone.from {
			continue
		}
		c.refuse(out[name] != gone.as, "clusterConfiguration.featureGates.%s: kubeadm has no such gate from Kubernetes 1.%d on, it is %t for good: remove it",
			name, gone.from, gone.as)
		delete(out, name)
	}
	return out
}
