package workload

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

const controlPlaneLabel = "node-role.kubernetes.io/control-plane"

// cached lets the API server answer from memory. What is seen so may be old, by any
// time where the API server is cut off from etcd: it is for what leads to decisions
// that can be repeated. Which Nodes there are is not of that kind, since a machine
// without one is deleted without a drain.
const cached = "0"

// Observe implements providers.Workload.
func (c *Client) Observe(ctx context.Context, a providers.Access) (fleet.Workload, error) {
	out := fleet.Workload{Reachable: true}
	err := c.call(ctx, a, "observe the nodes", func(ctx context.Context, n *conn) error {
		var nodes corev1.NodeList
		err := n.together(
			func() error {
				return n.list(ctx, ref{resource: "nodes"}, metav1.ListOptions{}, &nodes)
			},
			func() (err error) { out.ResourceSets, err = n.inventories(ctx); return err },
			func() (err error) { out.Releases, err = n.releases(ctx); return err },
			func() (err error) {
				if a.External {
					out.External, err = n.external(ctx)
				}
				return err
			},
		)
		if err != nil {
			return err
		}
		for i := range nodes.Items {
			out.Nodes = append(out.Nodes, newNode(&nodes.Items[i]))
		}
		if err := n.observeDraining(ctx, c.o.Timeout/2, out.Nodes); err != nil {
			return err
		}
		n.keepBlocked(nodes.Items)
		out.Ahead = n.clock.Ahead()
		if at := n.expires.Load(); at != 0 {
			out.NotAfter = time.Unix(at, 0).UTC()
		}
		return nil
	})
	if err != nil {
		return fleet.Workload{}, err
	}
	slices.SortFunc(out.Nodes, func(a, b fleet.Node) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// together is together for reads from n's API server. The first goes alone where
// nothing was ever read: each of several would open a connection of its own, and
// over HTTP/2 one is enough for all.
func (n *conn) together(reads ...func() error) error {
	if n.expires.Load() == 0 {
		if err := reads[0](); err != nil {
			return err
		}
		reads = reads[1:]
	}
	return together(reads...)
}

// together makes reads at the same time and returns the error of the first in their
// order, whichever came first: equal failures are reported in equal words.
func together(reads ...func() error) error {
	errs := make([]error, len(reads))
	var wg sync.WaitGroup
	for i, read := range reads {
		wg.Go(func() { errs[i] = read() })
	}
	wg.Wait()
	return cmp.Or(errs...)
}

func newNode(n *corev1.Node) fleet.Node {
	_, controlPlane := n.Labels[controlPlaneLabel]
	out := fleet.Node{
		Name:           n.Name,
		ProviderID:     fleet.ProviderID(n.Spec.ProviderID),
		Created:        n.CreationTimestamp.Time,
		KubeletVersion: n.Status.NodeInfo.KubeletVersion,
		Ready:          readiness(n) == corev1.ConditionTrue,
		Conditions:     n.Status.Conditions,
		Labels:         n.Labels,
		Annotations:    n.Annotations,
		Taints:         n.Spec.Taints,
		Unschedulable:  n.Spec.Unschedulable,
		ControlPlane:   controlPlane,
	}
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP || a.Type == corev1.NodeExternalIP {
			out.Addresses = append(out.Addresses, a.Address)
		}
	}
	if started, ok := n.Annotations[fleet.DrainingAnnotation]; ok {
		out.Draining = true
		_, out.Evicted = n.Annotations[fleet.EvictedAnnotation]
		out.DrainStarted, _ = time.Parse(time.RFC3339, started)                           // damaged: not begun
		out.Drained, _ = time.Parse(time.RFC3339, n.Annotations[fleet.DrainedAnnotation]) // damaged: not done
	}
	return out
}

func readiness(n *corev1.Node) corev1.ConditionStatus {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return corev1.ConditionUnknown
}

// PodReady reports whether p is ready and is to stay.
func PodReady(p *corev1.Pod) bool {
	if p.DeletionTimestamp != nil {
		return false
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
