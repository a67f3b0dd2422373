package workload

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

const (
	// unreachableGrace is the grace period of pods on a node that does not
	// answer. Source: Cluster API, deletion of Machines.
	unreachableGrace = time.Second
	// evictAtOnce bounds the evictions of one step that run together.
	evictAtOnce = 16
)

// Drain implements providers.Workload. A node that is not there is drained. One
// with a pre-drain hook is marked, so that the controller that waits for that sees it, and
// nothing else.
func (c *Client) Drain(ctx context.Context, a providers.Access, node string, rules fleet.DrainRules) error {
	return c.call(ctx, a, "drain node "+node, func(ctx context.Context, n *conn) error {
		var live corev1.Node
		err := n.get(ctx, ref{resource: "nodes", name: node}, &live)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(fleet.Hooks(clusterv1.PreDrainDeleteHookAnnotationPrefix, live.Annotations)) > 0 {
			return n.markDraining(ctx, &live)
		}
		if err := c.cordon(ctx, n, &live); err != nil {
			return err
		}
		pods, err := (&survey{conn: n}).pods(ctx, node)
		if err != nil {
			return err
		}
		seen := newNode(&live)
		unreachable := seen.Unreachable()
		left := make([]fleet.Pod, len(pods))
		for i := range pods {
			left[i] = pods[i].Pod
		}
		behaviors := rules.Behaviors(left, unreachable, c.o.Now().Add(n.clock.Ahead()))
		if !slices.ContainsFunc(behaviors, func(t fleet.DrainBehavior) bool { return t != fleet.DrainSkip }) {
			return c.markDrained(ctx, n, &live)
		}
		return n.evictAll(ctx, &live, pods, behaviors, unreachable)
	})
}

// evictAll evicts the pods whose turn it is, and notes on the node that one was evicted. The
// note comes after: without it a node that is wanted again takes pods again, which harms none.
func (n *conn) evictAll(ctx context.Context, live *corev1.Node, pods []podOn, behaviors []fleet.DrainBehavior, unreachable bool) error {
	var evicted atomic.Bool
	var g errgroup.Group
	g.SetLimit(evictAtOnce)
	for i, t := range behaviors {
		if t == fleet.DrainSkip {
			continue
		}
		if !pods[i].Deleted.IsZero() {
			evicted.Store(true)
		} else if t == fleet.DrainEvict {
			g.Go(func() error {
				asked, err := n.evict(ctx, pods[i].live, unreachable)
				if asked {
					evicted.Store(true)
				}
				return err
			})
		}
	}
	err := g.Wait()
	if _, marked := live.Annotations[fleet.EvictedAnnotation]; evicted.Load() && !marked {
		err = cmp.Or(err, n.annotateNode(ctx, live.Name, fleet.EvictedAnnotation, ""))
	}
	return err
}

// Uncordon implements providers.Workload.
func (c *Client) Uncordon(ctx context.Context, a providers.Access, node string) error {
	return c.call(ctx, a, "uncordon node "+node, func(ctx context.Context, n *conn) error {
		at := ref{resource: "nodes", name: node}
		var live corev1.Node
		err := n.get(ctx, at, &live)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, marked := live.Annotations[fleet.DrainingAnnotation]; !marked {
			return nil
		}
		patch := map[string]any{"metadata": map[string]any{"annotations": map[string]any{
			fleet.DrainingAnnotation: nil, fleet.DrainedAnnotation: nil, fleet.EvictedAnnotation: nil, fleet.CordonedAnnotation: nil,
		}}}
		if _, before := live.Annotations[fleet.CordonedAnnotation]; !before && live.Annotations[fleet.DrainingAnnotation] != "" {
			patch["spec"] = map[string]any{"unschedulable": nil}
		}
		return n.mergePatch(ctx, at, patch)
	})
}

