package fleet

import (
	"maps"
	"slices"
)

// A settledGate is a feature gate of kubeadm that is on, or off, permanently.
type settledGate struct {
	since uint // the first minor version of kubeadm without it
	as    bool
}

// settledGates are the feature gates that kubeadm knew once.
// Source: kubernetes, cmd/kubeadm/app/features.
func settledGates() map[string]settledGate {
	return map[string]settledGate{
		"EtcdLearnerMode":                  {since: 33, as: true},
		"WaitForAllControlPlaneComponents": {since: 35, as: true},
		localMode:                          {since: 36, as: true},
	}
}

// localMode lets the kubelet of a control-plane machine talk to the API server beside it,
// which the version skew of an upgrade needs. kubeadm has it from 1.31 on.
const localMode = "ControlPlaneKubeletLocalMode"

// A WrongGate is a feature gate that is set to what it cannot be.
type WrongGate struct {
	Name  string
	Since uint // the first minor version of kubeadm without it
	As    bool // its permanent value
}

// KubeadmGates returns the feature gates for kubeadm 1.minor, for a control plane that
// sets in: with localMode, and without gates that are already permanent at that value, since a
// kubeadm that does not know a gate refuses the whole configuration. It returns the gates that
// are set to something else, too, by name.
// Source: Cluster API, controlplane/kubeadm/pkg/desiredstate.
func KubeadmGates(in map[string]bool, minor uint) (out map[string]bool, wrong []WrongGate) {
	if minor < 31 {
		return in, nil
	}
	out = map[string]bool{localMode: true}
	maps.Copy(out, in)
	for _, name := range slices.Sorted(maps.Keys(out)) {
		settled, ok := settledGates()[name]
		if !ok || minor < settled.since {
			continue
		}
		if out[name] != settled.as {
			wrong = append(wrong, WrongGate{name, settled.since, settled.as})
		}
		delete(out, name)
	}
	return out, wrong
}
