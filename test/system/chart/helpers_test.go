package chart

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"fairlead.dev/test/lab/kube"
	"fairlead.dev/test/lab/kube/binaries"
	"fairlead.dev/test/run/waits"
)

const (
	chart = "../../../charts/fairlead"
	// values are files of values that the chart's own tests use.
	values = "../../../charts/testdata/"
)

// long skips what takes minutes but for make test-chart.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("FAIRLEAD_TEST_CHART") == "" {
		t.Skip("make test-chart runs it")
	}
}

// program returns the path of a program that make kube builds, or skips.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := binaries.Path(name)
	if err != nil {
		t.Skip(err)
	}
	return path
}

// helm runs the real helm against k and returns what it says.
func helm(t *testing.T, k *kube.Server, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program(t, "helm"), args...)
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home, "KUBECONFIG="+k.Kubeconfig)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("helm %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

func mustHelm(t *testing.T, k *kube.Server, args ...string) string {
	t.Helper()
	out, err := helm(t, k, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// restricted returns a new namespace in which Pod Security lets pass only what
// is restricted.
func restricted(t *testing.T, k *kube.Server, client kubernetes.Interface) string {
	t.Helper()
	name := k.Namespace()
	namespaces := client.CoreV1().Namespaces()
	ns, err := namespaces.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ns.Labels["pod-security.kubernetes.io/enforce"] = "restricted"
	if _, err := namespaces.Update(t.Context(), ns, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	return name
}

// addSecret makes a Secret.
func addSecret(t *testing.T, client kubernetes.Interface, namespace, name string, data map[string]string) {
	t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: data}
	if _, err := client.CoreV1().Secrets(namespace).Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// podOf returns the pod that the controller of Deployments would make.
func podOf(t *testing.T, client kubernetes.Interface, namespace, deployment string) *corev1.Pod {
	t.Helper()
	d, err := client.AppsV1().Deployments(namespace).Get(t.Context(), deployment, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: deployment + "-", Labels: d.Spec.Template.Labels, Annotations: d.Spec.Template.Annotations},
		Spec:       d.Spec.Template.Spec,
	}
}

// createPod creates a pod, which waits for ever: nothing schedules it. The error
// is what admission says against it.
func createPod(ctx context.Context, client kubernetes.Interface, namespace string, pod *corev1.Pod) (*corev1.Pod, error) {
	return client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
}

// eventually polls until done returns true, and fails the test with what it was
// waiting for where that takes too long.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(waits.Limit); !done(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// git runs git in dir and returns what it prints.
func git(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull,
		"GIT_AUTHOR_NAME=You", "GIT_AUTHOR_EMAIL=you@example.com", "GIT_COMMITTER_NAME=You", "GIT_COMMITTER_EMAIL=you@example.com")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, errs.String())
	}
	return string(out), nil
}

func mustGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := git(dir, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// gone reports whether err says that there is no such thing.
func gone(err error) bool { return apierrors.IsNotFound(err) }
