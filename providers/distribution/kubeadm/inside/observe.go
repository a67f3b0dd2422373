package inside

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/workload"
)

const podsPath = "/api/v1/namespaces/kube-system/pods"

// Observe adds to w, of which the Nodes are there, the servers, what kubeadm-config was
// brought in line with, and what the cluster was made with.
func (c *Client) Observe(ctx context.Context, a providers.Access, w *fleet.Workload) error {
	return c.clusters.Call(ctx, a, "observe the control plane", func(ctx context.Context, n *workload.Conn) error {
		var static corev1.PodList
		if err := n.GetCached(ctx, podsPath, "tier=control-plane", &static); err != nil {
			return err
		}
		if err := readConfig(ctx, n, w); err != nil {
			return err
		}
		var expire map[string]time.Time
		if a.Certificates {
			expire = keptOf(n).expiries(ctx, n, static.Items)
		}
		ready := controlPlanes(static.Items)
		w.Servers = nil
		for _, node := range w.Nodes {
			if node.ControlPlane {
				w.Servers = append(w.Servers, fleet.Server{Node: node.Name, Ready: ready(node.Name), CertificatesNotAfter: expire[node.Name]})
			}
		}
		slices.SortFunc(w.Servers, func(a, b fleet.Server) int { return strings.Compare(a.Node, b.Node) })
		return nil
	})
}

// controlPlanes returns a function that tells whether the static pods of a node
// are all there and ready. Etcd is expected on every node if it is on one.
func controlPlanes(pods []corev1.Pod) func(node string) bool {
	components := []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}
	ready := make(map[string]bool)
	for i := range pods {
		p := &pods[i]
		component := p.Labels["component"]
		ready[p.Spec.NodeName+"/"+component] = workload.PodReady(p)
		if component == "etcd" && !slices.Contains(components, "etcd") {
			components = append(components, "etcd")
		}
	}
	return func(node string) bool {
		for _, component := range components {
			if !ready[node+"/"+component] {
				return false
			}
		}
		return true
	}
}
