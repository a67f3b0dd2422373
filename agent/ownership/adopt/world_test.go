package adopt_test

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"fairlead.dev/agent/ownership/adopt"
	"fairlead.dev/test/lab/kube"
	"fairlead.dev/test/run/needs"
	"fairlead.dev/test/run/waits"
)

// A management is a management cluster of Cluster API: a real API server with the kinds,
// and objects as the controllers leave them. No controller runs.
type management struct {
	*testing.T
	kube *kube.Server
	api  dynamic.Interface
	open *adopt.Management
	ns   string

	older bool // it serves v1beta1 only
}

// kinds makes the kinds once in the API server that tests share.
var kinds sync.Once

// newManagement returns one that serves all versions.
func newManagement(t *testing.T) *management {
	t.Helper()
	files := corpus(t)
	m := &management{T: t, kube: kube.Start(t)}
	m.connect()
	kinds.Do(func() { m.defineAll(files) })
	return m.of(t)
}

// newOlder returns one that serves v1beta1 alone.
func newOlder(t *testing.T) *management {
	t.Helper()
	files := corpus(t)
	m := &management{T: t, kube: kube.Start(t, kube.Own()), older: true}
	m.connect()
	m.defineAll(files)
	return m
}

// corpus names the files with the kinds.
func corpus(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(needs.Corpus(t, "crds"), "cap[aiovmz]*", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRDs of Cluster API: %v", err)
	}
	return files
}

func (m *management) connect() { m.api = dynamic.NewForConfigOrDie(m.kube.Config) }

// of returns m for a test, with a namespace for that test.
func (m *management) of(t *testing.T) *management {
	t.Helper()
	out := *m
	out.T, out.ns = t, m.kube.Namespace()
	var err error
	if out.open, err = adopt.Open(t.Context(), m.kube.Config); err != nil {
		t.Fatal(err)
	}
	return &out
}

func (m *management) defineAll(files []string) {
	m.Helper()
	for _, f := range files {
		m.define(f)
	}
	m.define("") // waits until all kinds are served
}

// define creates the kind of a file. Without a file it waits until all are served.
func (m *management) define(file string) {
	m.Helper()
	crds := m.api.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if file == "" {
		m.until("all kinds are served", func() bool {
			list, err := crds.List(m.Context(), metav1.ListOptions{})
			if err != nil {
				m.Fatal(err)
			}
			for _, crd := range list.Items {
				if !strings.Contains(fmt.Sprint(crd.Object["status"]), "InitialNamesAccepted") || !established(crd) {
					return false
				}
			}
			return true
		})
		return
	}
	data, err := os.ReadFile(file)
	if err != nil {
		m.Fatal(err)
	}
	var o unstructured.Unstructured
	if err := yaml.Unmarshal(data, &o.Object); err != nil {
		m.Fatal(err)
	}
	if m.older {
		only(&o)
	}
	if _, err := crds.Create(m.Context(), &o, metav1.CreateOptions{}); err != nil {
		m.Fatalf("%s: %v", file, err)
	}
}

func established(crd unstructured.Unstructured) bool {
	list, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for _, c := range list {
		if c, ok := c.(map[string]any); ok && c["type"] == "Established" && c["status"] == "True" {
			return true
		}
	}
	return false
}

// until polls a condition.
func (m *management) until(what string, done func() bool) {
	m.Helper()
	deadline := time.Now().Add(waits.Limit)
	for !done() {
		if time.Now().After(deadline) {
			m.Fatalf("waited in vain: %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// resource returns the client for objects of a kind.
func (m *management) resource(gvk schema.GroupVersionKind, ns string) dynamic.ResourceInterface {
	plural := strings.ToLower(gvk.Kind) + "s"
	if strings.HasSuffix(plural, "ys") {
		plural = strings.TrimSuffix(plural, "ys") + "ies"
	}
	if strings.HasSuffix(plural, "sss") {
		plural = strings.TrimSuffix(plural, "s") + "es"
	}
	if m.older && gvk.Version == "v1beta2" {
		gvk.Version = "v1beta1"
	}
	r := m.api.Resource(gvk.GroupVersion().WithResource(plural))
	if ns == "" {
		return r
	}
	return r.Namespace(ns)
}

// create creates an object with its status.
func (m *management) create(o *unstructured.Unstructured) *unstructured.Unstructured {
	m.Helper()
	if m.older {
		o = older(o)
	}
	at := m.resource(o.GroupVersionKind(), o.GetNamespace())
	made, err := at.Create(m.Context(), o, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return o
	}
	if err != nil {
		m.Fatalf("create %s %s: %v", o.GetKind(), o.GetName(), err)
	}
	if status, ok := o.Object["status"].(map[string]any); ok {
		if _, ok := status["observedGeneration"]; ok {
			status["observedGeneration"] = made.GetGeneration()
		}
		made.Object["status"] = status
		if made, err = at.UpdateStatus(m.Context(), made, metav1.UpdateOptions{}); err != nil {
			m.Fatalf("status of %s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
	return made
}

// change edits an object; with status, its status.
func (m *management) change(gvk schema.GroupVersionKind, name string, status bool, edit func(o map[string]any)) {
	m.Helper()
	at := m.resource(gvk, m.ns)
	o, err := at.Get(m.Context(), name, metav1.GetOptions{})
	if err != nil {
		m.Fatal(err)
	}
	edit(o.Object)
	if status {
		_, err = at.UpdateStatus(m.Context(), o, metav1.UpdateOptions{})
	} else {
		_, err = at.Update(m.Context(), o, metav1.UpdateOptions{})
	}
	if err != nil {
		m.Fatal(err)
	}
}

func (m *management) cluster(name string) *unstructured.Unstructured {
	m.Helper()
	o, err := m.resource(kind("Cluster"), m.ns).Get(m.Context(), name, metav1.GetOptions{})
	if err != nil {
		m.Fatal(err)
	}
	return o
}

func kind(k string) schema.GroupVersionKind {
	group := map[string]string{
		"KubeadmControlPlane": "controlplane.cluster.x-k8s.io", "KubeadmControlPlaneTemplate": "controlplane.cluster.x-k8s.io", "KubeadmConfig": "bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate": "bootstrap.cluster.x-k8s.io",
		"DevMachine": "infrastructure.cluster.x-k8s.io", "DevCluster": "infrastructure.cluster.x-k8s.io", "DevMachineTemplate": "infrastructure.cluster.x-k8s.io",
	}[k]
	return schema.GroupVersionKind{Group: cmp.Or(group, "cluster.x-k8s.io"), Version: "v1beta2", Kind: k}
}

// objects splits manifests.
func objects(t testing.TB, manifests string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	r := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(manifests)))
	for {
		doc, err := r.Read()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		var o unstructured.Unstructured
		data, err := yaml.YAMLToJSON(doc)
		if err == nil && string(data) != "null" {
			err = o.UnmarshalJSON(data)
		}
		if err != nil {
			t.Fatalf("%v in %s", err, doc)
		}
		if len(o.Object) > 0 {
			out = append(out, &o)
		}
	}
}
