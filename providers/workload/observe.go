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
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

const controlPlaneLabel = "node-role.kubernetes.io/control-plane"

// never is when a token without expiration expires.
var never = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant that Go cannot write as one

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
		var static corev1.PodList
		err := n.together(
			func() error {
				return n.list(ctx, ref{resource: "nodes"}, metav1.ListOptions{}, &nodes)
			},
			func() error {
				return n.list(ctx, ref{"pods", metav1.NamespaceSystem, ""}, metav1.ListOptions{
					ResourceVersion: cached, LabelSelector: "tier=control-plane",
				}, &static)
			},
			func() (err error) { out.Tokens, err = n.tokens(ctx); return err },
			func() (err error) { out.Kubeadm, err = n.kubeadmState(ctx); return err },
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
		healthy := controlPlanes(static.Items)
		draining := &survey{conn: n}
		var expire map[string]time.Time
		if a.Certificates {
			expire = c.expiries(ctx, n, static.Items)
		}
		for i := range nodes.Items {
			node := newNode(&nodes.Items[i])
			node.ControlPlaneReady = node.ControlPlane && healthy(node.Name)
			node.CertificatesNotAfter = expire[node.Name]
			if node.Draining {
				if err := draining.observe(ctx, &node); err != nil {
					return err
				}
			}
			out.Nodes = append(out.Nodes, node)
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
// order, whichever came first: equal failures are told in equal words.
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
	if started, ok := n.Annotations[fleet.DrainingAnnotation]; ok {
		out.Draining = true
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

// controlPlanes returns a function that tells whether the static pods of a node
// are all there and ready. Etcd is expected on every node if it is on one.
func controlPlanes(pods []corev1.Pod) func(node string) bool {
	components := []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}
	ready := make(map[string]bool)
	for i := range pods {
		p := &pods[i]
		component := p.Labels["component"]
		ready[p.Spec.NodeName+"/"+component] = podReady(p)
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

func podReady(p *corev1.Pod) bool {
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

// tokens returns the bootstrap tokens, without their secrets.
func (n *conn) tokens(ctx context.Context) ([]fleet.TokenState, error) {
	var secrets corev1.SecretList
	err := n.list(ctx, ref{"secrets", metav1.NamespaceSystem, ""}, metav1.ListOptions{
		ResourceVersion: cached,
		FieldSelector:   "type=" + string(bootstrapapi.SecretTypeBootstrapToken),
	}, &secrets)
	if err != nil {
		return nil, err
	}
	var out []fleet.TokenState
	for _, s := range secrets.Items {
		out = append(out, fleet.TokenState{
			ID:      string(s.Data[bootstrapapi.BootstrapTokenIDKey]),
			Expires: expiration(&s),
		})
	}
	slices.SortFunc(out, func(a, b fleet.TokenState) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

// expiration returns when a token expires; one that cannot be read already has,
// as Kubernetes has it.
func expiration(s *corev1.Secret) time.Time {
	text, ok := s.Data[bootstrapapi.BootstrapTokenExpirationKey]
	if !ok {
		return never
	}
	t, _ := time.Parse(time.RFC3339, string(text))
	return t
}
