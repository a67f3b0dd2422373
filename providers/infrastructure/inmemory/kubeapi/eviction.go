package kubeapi

import (
	"encoding/json"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func (s *Server) serveEviction(w http.ResponseWriter, q request) error {
	body, err := s.readBody(q)
	if err != nil {
		return err
	}
	var e policyv1.Eviction
	if err := json.Unmarshal(body, &e); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	var o metav1.DeleteOptions
	if e.DeleteOptions != nil {
		o = *e.DeleteOptions
	}
	raw, ok := s.read(q.kind, q.namespace, q.name)
	if !ok {
		return apierrors.NewNotFound(q.kind.resource(), q.name)
	}
	pod, err := as[corev1.Pod](raw)
	if err != nil {
		return err
	}
	if err := s.disruptionAllowed(pod); err != nil {
		return err
	}
	in := q.write()
	in.dryRun = in.dryRun || len(o.DryRun) > 0
	if _, err := s.erase(in, o); err != nil {
		return err
	}
	reply(w, http.StatusCreated, &metav1.Status{TypeMeta: statusType(), Status: metav1.StatusSuccess})
	return nil
}

// disruptionAllowed returns nil where evicting pod leaves every budget that
// covers it with enough healthy pods. The status of budgets is not kept here,
// so that they are counted afresh, out of the pods that there are.
func (s *Server) disruptionAllowed(pod corev1.Pod) error {
	if pod.DeletionTimestamp != nil || finished(pod) || pod.Status.Phase == corev1.PodPending {
		return nil
	}
	budgets, _ := s.items(s.kind(policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget")), pod.Namespace)
	for _, it := range budgets {
		b, err := as[policyv1.PodDisruptionBudget](it.raw)
		if err != nil {
			return err
		}
		sel, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil {
			return apierrors.NewInternalError(err)
		}
		if !sel.Matches(labels.Set(pod.Labels)) {
			continue
		}
		healthy, total, err := s.count(pod.Namespace, sel)
		if err != nil {
			return err
		}
		needed, err := neededPods(b, total)
		if err != nil {
			return apierrors.NewInternalError(err)
		}
		// As IfHealthyBudget: a pod that is not ready costs the budget nothing.
		if healthy < needed || (healthy == needed && ready(pod)) {
			return overBudget(b.Name, needed, healthy)
		}
	}
	return nil
}

func (s *Server) count(namespace string, sel labels.Selector) (healthy, total int, err error) {
	pods, _ := s.items(s.kind(corev1.SchemeGroupVersion.WithKind("Pod")), namespace)
	for _, it := range pods {
		p, err := as[corev1.Pod](it.raw)
		if err != nil {
			return 0, 0, err
		}
		if !sel.Matches(labels.Set(p.Labels)) || finished(p) {
			continue
		}
		total++
		if p.DeletionTimestamp == nil && ready(p) {
			healthy++
		}
	}
	return healthy, total, nil
}

// neededPods returns how many of total pods must be healthy.
func neededPods(b policyv1.PodDisruptionBudget, total int) (int, error) {
	if v := b.Spec.MaxUnavailable; v != nil {
		n, err := intstr.GetScaledValueFromIntOrPercent(v, total, true)
		return total - n, err
	}
	if v := b.Spec.MinAvailable; v != nil {
		return intstr.GetScaledValueFromIntOrPercent(v, total, true)
	}
	return 0, nil
}

func overBudget(name string, needed, healthy int) error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type:    policyv1.DisruptionBudgetCause,
		Message: fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", name, needed, healthy),
	})
	return err
}

func finished(p corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

func ready(p corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// as decodes a stored object into its API type.
func as[T any](raw []byte) (T, error) {
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, apierrors.NewInternalError(err)
	}
	return v, nil
}
