package demo

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"fairlead.dev/agent/wiring/kube"
	"fairlead.dev/fleet"
)

// apiTimeout bounds one request: an API server that does not answer is away.
const apiTimeout = 3 * time.Second

// nodesIn returns the nodes of the cluster that a kubeconfig leads to, as anybody who has it
// reaches them.
func nodesIn(kubeconfig fleet.Secret) (corev1client.NodeInterface, error) {
	access, err := kube.FromContent(kubeconfig, kube.Options{Timeout: apiTimeout})
	if err != nil {
		return nil, err
	}
	client, err := corev1client.NewForConfig(access.Config)
	if err != nil {
		return nil, err
	}
	return client.Nodes(), nil
}

func ready(n corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
