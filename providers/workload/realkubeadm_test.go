package workload_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
	"fairlead.dev/test/lab/kube"
	"fairlead.dev/test/lab/kube/binaries"
)

// TestRealUpgrade leaves in a cluster what kubeadm init of the older version
// does, has it brought in line with the newer, and then lets kubeadm of the newer
// version do all that `kubeadm upgrade apply` does to a cluster and `kubeadm join`
// does not. What that still changes is listed here, with why it may be missing.
func TestRealUpgrade(t *testing.T) {
	minors := binaries.Kubeadm()
	older, newer := minors[0], minors[len(minors)-1]
	c := startReal(t, kube.Own())
	k := &realKubeadm{c, map[string]string{}}
	for _, minor := range []string{older, newer} {
		path, err := binaries.Path("kubeadm-" + minor)
		if err != nil {
			t.Skip(err)
		}
		k.programs[minor] = path
	}
	c.node(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "cp-1"}})
	k.phases(older, configOf(older))
	// Most versions between do not make it, nor does any before them.
	bindings := c.admin.RbacV1().ClusterRoleBindings()
	if err := bindings.Delete(t.Context(), "kubeadm:apiserver-kubelet-client", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}

	pool, conf := fleet.Pool{Version: "v" + newer + ".0"}, bootstrapv1.ClusterConfiguration{DNS: bootstrapv1.DNS{ImageTag: k.coreDNS(newer)}}
	if err := c.kubeadm.SyncConfig(t.Context(), c.access, []byte(configOf(newer)), "mark"); err != nil {
		t.Fatal(err)
	}
	if err := c.kubeadm.SyncAddons(t.Context(), c.access, pool, conf, "mark"); err != nil {
		t.Fatal(err)
	}
	config, err := c.admin.CoreV1().ConfigMaps("kube-system").Get(t.Context(), "kubeadm-config", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before := k.all()
	k.phases(newer, config.Data["ClusterConfiguration"])
	if d := cmp.Diff(allowed(t, before), k.all()); d != "" {
		t.Errorf("what kubeadm %s changes once Fairlead is done (-Fairlead +kubeadm):\n%s", newer, d)
	}
}

// allowed returns objects with what kubeadm may make of them all the same.
func allowed(t *testing.T, objects map[string]any) map[string]any {
	t.Helper()
	set := func(object string, value any, path ...string) {
		if err := unstructured.SetNestedField(objects[object].(map[string]any), value, path...); err != nil {
			t.Fatalf("%s: %v", object, err)
		}
	}
	// Whoever reads a ClusterConfiguration fills these in.
	for key, value := range map[string]any{
		"apiServer": map[string]any{}, "controllerManager": map[string]any{}, "scheduler": map[string]any{}, "imageRepository": "registry.k8s.io",
		"encryptionAlgorithm": "RSA-2048", "certificateValidityPeriod": "8760h0m0s", "caCertificateValidityPeriod": "87600h0m0s",
	} {
		set("configmaps kube-system/kubeadm-config", value, "data", "ClusterConfiguration", key)
	}
	// A field of kubeconfigs that nobody reads.
	unstructured.RemoveNestedField(objects["configmaps kube-public/cluster-info"].(map[string]any), "data", "kubeconfig", "preferences")
	// Ports of CoreDNS that have a number have a name as well.
	dns := objects["deployments kube-system/coredns"].(map[string]any)
	containers, _, err := unstructured.NestedSlice(dns, "spec", "template", "spec", "containers")
	if err != nil {
		t.Fatal(err)
	}
	c := containers[0].(map[string]any)
	c["ports"] = append(c["ports"].([]any),
		map[string]any{"containerPort": 8080.0, "name": "liveness-probe", "protocol": "TCP"},
		map[string]any{"containerPort": 8181.0, "name": "readiness-probe", "protocol": "TCP"})
	c["livenessProbe"].(map[string]any)["httpGet"].(map[string]any)["port"] = "liveness-probe"
	c["readinessProbe"].(map[string]any)["httpGet"].(map[string]any)["port"] = "readiness-probe"
	set("deployments kube-system/coredns", containers, "spec", "template", "spec", "containers")
	return objects
}

// A realKubeadm is kubeadm of several versions with one cluster.
type realKubeadm struct {
	*realCluster
	programs map[string]string // by minor version
}

