package inmemory

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fleet/documents"
)

// announced returns the addresses that static pods of kube-vip in the folder dir announce.
// The pod asks the API server of its machine with the kubeconfig that it is given: with
// another than the machine has for that it never wins an election.
func announced(d disk, dir, kubeconfig string) []string {
	var out []string
	for name, f := range d.files {
		var pod corev1.Pod
		if path.Dir(name) != dir || documents.Unmarshal(f.content, &pod, documents.BuiltLimits()) != nil || pod.Kind != "Pod" {
			continue
		}
		may := slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
			return v.HostPath != nil && (v.HostPath.Path == kubeconfig || replaced(d, kubeconfig))
		})
		for _, c := range pod.Spec.Containers {
			for _, e := range c.Env {
				if e.Name == "address" && may && pod.Spec.HostNetwork {
					out = append(out, e.Value)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// replaced reports whether a command of the machine is about the kubeconfig: people change
// the path in their manifests by one.
func replaced(d disk, kubeconfig string) bool {
	return slices.ContainsFunc(d.commands, func(c string) bool { return strings.Contains(c, kubeconfig) })
}

// answers reports whether the endpoint of the network leads to the machine: a load balancer
// leads to all of them, a virtual address to those that may have it.
func (v *vm) answers() bool {
	return !v.network.virtual || v.boot.announces(v.network.Endpoint.Host)
}
