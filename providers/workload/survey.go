package workload

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fleet"
)

// A podID tells pods apart, also a pod from its successor of the same name.
type podID struct {
	node string
	uid  types.UID
}

// A podOn is a pod on a node that is drained, in full and as observed.
type podOn struct {
	fleet.Pod
	live *corev1.Pod
}

// surveyAtOnce bounds the Nodes of one look whose pods are listed at the same time.
const surveyAtOnce = 8

// A survey looks at what is on nodes that are drained. What is of the whole
// cluster is listed once, when it is first needed. It is safe for concurrent use.
type survey struct {
	*conn

	mu         sync.Mutex // held while what is of the whole cluster is listed
	daemonSets map[string]bool
	namespaces map[string]map[string]string
	volumes    map[string][]fleet.Volume // by node
}

// pods returns the pods on a node, sorted. Those that cannot be moved away are
// as in kubectl drain --force --ignore-daemonsets --delete-emptydir-data: static
// pods, and those of a DaemonSet that is there.
func (s *survey) pods(ctx context.Context, node string) ([]podOn, error) {
	var list corev1.PodList
	err := s.list(ctx, ref{resource: "pods"}, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node}, &list)
	if err != nil {
		return nil, err
	}
	var out []podOn
	for i := range list.Items {
		p := &list.Items[i]
		fixed, err := s.fixed(ctx, p)
		if err != nil {
			return nil, err
		}
		labels, err := s.namespace(ctx, p.Namespace)
		if err != nil {
			return nil, err
		}
		fact := s.fact(p, labels)
		fact.Fixed = fixed
		out = append(out, podOn{fact, p})
	}
	slices.SortFunc(out, func(a, b podOn) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

// fixed reports whether p is static, or a DaemonSet would bring it back at once.
func (s *survey) fixed(ctx context.Context, p *corev1.Pod) (bool, error) {
	if _, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return true, nil
	}
	owner := metav1.GetControllerOf(p)
	if owner == nil || owner.Kind != "DaemonSet" || finished(p) {
		return false, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.daemonSets == nil {
		var list appsv1.DaemonSetList
		if err := s.listAt(ctx, "/apis/apps/v1/daemonsets", &list); err != nil {
			return false, err
		}
		s.daemonSets = make(map[string]bool, len(list.Items))
		for i := range list.Items {
			s.daemonSets[list.Items[i].Namespace+"/"+list.Items[i].Name] = true
		}
	}
	return s.daemonSets[p.Namespace+"/"+owner.Name], nil
}

// namespace returns the labels of a namespace.
func (s *survey) namespace(ctx context.Context, name string) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.namespaces == nil {
		var list corev1.NamespaceList
		if err := s.list(ctx, ref{resource: "namespaces"}, metav1.ListOptions{ResourceVersion: cached}, &list); err != nil {
			return nil, err
		}
		s.namespaces = make(map[string]map[string]string, len(list.Items))
		for i := range list.Items {
			s.namespaces[list.Items[i].Name] = list.Items[i].Labels
		}
	}
	return s.namespaces[name], nil
}

// fact returns p as an observation.
func (s *survey) fact(p *corev1.Pod, namespaceLabels map[string]string) fleet.Pod {
	out := fleet.Pod{
		Namespace: p.Namespace, Name: p.Name, Labels: p.Labels, NamespaceLabels: namespaceLabels,
		Finished: finished(p), Blocked: s.getBlocked(podID{p.Spec.NodeName, p.UID}),
	}
	if p.DeletionTimestamp != nil {
		out.Deleted = p.DeletionTimestamp.Time
	}
	for _, v := range p.Spec.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			out.Claims = append(out.Claims, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			out.Claims = append(out.Claims, p.Name+"-"+v.Name)
		}
	}
	slices.Sort(out.Claims)
	return out
}

func finished(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// attached returns the volumes that are attached to a node, sorted.
func (s *survey) attached(ctx context.Context, node string) ([]fleet.Volume, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.volumes != nil {
		return s.volumes[node], nil
	}
	var list storagev1.VolumeAttachmentList
	if err := s.listAt(ctx, "/apis/storage.k8s.io/v1/volumeattachments", &list); err != nil {
		return nil, err
	}
	volumes := make(map[string][]fleet.Volume)
	var claims map[string]string
	for i := range list.Items {
		a := &list.Items[i]
		if !a.Status.Attached {
			continue
		}
		if claims == nil {
			var err error
			if claims, err = s.claims(ctx); err != nil {
				return nil, err
			}
		}
		v := fleet.Volume{Name: a.Name}
		if name := a.Spec.Source.PersistentVolumeName; name != nil {
			v = fleet.Volume{Name: *name, Claim: claims[*name]}
		}
		volumes[a.Spec.NodeName] = append(volumes[a.Spec.NodeName], v)
	}
	for _, v := range volumes {
		slices.SortFunc(v, func(a, b fleet.Volume) int { return cmp.Compare(a.Name, b.Name) })
	}
	s.volumes = volumes
	return volumes[node], nil
}

// claims returns which claim each PersistentVolume is bound to.
func (s *survey) claims(ctx context.Context) (map[string]string, error) {
	var list corev1.PersistentVolumeList
	if err := s.list(ctx, ref{resource: "persistentvolumes"}, metav1.ListOptions{ResourceVersion: cached}, &list); err != nil {
		return nil, err
	}
	out := make(map[string]string, len(list.Items))
	for i := range list.Items {
		if c := list.Items[i].Spec.ClaimRef; c != nil {
			out[list.Items[i].Name] = c.Namespace + "/" + c.Name
		}
	}
	return out, nil
}

// listAt lists what is in no core API, by its path. An API that is not served
// has nothing.
func (n *conn) listAt(ctx context.Context, path string, into runtime.Object) error {
	err := n.getAt(ctx, path, into)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// observeDraining fills in what is on those of nodes that are drained. What that takes grows
// with the drains that are under way, so it has a time of its own: a Node that was not looked
// at when it is over is Unseen, and comes first in the next look.
func (n *conn) observeDraining(ctx context.Context, within time.Duration, nodes []fleet.Node) error {
	var draining []*fleet.Node
	for i := range nodes {
		if nodes[i].Draining {
			draining = append(draining, &nodes[i])
		}
	}
	n.mu.Lock()
	first := n.unseen
	n.mu.Unlock()
	turn := func(node *fleet.Node) int {
		if first[node.Name] {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(draining, func(a, b *fleet.Node) int { return cmp.Compare(turn(a), turn(b)) })
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	s := &survey{conn: n}
	var g errgroup.Group
	g.SetLimit(surveyAtOnce)
	for _, node := range draining {
		g.Go(func() error {
			err := s.observe(bounded, node)
			if err != nil && bounded.Err() != nil && ctx.Err() == nil {
				node.Pods, node.Volumes, node.Unseen = nil, nil, true
				return nil
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	unseen := make(map[string]bool)
	for _, node := range draining {
		if node.Unseen {
			unseen[node.Name] = true
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.unseen = unseen
	return nil
}

// observe fills in what is on a node that is drained.
func (s *survey) observe(ctx context.Context, node *fleet.Node) error {
	pods, err := s.pods(ctx, node.Name)
	if err != nil {
		return err
	}
	for _, p := range pods {
		node.Pods = append(node.Pods, p.Pod)
	}
	node.Volumes, err = s.attached(ctx, node.Name)
	return err
}