// configOf returns the ClusterConfiguration for a minor version.
func configOf(minor string) string {
	return "apiVersion: kubeadm.k8s.io/v1beta4\nclusterName: eu-1\ncontrolPlaneEndpoint: 127.0.0.1:6443\nkind: ClusterConfiguration\nkubernetesVersion: v" +
		minor + ".0\nnetworking: {dnsDomain: cluster.local, podSubnet: 10.0.0.0/16, serviceSubnet: 10.96.0.0/16}\n"
}

// phases runs what kubeadm does to a cluster, rather than to a machine.
func (k *realKubeadm) phases(minor, config string) {
	k.t.Helper()
	const init = `---
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
bootstrapTokens: [{token: abcdef.0123456789abcdef, ttl: 0s}]
localAPIEndpoint: {advertiseAddress: 10.0.0.5}
nodeRegistration: {name: cp-1, criSocket: unix:///run/containerd/containerd.sock}
`
	file := filepath.Join(k.t.TempDir(), "kubeadm.yaml")
	if err := os.WriteFile(file, []byte(config+init), 0o600); err != nil {
		k.t.Fatal(err)
	}
	for _, phase := range [][]string{{"upload-config", "all"}, {"bootstrap-token"}, {"addon", "all"}} {
		args := append([]string{"init", "phase"}, append(phase, "--config", file, "--kubeconfig", k.server.Kubeconfig)...)
		out, err := exec.CommandContext(k.t.Context(), k.programs[minor], args...).CombinedOutput()
		if err != nil {
			k.t.Fatalf("kubeadm %s %s: %v\n%s", minor, phase, err, out)
		}
	}
}

// coreDNS returns the tag of CoreDNS that a version of kubeadm installs.
func (k *realKubeadm) coreDNS(minor string) string {
	k.t.Helper()
	out, err := exec.CommandContext(k.t.Context(), k.programs[minor], "config", "images", "list", "--kubernetes-version", "v"+minor+".0").Output()
	if err != nil {
		k.t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if _, tag, ok := strings.Cut(strings.TrimSpace(line), "coredns/coredns:"); ok {
			return tag
		}
	}
	k.t.Fatalf("kubeadm %s has no CoreDNS:\n%s", minor, out)
	return ""
}

// all returns what is in the cluster of what kubeadm could have written, by kind
// and name, without what the API server keeps for itself.
func (k *realKubeadm) all() map[string]any {
	k.t.Helper()
	client, err := dynamic.NewForConfig(k.server.Config)
	if err != nil {
		k.t.Fatal(err)
	}
	rbac := schema.GroupVersion{Group: "rbac.authorization.k8s.io", Version: "v1"}
	apps, core := schema.GroupVersion{Group: "apps", Version: "v1"}, schema.GroupVersion{Version: "v1"}
	out := map[string]any{}
	for _, r := range []schema.GroupVersionResource{
		rbac.WithResource("clusterroles"), rbac.WithResource("clusterrolebindings"), rbac.WithResource("roles"), rbac.WithResource("rolebindings"),
		apps.WithResource("daemonsets"), apps.WithResource("deployments"),
		core.WithResource("configmaps"), core.WithResource("services"), core.WithResource("serviceaccounts"),
	} {
		list, err := client.Resource(r).List(k.t.Context(), metav1.ListOptions{})
		if err != nil {
			k.t.Fatal(err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			out[r.Resource+" "+o.GetNamespace()+"/"+o.GetName()] = content(k.t, o)
		}
	}
	return out
}

// content returns what somebody wrote of o; YAML in a ConfigMap is read.
func content(t *testing.T, o *unstructured.Unstructured) map[string]any {
	t.Helper()
	for _, field := range []string{"managedFields", "resourceVersion", "uid", "creationTimestamp", "generation"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(o.Object, "status")
	data, _, _ := unstructured.NestedMap(o.Object, "data")
	for key, v := range data {
		var parsed map[string]any
		if text, _ := v.(string); yaml.Unmarshal([]byte(text), &parsed) == nil {
			data[key] = parsed
		}
	}
	raw, err := json.Marshal(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.NewDecoder(bytes.NewReader(raw)).Decode(&out); err != nil {
		t.Fatal(err)
	}
	if data != nil {
		out["data"] = data
	}
	return out
}
