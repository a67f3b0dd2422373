package secrets

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/providers/infrastructure/inmemory/kubeapi"
)

// inKubernetes is a store and the API server it is in.
type inKubernetes struct {
	*Kubernetes
	server     *kubeapi.Server
	kubeconfig string
}

func openKubernetes(t *testing.T) inKubernetes {
	t.Helper()
	c := &fleet.Cluster{Key: fleet.Key{Namespace: "default", Name: "home"}}
	issuer := kubeadm.New(nil)
	authorities, err := issuer.NewSecrets(c, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	ca := authorities[fleet.ClusterCA]
	server, err := kubeapi.New(kubeapi.Options{
		CACert: ca[fleet.TLSCertKey].Reveal(), CAKey: ca[fleet.TLSKeyKey].Reveal(), CertSANs: []string{"127.0.0.1"}, Version: "v1.34.1",
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(ctx, l)
	}()
	t.Cleanup(func() { cancel(); <-done })
	config, err := issuer.NewKubeconfig(c, fleet.Endpoint{Host: "127.0.0.1", Port: int32(l.Addr().(*net.TCPAddr).Port)}, authorities, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, config[fleet.KubeconfigKey].Reveal(), 0o600); err != nil {
		t.Fatal(err)
	}
	k, err := OpenKubernetes(file)
	if err != nil {
		t.Fatal(err)
	}
	return inKubernetes{k, server, file}
}

// put stores a Secret as others would.
func (k inKubernetes) put(t *testing.T, name string, typ corev1.SecretType, labels map[string]string) {
	t.Helper()
	err := k.server.Upsert(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels},
		Type:       typ, Data: map[string][]byte{"tls.crt": []byte("theirs")},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (k inKubernetes) has(name string) bool {
	_, ok := k.server.Get(corev1.SchemeGroupVersion.WithKind("Secret"), "default", name)
	return ok
}

// The names, type, label and keys are those that people and tools know.
func TestKubernetesWritesAsClusterAPIDoes(t *testing.T) {
	k := openKubernetes(t)
	home := fleet.Key{Namespace: "default", Name: "eu-1"}
	if err := k.Replace(t.Context(), home, fleet.Kubeconfig, fleet.SecretData{"value": fleet.NewSecret([]byte("config"))}); err != nil {
		t.Fatal(err)
	}
	u, ok := k.server.Get(corev1.SchemeGroupVersion.WithKind("Secret"), "default", "eu-1-kubeconfig")
	if !ok {
		t.Fatal("there is no Secret eu-1-kubeconfig")
	}
	got := map[string]any{"type": u.Object["type"], "data": u.Object["data"], "labels": u.GetLabels()}
	want := map[string]any{
		"type": "cluster.x-k8s.io/secret", "data": map[string]any{"value": "Y29uZmln"},
		"labels": map[string]string{"cluster.x-k8s.io/cluster-name": "eu-1"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestKubernetesLeavesWhatOthersMade(t *testing.T) {
	home := fleet.Key{Namespace: "default", Name: "eu-1"}
	const capi = corev1.SecretType("cluster.x-k8s.io/secret")
	labels := map[string]string{"cluster.x-k8s.io/cluster-name": "eu-1"}
	t.Run("authorities that people brought are used", func(t *testing.T) {
		k := openKubernetes(t)
		k.put(t, "eu-1-ca", corev1.SecretTypeTLS, nil)
		got, err := k.Create(t.Context(), home, fleet.ClusterCA, data("ours"))
		if err != nil || string(got["tls.crt"].Reveal()) != "theirs" {
			t.Errorf("got %v, %v", reveal(got), err)
		}
	})
	t.Run("and outlive the cluster", func(t *testing.T) {
		k := openKubernetes(t)
		k.put(t, "eu-1-ca", corev1.SecretTypeTLS, labels)
		k.put(t, "eu-1-etcd", capi, map[string]string{"cluster.x-k8s.io/cluster-name": "eu"})
		k.put(t, "eu-1-proxy", capi, labels)
		k.put(t, "eu-1-else", capi, labels)
		if err := k.Delete(t.Context(), home); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]bool{"eu-1-ca": true, "eu-1-etcd": true, "eu-1-proxy": false, "eu-1-else": true} {
			if k.has(name) != want {
				t.Errorf("%s is there: %t, want %t", name, !want, want)
			}
		}
	})
	for what, do := range map[string]func(k inKubernetes, name string) error{
		"replace": func(k inKubernetes, _ string) error { return k.Replace(t.Context(), home, fleet.Kubeconfig, data("x")) },
		"set Secret": func(k inKubernetes, name string) error {
			return k.SetSecret(t.Context(), fleet.Key{Namespace: "default", Name: name}, data("x"))
		},
		"delete Secret": func(k inKubernetes, name string) error {
			return k.DeleteSecret(t.Context(), fleet.Key{Namespace: "default", Name: name})
		},
	} {
		t.Run(what, func(t *testing.T) {
			k := openKubernetes(t)
			k.put(t, "eu-1-kubeconfig", corev1.SecretTypeOpaque, map[string]string{"a": "b"})
			if err := do(k, "eu-1-kubeconfig"); fleet.KindOf(err) != "Conflict" || !strings.Contains(err.Error(), "fairlead") && !strings.Contains(err.Error(), "Fairlead") {
				t.Errorf("got %v, want the kind Conflict", err)
			}
			if got, err := k.GetSecret(t.Context(), fleet.Key{Namespace: "default", Name: "eu-1-kubeconfig"}); err != nil || string(got["tls.crt"].Reveal()) != "theirs" {
				t.Errorf("it was changed: %v", err)
			}
		})
	}
}

func TestKubernetesFailures(t *testing.T) {
	k := openKubernetes(t)
	k.server.SetAvailable(false)
	_, err := k.Get(t.Context(), eu1, fleet.ClusterCA)
	if fleet.KindOf(err) != "Unavailable" {
		t.Errorf("an API server that is away: %v, want the kind Unavailable", err)
	}
	stranger := openKubernetes(t)
	config, err := os.ReadFile(stranger.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte(strings.Replace(string(config), "client-certificate-data", "x-data", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	nobody, err := OpenKubernetes(file)
	if err == nil {
		_, err = nobody.Get(t.Context(), eu1, fleet.ClusterCA)
	}
	if fleet.KindOf(err) != "Unauthorized" {
		t.Errorf("without a certificate: %v, want the kind Unauthorized", err)
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, err := OpenKubernetes(""); fleet.KindOf(err) != "Invalid" || !strings.Contains(err.Error(), "--secrets kubernetes:FILE") {
		t.Errorf("outside of a cluster: %v", err)
	}
	if _, err := OpenKubernetes(filepath.Join(t.TempDir(), "none")); fleet.KindOf(err) != "Unauthorized" {
		t.Errorf("no kubeconfig: %v", err)
	}
}

// A kubeconfig leads to the store without being in a file.
func TestOpenKubeconfig(t *testing.T) {
	k := openKubernetes(t)
	content, err := os.ReadFile(k.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", filepath.Join(temp, "there is none"))
	s, err := OpenKubeconfig(fleet.NewSecret(content))
	if err != nil {
		t.Fatal(err)
	}
	if s.host != k.host || s.namespace != k.namespace || string(s.authority) != string(k.authority) {
		t.Errorf("got %s, namespace %q, want %s, namespace %q", s, s.namespace, k, k.namespace)
	}
	if _, err := s.Get(t.Context(), eu1, fleet.ClusterCA); fleet.KindOf(err) != "NotFound" {
		t.Errorf("got %v, want the kind NotFound", err)
	}
	if _, err := OpenKubeconfig(fleet.NewSecret([]byte("{"))); fleet.KindOf(err) != "Invalid" {
		t.Errorf("no kubeconfig: %v, want the kind Invalid", err)
	}
}