// markDraining says on the node that its removal has begun.
func (n *conn) markDraining(ctx context.Context, live *corev1.Node) error {
	if _, marked := live.Annotations[fleet.DrainingAnnotation]; marked {
		return nil
	}
	return n.annotateNode(ctx, live.Name, fleet.DrainingAnnotation, "")
}

// markDrained notes when nothing was left to move away.
func (c *Client) markDrained(ctx context.Context, n *conn, live *corev1.Node) error {
	if _, marked := live.Annotations[fleet.DrainedAnnotation]; marked {
		return nil
	}
	return n.annotateNode(ctx, live.Name, fleet.DrainedAnnotation, c.o.Now().UTC().Format(time.RFC3339))
}

func (n *conn) annotateNode(ctx context.Context, node, key, value string) error {
	return n.mergePatch(ctx, ref{resource: "nodes", name: node},
		map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
}

// cordon marks the node as draining from now on, and lets nothing new onto it.
func (c *Client) cordon(ctx context.Context, n *conn, live *corev1.Node) error {
	_, err := time.Parse(time.RFC3339, live.Annotations[fleet.DrainingAnnotation])
	started := err == nil
	if started && live.Spec.Unschedulable {
		return nil
	}
	patch := map[string]any{"spec": map[string]any{"unschedulable": true}}
	if !started {
		annotations := map[string]any{fleet.DrainingAnnotation: c.o.Now().UTC().Format(time.RFC3339)}
		if live.Spec.Unschedulable {
			annotations[fleet.CordonedAnnotation] = ""
		}
		patch["metadata"] = map[string]any{"annotations": annotations}
	}
	return n.mergePatch(ctx, ref{resource: "nodes", name: live.Name}, patch)
}

// evict asks for the eviction of p, and reports whether p goes or may go. A refusal is
// remembered and is no error: what is left shows in the next observation. Only what says
// something about the whole cluster is returned.
func (n *conn) evict(ctx context.Context, p *corev1.Pod, unreachable bool) (goes bool, err error) {
	o := &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(p.UID))}
	if unreachable {
		o.GracePeriodSeconds = new(int64(unreachableGrace / time.Second))
	}
	err = n.createEviction(ctx, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name},
		DeleteOptions: o,
	})
	if unreachable && apierrors.IsTooManyRequests(err) && !PodReady(p) {
		// The budget counts the pod as lost already and lets nothing go until it
		// is well again, which it never will be. Deleting it costs no
		// availability, and its object stays until the node is gone.
		err = n.deletePod(ctx, p, o)
	}
	id := podID{p.Spec.NodeName, p.UID}
	status, isStatus := errors.AsType[*apierrors.StatusError](err)
	switch {
	case err == nil:
		n.setBlocked(id, "")
		return true, nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		n.setBlocked(id, "")
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		n.setBlocked(id, "its namespace is being deleted, and takes it along")
	case isStatus && !apierrors.IsUnauthorized(err) && !lacksRight(err):
		n.setBlocked(id, refusal(status.Status()))
	default:
		return !isStatus, err // without an answer, it may have been taken
	}
	return false, nil
}

// refusal returns why an eviction was refused: what the disruption budget says,
// or the whole answer.
func refusal(s metav1.Status) string {
	if s.Details != nil {
		for _, cause := range s.Details.Causes {
			if cause.Type == policyv1.DisruptionBudgetCause {
				return cause.Message
			}
		}
	}
	return s.Message
}

func (n *conn) setBlocked(id podID, why string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if why == "" {
		delete(n.blocked, id)
		return
	}
	n.blocked[id] = why
}

func (n *conn) getBlocked(id podID) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.blocked[id]
}

// keepBlocked drops what is remembered of nodes that are gone.
func (n *conn) keepBlocked(nodes []corev1.Node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id := range n.blocked {
		if !slices.ContainsFunc(nodes, func(node corev1.Node) bool { return node.Name == id.node }) {
			delete(n.blocked, id)
		}
	}
}
