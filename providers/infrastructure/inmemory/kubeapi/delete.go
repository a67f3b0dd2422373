package kubeapi

import (
	"errors"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// defaultGrace is how long a pod may take to end, in seconds.
const defaultGrace = 30

// remove takes an object away at once.
func (s *Server) remove(k *kind, namespace, name string) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.removeLocked(key{k, namespace, name})
}

// removeLocked takes an object away, and what a cluster's controllers would
// remove after it: the content of a namespace, the pods of a node, the objects of a
// kind.
func (s *Server) removeLocked(at key) {
	raw, ok := s.store.objects[at]
	if !ok {
		return
	}
	for _, it := range s.definedBy(at) {
		s.commit(it.key, it.raw, nil)
	}
	s.commit(at, raw, nil)
	switch at.kind.Kind {
	case "Namespace":
		for k := range s.kinds() {
			if !k.namespaced {
				continue
			}
			for _, it := range s.itemsLocked(k, at.name) {
				s.commit(it.key, it.raw, nil)
			}
		}
	case "Node":
		s.eachPodOf(at.name, func(it item, _ *unstructured.Unstructured) { s.commit(it.key, it.raw, nil) })
	}
}

func (s *Server) eachPodOf(node string, f func(it item, pod *unstructured.Unstructured)) {
	for _, it := range s.itemsLocked(s.kind(corev1.SchemeGroupVersion.WithKind("Pod")), "") {
		if pod := decode(it.raw); nodeOf(pod) == node {
			f(it, pod)
		}
	}
}

// erase does what a client's delete asks for and returns the object in its state
// then, or its last one.
func (s *Server) erase(w write, o metav1.DeleteOptions) ([]byte, error) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	at := key{w.kind, w.namespace, w.name}
	raw, ok := s.store.objects[at]
	if !ok {
		return nil, apierrors.NewNotFound(w.kind.resource(), w.name)
	}
	u := decode(raw)
	if p := o.Preconditions; p != nil {
		if p.UID != nil && *p.UID != u.GetUID() {
			return nil, apierrors.NewConflict(w.kind.resource(), w.name, errOtherUID)
		}
		if p.ResourceVersion != nil && *p.ResourceVersion != u.GetResourceVersion() {
			return nil, apierrors.NewConflict(w.kind.resource(), w.name, errModified)
		}
	}
	if w.dryRun {
		return raw, nil
	}
	grace := s.grace(u, o)
	if u.GetDeletionTimestamp() == nil || *u.GetDeletionGracePeriodSeconds() > grace {
		at := metav1.NewTime(s.o.Now().Add(time.Duration(grace) * time.Second))
		u.SetDeletionTimestamp(&at)
		u.SetDeletionGracePeriodSeconds(&grace)
	}
	if s.ended(u) {
		s.removeLocked(at)
		return raw, nil
	}
	u.SetResourceVersion(strconv.FormatUint(s.store.revision+1, 10))
	next := encode(u)
	s.commit(at, raw, next)
	return next, nil
}

// grace returns for how many seconds the deletion of u is announced.
func (s *Server) grace(u *unstructured.Unstructured, o metav1.DeleteOptions) int64 {
	if u.GetKind() != "Pod" || nodeOf(u) == "" {
		return 0
	}
	if o.GracePeriodSeconds != nil {
		return *o.GracePeriodSeconds
	}
	if v, ok, _ := unstructured.NestedInt64(u.Object, "spec", "terminationGracePeriodSeconds"); ok {
		return v
	}
	return defaultGrace
}

// ended reports whether nothing holds back an object that is being deleted:
// no finalizer, and no kubelet that is dead and cannot say that the pod ended.
func (s *Server) ended(u *unstructured.Unstructured) bool {
	if u.GetDeletionTimestamp() == nil || len(u.GetFinalizers()) > 0 {
		return false
	}
	if u.GetKind() != "Pod" || nodeOf(u) == "" {
		return true
	}
	if g := u.GetDeletionGracePeriodSeconds(); g != nil && *g == 0 {
		return true
	}
	node, ok := s.store.objects[key{s.kind(corev1.SchemeGroupVersion.WithKind("Node")), "", nodeOf(u)}]
	return !ok || hasCondition(decode(node), "Ready", "True")
}

// endPods removes the pods whose end a kubelet can report now that it is alive.
func (s *Server) endPods(node *unstructured.Unstructured) {
	if !hasCondition(node, "Ready", "True") {
		return
	}
	s.eachPodOf(node.GetName(), func(it item, pod *unstructured.Unstructured) {
		if s.ended(pod) {
			s.removeLocked(it.key)
		}
	})
}

func nodeOf(pod *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(pod.Object, "spec", "nodeName")
	return name
}

// hasCondition reports whether u's condition of type typ has the status.
func hasCondition(u *unstructured.Unstructured, typ, status string) bool {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] == typ {
			return m["status"] == status
		}
	}
	return false
}

var (
	errModified = errors.New("the object has been modified; please apply your changes to the latest version and try again")
	errOtherUID = errors.New("the UID in the precondition does not match the UID in record")
)
