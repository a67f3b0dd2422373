package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

const (
	// unreachableGrace is how long a pod on a node that does not answer is
	// waited for. Source: Cluster API, deletion of Machines.
	unreachableGrace = time.Second
	// evictAtOnce bounds the evictions of one step that run together.
	evictAtOnce = 16
)

// A podID tells pods apart, also a pod from its successor of the same name.
type podID struct {
	node string
	uid  types.UID
}

// A fate is what drain does with a pod.
type fate int

const (
	leave fate = iota // it stays, and goes down with the node
	await             // it is on its way, or ends by itself
	evict
)

// fateOf says what drain does with p on a node that may be unreachable, as
// kubectl drain --force --ignore-daemonsets --delete-emptydir-data does.
func fateOf(p *corev1.Pod, unreachable bool, now time.Time) fate {
	if _, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return leave
	}
	if owner := metav1.GetControllerOf(p); owner != nil && owner.Kind == "DaemonSet" {
		return leave
	}
	if p.DeletionTimestamp != nil {
		if unreachable && now.Sub(p.DeletionTimestamp.Time) > unreachableGrace {
			return leave
		}
		return await
	}
	switch strings.ToLower(p.Labels[clusterv1.PodDrainLabel]) {
	case "skip":
		return leave
	case "wait-completed":
		if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			return leave
		}
		return await
	}
	return evict
}

// Drain implements providers.Workload. A node that is not there is drained.
func (c *Client) Drain(ctx context.Context, a providers.Access, node string) error {
	return c.call(ctx, a, "drain node "+node, func(ctx context.Context, n *conn) error {
		var live corev1.Node
		err := n.get(ctx, ref{resource: "nodes", name: node}, &live)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := c.cordon(ctx, n, &live); err != nil {
			return err
		}
		pods, err := n.podsOn(ctx, node)
		if err != nil {
			return err
		}
		unreachable := readiness(&live) == corev1.ConditionUnknown
		var g errgroup.Group
		g.SetLimit(evictAtOnce)
		for i := range pods {
			if fateOf(&pods[i], unreachable, c.o.Now()) == evict {
				g.Go(func() error { return n.evict(ctx, &pods[i], unreachable) })
			}
		}
		return g.Wait()
	})
}

// cordon marks the node as draining and lets nothing new onto it.
func (c *Client) cordon(ctx context.Context, n *conn, live *corev1.Node) error {
	_, marked := live.Annotations[fleet.DrainingAnnotation]
	if marked && live.Spec.Unschedulable {
		return nil
	}
	patch := map[string]any{"spec": map[string]any{"unschedulable": true}}
	if !marked {
		patch["metadata"] = map[string]any{"annotations": map[string]any{
			fleet.DrainingAnnotation: c.o.Now().UTC().Format(time.RFC3339),
		}}
	}
	return n.mergePatch(ctx, ref{resource: "nodes", name: live.Name}, patch)
}

func (n *conn) podsOn(ctx context.Context, node string) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := n.list(ctx, ref{resource: "pods"}, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node}, &pods)
	return pods.Items, err
}

// evict asks for the eviction of p. A refusal is remembered and is no error:
// what is left shows in the next observation. Only what says something about
// the whole cluster is returned.
func (n *conn) evict(ctx context.Context, p *corev1.Pod, unreachable bool) error {
	e := &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(p.UID))},
	}
	if unreachable {
		e.DeleteOptions.GracePeriodSeconds = new(int64(unreachableGrace / time.Second))
	}
	err := n.createEviction(ctx, e)
	id := podID{p.Spec.NodeName, p.UID}
	status, isStatus := errors.AsType[*apierrors.StatusError](err)
	switch {
	case err == nil, apierrors.IsNotFound(err), apierrors.IsConflict(err):
		n.setBlocked(id, "")
	case isStatus && !apierrors.IsUnauthorized(err) && !apierrors.IsForbidden(err):
		n.setBlocked(id, refusal(status.Status()))
	default:
		return err
	}
	return nil
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

// remaining returns what drain still has to move off a node, and why it is
// still there.
func (c *Client) remaining(ctx context.Context, n *conn, node *corev1.Node) ([]string, error) {
	pods, err := n.podsOn(ctx, node.Name)
	if err != nil {
		return nil, err
	}
	unreachable := readiness(node) == corev1.ConditionUnknown
	var out []string
	for i := range pods {
		p := &pods[i]
		why := ""
		switch fateOf(p, unreachable, c.o.Now()) {
		case leave:
			continue
		case await:
			why = "is terminating"
			if p.DeletionTimestamp == nil {
				why = "is to complete first"
			}
		case evict:
			if why = n.getBlocked(podID{node.Name, p.UID}); why == "" {
				why = "is to be evicted"
			}
		}
		out = append(out, fmt.Sprintf("%s/%s: %s", p.Namespace, p.Name, why))
	}
	slices.Sort(out)
	return out, nil
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
