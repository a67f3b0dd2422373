package workload_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
)

// manifestsIn returns a resource of manifests, with a digest of them.
func manifestsIn(t testing.TB, name string, manifests ...string) fleet.Resource {
	t.Helper()
	r := fleet.Resource{Name: "ConfigMap/" + name, Digest: fmt.Sprintf("%x", strings.Join(manifests, "|"))}
	for _, text := range manifests {
		data, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{}
		if err := json.Unmarshal(data, &u.Object); err != nil {
			t.Fatal(err)
		}
		gvk := u.GroupVersionKind()
		r.Objects = append(r.Objects, fleet.Manifest{
			ObjectRef: fleet.ObjectRef{Group: gvk.Group, Kind: gvk.Kind, Namespace: u.GetNamespace(), Name: u.GetName()},
			Content:   fleet.NewSecret(data),
		})
	}
	return r
}

// note returns a ConfigMap.
func note(namespace, name, text string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: %q, name: %s}\ndata: {text: %s}", namespace, name, text)
}

func noteRef(namespace, name string) fleet.ObjectRef {
	return fleet.ObjectRef{Kind: "ConfigMap", Namespace: namespace, Name: name}
}

const (
	crontabs = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crontabs.test.fairlead.dev}
spec:
  group: test.fairlead.dev
  scope: Namespaced
  names: {plural: crontabs, singular: crontab, kind: CronTab, listKind: CronTabList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}`
	crontab = "apiVersion: test.fairlead.dev/v1\nkind: CronTab\nmetadata: {name: nightly, namespace: net}\nspec: {at: 3}"
	service = "apiVersion: v1\nkind: Service\nmetadata: {name: dns, namespace: net}\nspec: {ports: [{port: 99999}]}"
)

// state returns the inventory of a set as it is observed.
func (c *realCluster) state(name string) (fleet.ResourceSetState, bool) {
	c.t.Helper()
	w, err := c.Observe(c.t.Context(), c.access)
	if err != nil {
		c.t.Fatal(err)
	}
	i := slices.IndexFunc(w.ResourceSets, func(s fleet.ResourceSetState) bool { return s.Name == name })
	if i < 0 {
		return fleet.ResourceSetState{}, false
	}
	return w.ResourceSets[i], true
}

// inventory waits until the inventory of a set is as it is to be: what is observed
// may be a moment old.
func (c *realCluster) inventory(name string, want func(fleet.ResourceSetState, bool) bool) fleet.ResourceSetState {
	c.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		s, there := c.state(name)
		if want(s, there) {
			return s
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("the inventory of %s is there: %t: %+v", name, there, s)
		}
	}
}

func (c *realCluster) text(namespace, name string) string {
	c.t.Helper()
	m, err := c.admin.CoreV1().ConfigMaps(namespace).Get(c.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "none"
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return m.Data["text"]
}

func (c *realCluster) apply(s fleet.ResourceSet, names ...string) {
	c.t.Helper()
	if err := c.ApplyResources(c.t.Context(), c.access, s, names); err != nil {
		c.t.Fatal(err)
	}
}

func (c *realCluster) prune(s fleet.ResourceSet, refs ...fleet.ObjectRef) {
	c.t.Helper()
	if err := c.PruneResources(c.t.Context(), c.access, s, refs); err != nil {
		c.t.Fatal(err)
	}
}

func TestRealResourceSets(t *testing.T) {
	c := startReal(t)
	c.server.Prepare("kube-system")
	net := manifestsIn(t, "net", crontab, note("net", "a", "one"), note("", "b", "two"), "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: bare, namespace: net}", service,
		crontabs, "apiVersion: v1\nkind: Namespace\nmetadata: {name: net}")
	set := fleet.ResourceSet{Name: "cni", Strategy: fleet.ReconcileStrategy, Resources: []fleet.Resource{net}}

	c.apply(set, "ConfigMap/net")
	if a, b := c.text("net", "a"), c.text("default", "b"); a != "one" || b != "two" {
		t.Fatalf("a says %q, b in no namespace %q", a, b)
	}
	refused := func(s fleet.ResourceSetState, _ bool) bool { return len(s.Failures) == 1 }
	for range 20 { // the new kind is served in a moment
		if s, _ := c.state("cni"); refused(s, true) {
			break
		}
		c.apply(set, "ConfigMap/net")
	}
	s := c.inventory("cni", refused)
	if f := s.Failures[0]; f.Object.Name != "dns" || f.Kind != fleet.Invalid || !strings.Contains(f.Message, "99999") {
		t.Errorf("failure %+v, want that of the Service, in the words of the API server", f)
	}
	if len(s.Objects) != 7 || !slices.Equal(set.Pending(s), []string{"ConfigMap/net"}) || !s.Applied.IsZero() {
		t.Errorf("inventory %+v, want 7 objects that are not all applied", s)
	}

	// What is mended is applied, and what left is deleted, but for what is not ours.
	set.Resources[0] = manifestsIn(t, "net", note("net", "a", "three"))
	c.apply(set, "ConfigMap/net")
	s = c.inventory("cni", func(s fleet.ResourceSetState, _ bool) bool { return !s.Applied.IsZero() })
	if a := c.text("net", "a"); a != "three" || len(set.Pending(s)) > 0 || len(s.Objects) != 7 || len(s.Failures) > 0 {
		t.Errorf("a says %q, inventory %+v", a, s)
	}
	if err := c.admin.CoreV1().ConfigMaps("default").Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Data: map[string]string{"text": "mine"}}
	if _, err := c.admin.CoreV1().ConfigMaps("default").Create(t.Context(), foreign, metav1.CreateOptions{FieldManager: "somebody"}); err != nil {
		t.Fatal(err)
	}
	c.prune(set, noteRef("", "b"), set.Resources[0].Objects[0].ObjectRef, fleet.ObjectRef{Group: "test.fairlead.dev", Kind: "CronTab", Namespace: "net", Name: "nightly"},
		fleet.ObjectRef{Kind: "Service", Namespace: "net", Name: "dns"}, fleet.ObjectRef{Kind: "ServiceAccount", Namespace: "net", Name: "bare"}, fleet.ObjectRef{Group: "gone.fairlead.dev", Kind: "Gone", Name: "x"})
	if a, b := c.text("net", "a"), c.text("default", "b"); a != "none" || b != "mine" {
		t.Errorf("after pruning a says %q, b %q; want that a is gone and somebody else's b stays", a, b)
	}
	got, err := dynamic.NewForConfigOrDie(c.server.Config).Resource(schema.GroupVersionResource{Group: "test.fairlead.dev", Version: "v1", Resource: "crontabs"}).Namespace("net").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(got.Items) != 0 {
		t.Errorf("objects of the new kind: %v, %v; want none", got, err)
	}
	if _, err := c.admin.CoreV1().ServiceAccounts("net").Get(t.Context(), "bare", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the object with nothing but a name: %v", err)
	}
	c.inventory("cni", func(s fleet.ResourceSetState, _ bool) bool { return len(s.Objects) == 1 })
	if _, err := c.admin.CoreV1().Namespaces().Get(t.Context(), "net", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	for range 2 { // what is gone is gone
		c.prune(fleet.ResourceSet{Name: "cni"}, noteRef("net", "a"))
		c.inventory("cni", func(_ fleet.ResourceSetState, there bool) bool { return !there })
	}
}

// TestRealApplyOnce leaves what is there as it is, and what is changed afterwards.
func TestRealApplyOnce(t *testing.T) {
	c := startReal(t)
	c.server.Prepare("kube-system")
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "once-a"}, Data: map[string]string{"text": "mine"}}
	if _, err := c.admin.CoreV1().ConfigMaps("default").Create(t.Context(), theirs, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	set := fleet.ResourceSet{Name: "once", Strategy: fleet.ApplyOnce, Resources: []fleet.Resource{manifestsIn(t, "x", note("default", "once-a", "one"), note("default", "once-b", "two"))}}
	c.apply(set, "ConfigMap/x")
	if a, b := c.text("default", "once-a"), c.text("default", "once-b"); a != "mine" || b != "two" {
		t.Errorf("a says %q, b %q; want that what was there stays", a, b)
	}
	set.Resources[0] = manifestsIn(t, "x", note("default", "once-b", "three"))
	s := c.inventory("once", func(s fleet.ResourceSetState, _ bool) bool { return !s.Applied.IsZero() })
	if names := set.Pending(s); len(names) > 0 {
		t.Errorf("%v are to be applied again", names)
	}
	set.Strategy = fleet.ReconcileStrategy
	if names := set.Pending(s); !slices.Equal(names, []string{"ConfigMap/x"}) {
		t.Errorf("with another strategy %v are to be applied", names)
	}
}

// TestRealCutOff is an agent that ends between applying and noting that it did.
func TestRealCutOff(t *testing.T) {
	c := startReal(t)
	c.server.Prepare("kube-system")
	set := fleet.ResourceSet{Name: "cut", Strategy: fleet.ReconcileStrategy, Resources: []fleet.Resource{manifestsIn(t, "x", note("default", "cut-a", "one"))}}
	c.apply(set, "ConfigMap/x")
	next := manifestsIn(t, "x", note("default", "cut-a", "two"), note("default", "cut-b", "three"))
	next.Objects[1].Content = fleet.NewSecret([]byte("{")) // the end of the agent
	changed := set
	changed.Resources = []fleet.Resource{next}
	if err := c.ApplyResources(t.Context(), c.access, changed, []string{"ConfigMap/x"}); err == nil {
		t.Fatal("it was not cut off")
	}
	s := c.inventory("cut", func(s fleet.ResourceSetState, _ bool) bool { return len(s.Objects) == 2 })
	if len(changed.Pending(s)) != 1 || len(set.Pending(s)) != 1 {
		t.Errorf("to be applied: %v, and %v where Git goes back; want all, since it is not known what is there", changed.Pending(s), set.Pending(s))
	}
	c.prune(fleet.ResourceSet{Name: "cut"}, s.Objects...)
	if a := c.text("default", "cut-a"); a != "none" {
		t.Errorf("a says %q after all was deleted", a)
	}
}
