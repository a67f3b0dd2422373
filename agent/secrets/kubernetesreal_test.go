package secrets

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"fairlead.dev/fleet"
	"fairlead.dev/test/lab/kube"
)

// A real store is in a kube-apiserver, to which admin may do everything.
type realStore struct {
	*Kubernetes
	server *kube.Server
	admin  kubernetes.Interface
}

// openReal opens a store as somebody who may do what the store needs, in an API
// server that has no Secrets.
func openReal(t *testing.T, options ...kube.Option) realStore {
	t.Helper()
	server := kube.Start(t, options...)
	s := realStore{server: server, admin: kubernetes.NewForConfigOrDie(server.Config)}
	all, err := s.admin.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range all.Items {
		if err := s.admin.CoreV1().Secrets(secret.Namespace).Delete(t.Context(), secret.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s.Kubernetes = s.as(t, rules())
	return s
}

// as opens the store of s as a service account with exactly these rules.
func (s realStore) as(t *testing.T, rules [][2]string) *Kubernetes {
	t.Helper()
	var policy []rbacv1.PolicyRule
	for _, r := range rules {
		policy = append(policy, rbacv1.PolicyRule{APIGroups: []string{""}, Verbs: r[:1], Resources: r[1:]})
	}
	return s.open(t, s.server.ServiceAccount(s.server.Namespace(), "fairlead", policy...))
}

func (s realStore) open(t *testing.T, config *rest.Config) *Kubernetes {
	t.Helper()
	k, err := OpenKubernetes(s.server.WriteKubeconfig(config))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// put stores a Secret as others would.
func (s realStore) put(t *testing.T, namespace string, secret *corev1.Secret) {
	t.Helper()
	if _, err := s.admin.CoreV1().Secrets(namespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (s realStore) get(t *testing.T, namespace, name string) *corev1.Secret {
	t.Helper()
	secret, err := s.admin.CoreV1().Secrets(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func config(s string) fleet.SecretData {
	return fleet.SecretData{fleet.KubeconfigKey: fleet.NewSecret([]byte(s))}
}

// What Cluster API's tools look for: name, type, key, and the label that
// clusterctl and the providers select by.
func TestRealKubeconfigIsWhereToolsLook(t *testing.T) {
	s := openReal(t)
	ns := s.server.Namespace()
	c := fleet.Key{Namespace: ns, Name: "eu-1"}
	if err := s.Of("prod").Replace(t.Context(), c, fleet.Kubeconfig, config("a config")); err != nil {
		t.Fatal(err)
	}
	list, err := s.admin.CoreV1().Secrets(ns).List(t.Context(), metav1.ListOptions{
		LabelSelector: "cluster.x-k8s.io/cluster-name=eu-1", FieldSelector: "type=cluster.x-k8s.io/secret",
	})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("found %d Secrets of the cluster, %v", len(list.Items), err)
	}
	got := list.Items[0]
	if got.Name != "eu-1-kubeconfig" || string(got.Data["value"]) != "a config" || len(got.Data) != 1 || got.Labels["fairlead.dev/fleet"] != "prod" {
		t.Errorf("stored %s with labels %v and %d values", got.Name, got.Labels, len(got.Data))
	}
}

func TestRealFleetsDoNotMeet(t *testing.T) {
	s := openReal(t)
	ctx, c := t.Context(), fleet.Key{Namespace: s.server.Namespace(), Name: "eu-1"}
	ours, theirs := s.Of("ours"), s.Of("theirs")
	if _, err := theirs.Create(ctx, c, fleet.ClusterCA, data("theirs")); err != nil {
		t.Fatal(err)
	}
	if err := theirs.Replace(ctx, c, fleet.Kubeconfig, config("theirs")); err != nil {
		t.Fatal(err)
	}
	_, get := ours.Get(ctx, c, fleet.ClusterCA)
	_, create := ours.Create(ctx, c, fleet.ClusterCA, data("ours"))
	for what, err := range map[string]error{
		"get": get, "create": create, "replace": ours.Replace(ctx, c, fleet.Kubeconfig, config("ours")), "delete": ours.Delete(ctx, c),
	} {
		if fleet.KindOf(err) != "Conflict" || !strings.Contains(err.Error(), "of the fleet theirs") {
			t.Errorf("%s: %v, want the kind Conflict and whose it is", what, err)
		}
	}
	if got := s.get(t, c.Namespace, "eu-1-kubeconfig"); got == nil || string(got.Data["value"]) != "theirs" {
		t.Errorf("the kubeconfig of the other fleet is %v", got)
	}
	if d, err := theirs.Get(ctx, c, fleet.ClusterCA); err != nil || reveal(d)["tls.key"] != "theirs" {
		t.Errorf("the other fleet got %v", err)
	}
	if err := theirs.Delete(ctx, c); err != nil || s.get(t, c.Namespace, "eu-1-ca") != nil {
		t.Errorf("the other fleet's delete: %v, or its authority is left", err)
	}
}

// What Cluster API made is taken over: it has no fleet until it is written.
func TestRealTakesOverWhatClusterAPIMade(t *testing.T) {
	s := openReal(t)
	c := fleet.Key{Namespace: s.server.Namespace(), Name: "eu-1"}
	s.put(t, c.Namespace, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "eu-1-kubeconfig", Labels: map[string]string{"cluster.x-k8s.io/cluster-name": "eu-1", "theirs": "stays"}, Annotations: map[string]string{"a": "b"}},
		Type:       "cluster.x-k8s.io/secret", Data: map[string][]byte{"value": []byte("old")},
	})
	if got, err := s.Of("ours").Get(t.Context(), c, fleet.Kubeconfig); err != nil || reveal(got)["value"] != "old" {
		t.Fatalf("got %v", err)
	}
	if err := s.Of("ours").Replace(t.Context(), c, fleet.Kubeconfig, config("new")); err != nil {
		t.Fatal(err)
	}
	got := s.get(t, c.Namespace, "eu-1-kubeconfig")
	want := map[string]string{"cluster.x-k8s.io/cluster-name": "eu-1", "theirs": "stays", "fairlead.dev/fleet": "ours"}
	if d := cmp.Diff(want, got.Labels); d != "" || string(got.Data["value"]) != "new" || got.Annotations["a"] != "b" {
		t.Errorf("labels: -want +got:\n%s", d)
	}
}

func TestRealKeepsWhatPeopleBrought(t *testing.T) {
	s := openReal(t)
	c := fleet.Key{Namespace: s.server.Namespace(), Name: "eu-1"}
	s.put(t, c.Namespace, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "eu-1-ca", Labels: map[string]string{"cluster.x-k8s.io/cluster-name": "eu-1"}},
		Type:       corev1.SecretTypeTLS, Data: map[string][]byte{"tls.crt": []byte("cert"), "tls.key": []byte("brought")},
	})
	if _, err := s.Create(t.Context(), c, fleet.EtcdCA, data("made")); err != nil {
		t.Fatal(err)
	}
	kept, err := s.Kept(t.Context(), c)
	if d := cmp.Diff([]fleet.SecretName{"ca"}, kept); d != "" || err != nil {
		t.Errorf("kept: %v, -want +got:\n%s", err, d)
	}
	if err := s.Delete(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if s.get(t, c.Namespace, "eu-1-ca") == nil || s.get(t, c.Namespace, "eu-1-etcd") != nil {
		t.Error("the brought authority went, or the made one stayed")
	}
}

func TestRealSecretWithoutItsValue(t *testing.T) {
	s := openReal(t)
	c := fleet.Key{Namespace: s.server.Namespace(), Name: "eu-1"}
	for name, secret := range map[string]fleet.SecretName{"eu-1-ca": fleet.ClusterCA, "eu-1-kubeconfig": fleet.Kubeconfig} {
		s.put(t, c.Namespace, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{"ca.crt": []byte("x")}})
		_, err := s.Get(t.Context(), c, secret)
		if fleet.KindOf(err) != "Invalid" || !strings.Contains(err.Error(), c.Namespace+"/"+name) {
			t.Errorf("%s: %v, want the kind Invalid and its name", name, err)
		}
	}
}
