package workload_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

func configMap(name, key, text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name}, Data: map[string]string{key: text}}
}

// fromInit is what kubeadm init of 1.30 leaves.
const fromInit = `apiServer:
  extraArgs: {audit-log-path: /var/log/audit.log}
  timeoutForControlPlane: 4m0s
apiVersion: kubeadm.k8s.io/v1beta3
certificateValidityPeriod: 8760h0m0s
certificatesDir: /etc/kubernetes/pki
clusterName: eu-1
controllerManager: {extraArgs: {cloud-provider: external}}
dns: {}
etcd:
  local: {dataDir: /var/lib/etcd, extraArgs: {quota-backend-bytes: "1"}}
imageRepository: example.com/before
kind: ClusterConfiguration
kubernetesVersion: v1.30.4
networking: {dnsDomain: cluster.local, podSubnet: 10.0.0.0/16, serviceSubnet: 10.96.0.0/12}
scheduler: {}
`

func TestSyncKubeadmConfig(t *testing.T) {
	c := start(t)
	c.put(t, configMap("kubeadm-config", "ClusterConfiguration", fromInit))
	config := `apiServer: {extraArgs: [{name: v, value: "2"}]}
apiVersion: kubeadm.k8s.io/v1beta4
clusterName: eu-1
featureGates: {ControlPlaneKubeletLocalMode: true}
kind: ClusterConfiguration
kubernetesVersion: v1.31.0
networking: {dnsDomain: cluster.local, podSubnet: 10.0.0.0/16, serviceSubnet: 10.112.0.0/12}
`
	if err := c.kubeadm.SyncConfig(t.Context(), c.access, []byte(config), "mark-1"); err != nil {
		t.Fatal(err)
	}
	got := get[corev1.ConfigMap](t, c, "ConfigMap", "kube-system", "kubeadm-config")
	// What can be asked for is what was asked for, without the arguments and the
	// repository of before; what only kubeadm knows stays, and the network that the
	// cluster was made with.
	want := `apiServer: {extraArgs: [{name: v, value: "2"}]}
apiVersion: kubeadm.k8s.io/v1beta4
certificatesDir: /etc/kubernetes/pki
clusterName: eu-1
dns: {}
etcd: {local: {dataDir: /var/lib/etcd}}
featureGates: {ControlPlaneKubeletLocalMode: true}
kind: ClusterConfiguration
kubernetesVersion: v1.31.0
networking: {dnsDomain: cluster.local, podSubnet: 10.0.0.0/16, serviceSubnet: 10.96.0.0/12}
`
	if d := cmp.Diff(parsed(t, want), parsed(t, got.Data["ClusterConfiguration"])); d != "" {
		t.Errorf("ClusterConfiguration (-want +got):\n%s", d)
	}
	if got.Annotations["fairlead.dev/config"] != "mark-1" {
		t.Errorf("annotations: %v", got.Annotations)
	}
	for name, want := range map[string]string{
		"kubeadm:cluster-admins":           "cluster-admin Group kubeadm:cluster-admins",
		"kubeadm:apiserver-kubelet-client": "system:kubelet-api-admin User kube-apiserver-kubelet-client",
	} {
		b := at[rbacv1.ClusterRoleBinding](t, c, rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"), "", name)
		if got := b.RoleRef.Name + " " + b.Subjects[0].Kind + " " + b.Subjects[0].Name; got != want {
			t.Errorf("binding %s is %s, want %s", name, got, want)
		}
	}
	// The same again, with the bindings there, and an etcd that has what it had.
	config = strings.Replace(config, "clusterName", "etcd: {local: {imageTag: 3.6.0}}\nclusterName", 1)
	if err := c.kubeadm.SyncConfig(t.Context(), c.access, []byte(config), "mark-2"); err != nil {
		t.Fatal(err)
	}
	got = get[corev1.ConfigMap](t, c, "ConfigMap", "kube-system", "kubeadm-config")
	if d := cmp.Diff(parsed(t, "local: {dataDir: /var/lib/etcd, imageTag: 3.6.0}"), parsed(t, got.Data["ClusterConfiguration"])["etcd"]); d != "" {
		t.Errorf("etcd (-want +got):\n%s", d)
	}
	o, err := c.look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(applied("v1.31.0", "mark-2", ""), o.Applied); d != "" {
		t.Errorf("observed (-want +got):\n%s", d)
	}
	if d := cmp.Diff(&fleet.Made{Membership: "PerMachine", Networking: fleet.Networking{
		DNSDomain: "cluster.local", PodSubnet: "10.0.0.0/16", ServiceSubnet: "10.96.0.0/12",
	}}, o.Made); d != "" {
		t.Errorf("made with (-want +got):\n%s", d)
	}
}

func TestNoKubeadmConfig(t *testing.T) {
	c := start(t)
	o, err := c.look(t.Context())
	if err != nil || o.Applied != nil || o.Made != nil {
		t.Errorf("observed %v, made with %v, %v", o.Applied, o.Made, err)
	}
	if err := c.kubeadm.SyncConfig(t.Context(), c.access, []byte("kubernetesVersion: v1.34.1"), "m"); err != nil {
		t.Error(err)
	}
	o, err = c.look(t.Context())
	if d := cmp.Diff(applied("v1.34.1", "m", ""), o.Applied); err != nil || d != "" {
		t.Errorf("made anew: %v (-want +got):\n%s", err, d)
	}
	c.put(t, configMap("kubeadm-config", "ClusterConfiguration", "a: b: c"))
	if err := c.kubeadm.SyncConfig(t.Context(), c.access, []byte("{}"), "m"); fleet.KindOf(err) != "Invalid" {
		t.Errorf("sync over what is no YAML: %v", err)
	}
}

// What somebody changes in kubeadm-config while it is brought in line is not
// overwritten: the next look begins anew.
func TestSyncKubeadmConfigMeetsAnother(t *testing.T) {
	c := start(t)
	c.put(t, configMap("kubeadm-config", "ClusterConfiguration", fromInit))
	const theirs = "kubernetesVersion: v1.33.3\n"
	a := c.through(t, func(r *http.Request) {
		if r.Method == http.MethodPatch {
			c.put(t, configMap("kubeadm-config", "ClusterConfiguration", theirs))
		}
	})
	if err := c.kubeadm.SyncConfig(t.Context(), a, []byte("kubernetesVersion: v1.34.1"), "m"); fleet.KindOf(err) != "Conflict" {
		t.Errorf("got %v, want a conflict", err)
	}
	got := get[corev1.ConfigMap](t, c, "ConfigMap", "kube-system", "kubeadm-config")
	if got.Data["ClusterConfiguration"] != theirs || len(got.Annotations) > 0 {
		t.Errorf("kubeadm-config is %v %q", got.Annotations, got.Data)
	}
}

// through returns an access that tells see of every request before it is sent on.
func (c *cluster) through(t *testing.T, see func(*http.Request)) providers.Access {
	t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig(c.access.Kubeconfig.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(c.url)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewTLSServer(&httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		see(r.In)
		r.SetURL(target)
	}})
	t.Cleanup(s.Close)
	a := c.access
	trusted := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	a.Kubeconfig = c.ca.kubeconfig(t, s.URL, trusted, time.Now().Add(time.Hour))
	return a
}

func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// at reads the API type of an object of any kind, which must be there.
func at[T any](t *testing.T, c *cluster, kind schema.GroupVersionKind, namespace, name string) T {
	t.Helper()
	u, ok := c.Get(kind, namespace, name)
	if !ok {
		t.Fatalf("there is no %s %s", kind.Kind, name)
	}
	var out T
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
