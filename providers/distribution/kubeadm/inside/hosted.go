package inside

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/workload"
)

// ObserveHosted adds to w what a hosted control plane serves, and whether there is what
// kubeadm join reads. What is on its machines is not looked at: some may be somebody's.
func (c *Client) ObserveHosted(ctx context.Context, a providers.Access, w *fleet.Workload) error {
	return c.clusters.Call(ctx, a, "observe the hosted control plane", func(ctx context.Context, n *workload.Conn) (err error) {
		if w.Version, err = n.Version(ctx); err != nil {
			return err
		}
		for _, path := range []string{configPath, configMapsPath + "/kubelet-config", clusterInfoPath} {
			var m corev1.ConfigMap
			switch err := n.GetCached(ctx, path, "", &m); {
			case apierrors.IsNotFound(err):
				w.Closed = "the control plane has no " + nameIn(path) + ", which kubeadm join reads: its operator has to create it, as kubeadm init does"
				return nil
			case err != nil:
				return err
			}
		}
		return nil
	})
}

// nameIn names the ConfigMap at path for people.
func nameIn(path string) string {
	parts := strings.Split(path, "/")
	return "ConfigMap " + parts[4] + "/" + parts[len(parts)-1]
}
