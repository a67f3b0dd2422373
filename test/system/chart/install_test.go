package chart

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"fairlead.dev/test/lab/kube"
)

// foreign are definitions of other people's APIs, as their modules have them.
var foreign = map[string][]string{
	"github.com/prometheus-operator/prometheus-operator@v0.85.0": {
		"example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
		"example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
	},
	"sigs.k8s.io/gateway-api@v1.4.0": {"config/crd/standard/gateway.networking.k8s.io_httproutes.yaml"},
}

// addForeign gives the server those APIs.
func addForeign(t *testing.T, k *kube.Server) {
	t.Helper()
	crds := dynamic.NewForConfigOrDie(k.Config).Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	for module, files := range foreign {
		cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module)
		cmd.Dir = t.TempDir() // it is no dependency of ours
		out, err := cmd.Output()
		var m struct{ Dir string }
		if err != nil || json.Unmarshal(out, &m) != nil {
			t.Skipf("cannot get %s: %v: go mod download needs a module proxy", module, err)
		}
		for _, file := range files {
			b, err := os.ReadFile(filepath.Join(m.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			crd := &unstructured.Unstructured{}
			if err := yaml.Unmarshal(b, &crd.Object); err != nil {
				t.Fatal(err)
			}
			if _, err := crds.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
				t.Fatal(err)
			}
			eventually(t, "the API of "+crd.GetName(), func() bool {
				got, err := crds.Get(t.Context(), crd.GetName(), metav1.GetOptions{})
				conditions, _, _ := unstructured.NestedSlice(got.Object, "status", "conditions")
				return err == nil && slices.ContainsFunc(conditions, func(c any) bool {
					m := c.(map[string]any)
					return m["type"] == "Established" && m["status"] == "True"
				})
			})
		}
	}
}

// Every object that the chart may make is accepted by a server that knows their
// fields, the pod by Pod Security; and uninstalling leaves nothing.
func TestInstallUpgradeRollbackUninstall(t *testing.T) {
	k := kube.Start(t)
	client := kubernetes.NewForConfigOrDie(k.Config)
	addForeign(t, k)
	ns := restricted(t, k, client)
	for _, name := range []string{"prod", "staging", "monitoring"} { // that the values name
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := client.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	before := everything(t, k)

	// Rights in all namespaces are not taken away without a word.
	mustHelm(t, k, "install", "fairlead", chart, "-n", ns, "--values", values+"minimal.values.yaml", "--set", "rbac.allNamespaces=true")
	if out, err := helm(t, k, "upgrade", "fairlead", chart, "-n", ns, "--values", values+"minimal.values.yaml"); err == nil || !strings.Contains(out, "rbac.allNamespaces=true") {
		t.Errorf("an upgrade that takes rights away: %v, %s", err, out)
	}
	mustHelm(t, k, "upgrade", "fairlead", chart, "-n", ns, "--values", values+"minimal.values.yaml", "--set", "rbac.namespaces={"+ns+"}")
	mustHelm(t, k, "upgrade", "fairlead", chart, "-n", ns, "--values", values+"minimal.values.yaml")
	mustHelm(t, k, "uninstall", "fairlead", "-n", ns, "--wait")

	mustHelm(t, k, "install", "fairlead", chart, "-n", ns, "--values", values+"minimal.values.yaml")
	if _, err := createPod(t.Context(), client, ns, podOf(t, client, ns, "fairlead")); err != nil {
		t.Errorf("minimal: the pod is refused: %v", err)
	}
	mustHelm(t, k, "upgrade", "fairlead", chart, "-n", ns, "--values", values+"production.values.yaml")
	d, err := client.AppsV1().Deployments(ns).Get(t.Context(), "fairlead", metav1.GetOptions{})
	if err != nil || *d.Spec.Replicas != 2 || d.Spec.Template.Spec.Containers[0].Image != "registry.example.com/platform/fairlead:v1.2.3" {
		t.Errorf("after the upgrade: %v, %v", d.Spec, err)
	}
	if _, err := client.RbacV1().ClusterRoles().Get(t.Context(), ns+"-fairlead-secrets", metav1.GetOptions{}); !gone(err) {
		t.Errorf("with rbac.namespaces there is still a ClusterRole: %v", err)
	}
	pod := podOf(t, client, ns, "fairlead")
	pod.Spec.PriorityClassName = "" // system-cluster-critical is for some namespaces alone
	if _, err := createPod(t.Context(), client, ns, pod); err != nil {
		t.Errorf("production: the pod is refused: %v", err)
	}
	mustHelm(t, k, "rollback", "fairlead", "1", "-n", ns)
	d, err = client.AppsV1().Deployments(ns).Get(t.Context(), "fairlead", metav1.GetOptions{})
	if err != nil || *d.Spec.Replicas != 1 {
		t.Errorf("after the rollback: %v, %v", d.Spec.Replicas, err)
	}
	mustHelm(t, k, "upgrade", "fairlead", chart, "-n", ns, "--values", values+"everything.values.yaml")
	mustHelm(t, k, "uninstall", "fairlead", "-n", ns)
	for _, o := range everything(t, k) {
		if !slices.Contains(before, o) && !strings.HasPrefix(o, "pods/"+ns) && !strings.Contains(o, "events") {
			t.Errorf("uninstalling leaves %s", o)
		}
	}

	mustHelm(t, k, "install", "fairlead", chart, "-n", ns, "--values", values+"minimal.values.yaml", "--set", "securityContext.allowPrivilegeEscalation=true")
	if _, err := createPod(t.Context(), client, ns, podOf(t, client, ns, "fairlead")); err == nil {
		t.Error("Pod Security lets everything pass here: the pods above prove nothing")
	}
	mustHelm(t, k, "uninstall", "fairlead", "-n", ns)
}

// everything returns all objects of the server that can be listed, as
// resource/namespace/name.
func everything(t *testing.T, k *kube.Server) (all []string) {
	t.Helper()
	client := kubernetes.NewForConfigOrDie(k.Config)
	objects := dynamic.NewForConfigOrDie(k.Config)
	lists, err := client.Discovery().ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			if !slices.Contains(r.Verbs, "list") || !slices.Contains(r.Verbs, "create") || r.Name == "leases" || r.Name == "events" {
				continue
			}
			found, err := objects.Resource(gv.WithResource(r.Name)).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range found.Items {
				all = append(all, fmt.Sprintf("%s/%s/%s", r.Name, o.GetNamespace(), o.GetName()))
			}
		}
	}
	return all
}
