package kubeapi_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/test/run/needs"
)

// kubectl returns a function that runs the real kubectl against c.
func kubectl(t *testing.T, c *cluster) func(args ...string) string {
	t.Helper()
	binary := needs.Program(t, "kubectl", "install it")
	cert, key := c.ca.client(t, time.Hour)
	b64 := base64.StdEncoding.EncodeToString
	dir := t.TempDir()
	config := filepath.Join(dir, "config")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: u, user: {client-certificate-data: %s, client-key-data: %s}}]
`, c.url, b64(c.ca.certPEM), b64(cert), b64(key))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), binary, append([]string{"--cache-dir", dir, "--kubeconfig", config}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
}

func node(name string, ready corev1.ConditionStatus) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name}},
		Status: corev1.NodeStatus{
			NodeInfo:   corev1.NodeSystemInfo{KubeletVersion: "v1.34.1"},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}},
		},
	}
}

func pod(name, node string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
}

func TestKubectl(t *testing.T) {
	c := start(t, nil)
	run := kubectl(t, c)
	for _, n := range []string{"n1", "n2"} {
		if err := c.Upsert(node(n, corev1.ConditionTrue)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Upsert(pod("web", "n1", map[string]string{"app": "web"})); err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(t.TempDir(), "m.yaml")
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, namespace: default}\ndata: {a: \"1\"}\n"
	if err := os.WriteFile(manifest, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	steps := []struct {
		args string
		want string
	}{
		{"version", "Server Version: v1.34.1"},
		{"api-resources", "poddisruptionbudgets"},
		{"get nodes", "n1     Ready    <none>"},
		{"get pods -A -o wide", "web"},
		{"get all", "pod/web"},
		{"get ns", "kube-node-lease"},
		{"describe node n1", "web"},
		{"describe pod web", "n1"},
		{"label node n1 tier=gold", "node/n1 labeled"},
		{"annotate node n1 a=b", "node/n1 annotated"},
		{"taint node n2 k=v:NoSchedule", "node/n2 tainted"},
		{"get nodes -l tier=gold -o name", "node/n1"},
		{"get pods --field-selector spec.nodeName=n1 -o name", "pod/web"},
		{"cordon n1", "node/n1 cordoned"},
		{"get nodes", "Ready,SchedulingDisabled"},
		{"drain n1 --force --timeout 30s", "node/n1 drained"},
		{"uncordon n1", "node/n1 uncordoned"},
		{"apply -f " + manifest, "configmap/m created"},
		{"apply -f " + manifest, "configmap/m unchanged"},
		{"apply --server-side --force-conflicts -f " + manifest, "configmap/m serverside-applied"},
		{"diff -f " + manifest, ""},
		{"patch cm m --type json -p [{\"op\":\"add\",\"path\":\"/data/b\",\"value\":\"2\"}]", "configmap/m patched"},
		{"get cm m -o jsonpath={.data.b}", "2"},
		{"create secret generic s --from-literal k=v", "secret/s created"},
		{"create deployment d --image i", "deployment.apps/d created"},
		{"create ns extra", "namespace/extra created"},
		{"delete ns extra --timeout 30s", `namespace "extra" deleted`},
		{"wait --for condition=Ready node/n1 --timeout 30s", "node/n1 condition met"},
		{"delete node n2 --timeout 30s", `node "n2" deleted`},
		{"get events", "No resources found"},
	}
	for _, s := range steps {
		if got := run(strings.Split(s.args, " ")...); !strings.Contains(got, s.want) {
			t.Errorf("kubectl %s: got %q, want %q in it", s.args, got, s.want)
		}
	}
}
