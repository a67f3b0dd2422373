package kube_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"fairlead.dev/test/lab/kube"
	"fairlead.dev/test/lab/kube/binaries"
	"fairlead.dev/test/run/waits"
)

func client(t *testing.T, c *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestKubeconfigMayDoEverything(t *testing.T) {
	k := kube.Start(t)
	c, err := clientcmd.BuildConfigFromFlags("", k.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	version, err := client(t, c).Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if version.GitVersion != "v1.36.3" || version.Major != "1" || version.Minor != "36" {
		t.Errorf("the server says it is %s (%s.%s)", version.GitVersion, version.Major, version.Minor)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if _, err := client(t, c).CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
}

func TestUserMayDoNothing(t *testing.T) {
	k := kube.Start(t)
	_, err := client(t, k.User("alice", "developers")).CoreV1().Secrets(k.Namespace()).List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `User "alice" cannot list`) {
		t.Errorf("listed Secrets: %v, want a refusal of alice", err)
	}
	k.Allow(rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: "developers"},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"list"}})
	if _, err := client(t, k.User("alice", "developers")).CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("listed Secrets as a group that may: %v", err)
	}
}

func TestServiceAccountMayDoItsRules(t *testing.T) {
	k := kube.Start(t)
	ns := k.Namespace()
	c, err := clientcmd.BuildConfigFromFlags("", k.WriteKubeconfig(k.ServiceAccount(ns, "agent", rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"mine"}, Verbs: []string{"get"},
	})))
	if err != nil {
		t.Fatal(err)
	}
	secrets := client(t, c).CoreV1().Secrets(ns)
	if _, err := secrets.Get(t.Context(), "mine", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("got its Secret: %v, want that there is none", err)
	}
	if _, err := secrets.Get(t.Context(), "other", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("got another Secret: %v, want a refusal", err)
	}
}

func TestNamespaceTakesPods(t *testing.T) {
	k := kube.Start(t)
	pods := client(t, k.Config).CoreV1().Pods(k.Namespace())
	pod, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if pod.Spec.ServiceAccountName != "default" {
		t.Errorf("the pod has the service account %q", pod.Spec.ServiceAccountName)
	}
}

func TestServerIsShared(t *testing.T) {
	a, b := kube.Start(t), kube.Start(t)
	if a.Config.Host != b.Config.Host {
		t.Errorf("two servers, at %s and %s", a.Config.Host, b.Config.Host)
	}
	if own := kube.Start(t, kube.Own()); own.Config.Host == a.Config.Host {
		t.Error("an own server is the shared one")
	}
}

func TestDownAndUpKeepsWhatIsStored(t *testing.T) {
	k := kube.Start(t, kube.Own())
	namespaces := client(t, k.Config).CoreV1().Namespaces()
	ns := k.Namespace()
	k.Down()
	if _, err := namespaces.Get(t.Context(), ns, metav1.GetOptions{}); err == nil {
		t.Error("a server that is down answers")
	}
	k.Up()
	if _, err := namespaces.Get(t.Context(), ns, metav1.GetOptions{}); err != nil {
		t.Errorf("after the restart: %v", err)
	}
}

func TestBadFlagFailsWithWhatTheServerSaid(t *testing.T) {
	kube.Start(t)
	r := &recorder{TB: t}
	func() {
		defer func() { _ = recover() }()
		kube.Start(r, kube.Own("--no-such-flag"))
	}()
	if !strings.Contains(r.message, "kube-apiserver-v1.36.3 has ended") || !strings.Contains(r.message, "no-such-flag") {
		t.Errorf("the test failed with %q", r.message)
	}
}

// A recorder takes the failure of a test.
type recorder struct {
	testing.TB
	message string
}

func (r *recorder) Fatal(args ...any) {
	r.message = fmt.Sprint(args...)
	panic("failed")
}

// TestNothingIsLeftOfAKilledTest runs itself as a process of its own, which
// starts a server, says where, and is killed.
func TestNothingIsLeftOfAKilledTest(t *testing.T) {
	const victim = "KUBE_TEST_VICTIM"
	k := kube.Start(t)
	if os.Getenv(victim) != "" {
		fmt.Println("server:", strings.TrimPrefix(k.Config.Host, "https://"))
		select {} // until it is killed
	}
	tmp, err := os.MkdirTemp("", "kube-victim-") // short: socket files lie in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(tmp) })
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNothingIsLeftOfAKilledTest$")
	c.Env = append(os.Environ(), victim+"=1", "TMPDIR="+tmp)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var host string
	for lines := bufio.NewScanner(out); host == "" && lines.Scan(); {
		host, _ = strings.CutPrefix(lines.Text(), "server: ")
	}
	if conn, err := net.Dial("tcp", host); err != nil {
		t.Errorf("the server of the other process: %v", err)
	} else {
		conn.Close()
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	eventually(t, "its API server is gone", func() bool {
		conn, err := net.Dial("tcp", host)
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	eventually(t, "its files are gone", func() bool {
		left, err := filepath.Glob(filepath.Join(tmp, "kube-*"))
		return err == nil && len(left) == 0
	})
}

// eventually polls for a minute, which is only reached by what never comes.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(waits.Limit); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never happened: %s", what)
		}
	}
}

// TestRun starts a server for a program, which is gone when it is closed.
func TestRun(t *testing.T) {
	if _, err := binaries.Path("kube-apiserver"); err != nil {
		t.Skip(err)
	}
	r, err := kube.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client(t, r.Config).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
	ids := r.Processes()
	for _, id := range ids {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", id)); err != nil {
			t.Error(err)
		}
	}
	dir := t.TempDir()
	if err := r.WriteServing(dir); err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(r.Config.CAData)
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "127.0.0.1"}); err != nil {
		t.Errorf("the certificate of a webhook: %v", err)
	}
	r.Close()
	for _, id := range ids {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", id)); err == nil {
			t.Errorf("process %d is still there", id)
		}
	}
}
