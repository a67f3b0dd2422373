package workload

import (
	"context"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/retry"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// SyncNode implements providers.Workload. A node that is in line is not written.
// Kubelet and controllers write a new Node all the time: one that changed meanwhile
// is looked at again, a few times, before it gives the kind Conflict.
func (c *Client) SyncNode(ctx context.Context, a providers.Access, node string, m fleet.MachineName, p fleet.Pool) error {
	return c.call(ctx, a, "sync node "+node, func(ctx context.Context, n *conn) error {
		at := ref{resource: "nodes", name: node}
		return retry.RetryOnConflict(retry.DefaultRetry, func() error {
			var live corev1.Node
			if err := n.get(ctx, at, &live); err != nil {
				return err
			}
			if fleet.NodeInSync(&fleet.Cluster{Key: a.Cluster}, p, m, newNode(&live)) {
				return nil
			}
			return n.mergePatch(ctx, at, syncPatch(a.Cluster, p, m, &live))
		})
	})
}

// syncPatch returns the merge patch that brings live, the node of machine m, in
// line with p. It holds for the version of live only, since a list of taints is
// replaced as a whole.
func syncPatch(k fleet.Key, p fleet.Pool, m fleet.MachineName, live *corev1.Node) map[string]any {
	labels := make(map[string]any)
	for _, old := range strings.Split(live.Annotations[clusterv1.LabelsFromMachineAnnotation], ",") {
		if old != "" {
			labels[old] = nil
		}
	}
	for key, v := range p.NodeLabels {
		labels[key] = v
	}
	annotations := fleet.NodeAnnotations(k, p, m)
	if _, synced := live.Annotations[clusterv1.TaintsFromMachineAnnotation]; !synced {
		maps.Copy(annotations, fleet.DeclaredHooks(&p)) // once: the controllers that wait for them take them away
	}
	taints := fleet.NodeTaints(p, live.Annotations, live.Spec.Taints)
	if taints == nil {
		taints = []corev1.Taint{}
	}
	return map[string]any{
		"metadata": map[string]any{
			"resourceVersion": live.ResourceVersion,
			"labels":          labels,
			"annotations":     annotations,
		},
		"spec": map[string]any{"taints": taints},
	}
}

// DeleteNode implements providers.Workload.
func (c *Client) DeleteNode(ctx context.Context, a providers.Access, node string) error {
	return c.call(ctx, a, "delete node "+node, func(ctx context.Context, n *conn) error {
		err := n.delete(ctx, ref{resource: "nodes", name: node})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}
