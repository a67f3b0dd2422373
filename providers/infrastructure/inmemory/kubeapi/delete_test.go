package kubeapi_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestFinalizers(t *testing.T) {
	c := start(t, nil)
	c.do(t, "POST", configMaps, `{"metadata":{"name":"m","finalizers":["example.com/f"]}}`)
	if code, out := c.do(t, "DELETE", configMaps+"/m", ""); code != 200 || at(out, "metadata", "deletionTimestamp") == "" {
		t.Fatalf("delete: got %d %v", code, out)
	}
	if code, _ := c.do(t, "GET", configMaps+"/m", ""); code != 200 {
		t.Fatalf("with its finalizer: got %d, want 200", code)
	}
	c.do(t, "PATCH", configMaps+"/m", `{"metadata":{"finalizers":null}}`, "application/merge-patch+json")
	if code, _ := c.do(t, "GET", configMaps+"/m", ""); code != 404 {
		t.Errorf("without its finalizer: got %d, want 404", code)
	}
	if code, out := c.do(t, "DELETE", configMaps+"/m", ""); code != 404 || at(out, "reason") != "NotFound" {
		t.Errorf("delete again: got %d %v", code, out)
	}
}

func TestDeletePreconditions(t *testing.T) {
	c := start(t, nil)
	c.do(t, "POST", configMaps, `{"metadata":{"name":"m"}}`)
	if code, _ := c.do(t, "DELETE", configMaps+"/m", `{"preconditions":{"uid":"other"}}`); code != 409 {
		t.Errorf("another uid: got %d, want 409", code)
	}
}

func TestEviction(t *testing.T) {
	c := start(t, nil)
	one := intstr.FromInt32(1)
	half := intstr.FromString("50%")
	budgets := []*policyv1.PodDisruptionBudget{
		{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db"}, Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}},
		}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: &half, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		}},
	}
	for _, b := range budgets {
		if err := c.Upsert(b); err != nil {
			t.Fatal(err)
		}
	}
	broken := pod("db-1", "n", map[string]string{"app": "db"})
	broken.Status.Conditions[0].Status = corev1.ConditionFalse
	for _, p := range []*corev1.Pod{
		pod("db-0", "n", map[string]string{"app": "db"}), broken,
		pod("web-0", "n", map[string]string{"app": "web"}), pod("web-1", "n", map[string]string{"app": "web"}),
		pod("free", "n", nil),
	} {
		if err := c.Upsert(p); err != nil {
			t.Fatal(err)
		}
	}
	evict := func(name string) (int, string) {
		code, out := c.do(t, "POST", pods+"/"+name+"/eviction",
			`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"`+name+`","namespace":"default"}}`)
		causes, _ := unstructuredSlice(out, "details", "causes")
		if len(causes) == 0 {
			return code, ""
		}
		return code, at(causes[0], "reason") + ": " + at(causes[0], "message")
	}
	steps := []struct {
		reason, pod string
		code        int
		cause       string
	}{
		{"no budget", "free", 201, ""},
		{"the only healthy one", "db-0", 429, "DisruptionBudget: The disruption budget db needs 1 healthy pods and has 1 currently"},
		{"not ready, so that it costs nothing", "db-1", 201, ""},
		{"one of two may go", "web-0", 201, ""},
		{"half of one, rounded up, may go", "web-1", 201, ""},
		{"gone", "free", 404, ""},
	}
	for _, s := range steps {
		if code, cause := evict(s.pod); code != s.code || cause != s.cause {
			t.Errorf("%s: %s: got %d %q, want %d %q", s.pod, s.reason, code, cause, s.code, s.cause)
		}
	}
}

func unstructuredSlice(m map[string]any, path ...string) ([]any, bool) {
	v, ok, _ := unstructured.NestedSlice(m, path...)
	return v, ok
}

func TestPodsOfADeadKubelet(t *testing.T) {
	c := start(t, nil)
	n := node("n", corev1.ConditionUnknown)
	if err := c.Upsert(n); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		if err := c.Upsert(pod(name, "n", nil)); err != nil {
			t.Fatal(err)
		}
	}
	exists := func(name string) bool {
		_, ok := c.Get(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, "default", name)
		return ok
	}
	c.do(t, "DELETE", pods+"/a", "")
	c.do(t, "DELETE", pods+"/b?gracePeriodSeconds=0", "")
	if !exists("a") || exists("b") {
		t.Errorf("deleted: there %v, want true; deleted by force: there %v, want false", exists("a"), exists("b"))
	}
	n.Status.Conditions[0].Status = corev1.ConditionTrue
	if err := c.Upsert(n); err != nil {
		t.Fatal(err)
	}
	if exists("a") || !exists("c") {
		t.Errorf("with the kubelet back: deleted there %v, want false; other there %v, want true", exists("a"), exists("c"))
	}
	c.Delete(schema.GroupVersionKind{Version: "v1", Kind: "Node"}, "", "n")
	if exists("c") {
		t.Error("the pod outlived its node")
	}
}
