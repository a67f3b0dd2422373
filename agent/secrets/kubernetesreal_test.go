package secrets

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"fairlead.dev/fleet"
	"fairlead.dev/test/kube"
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

// rules are what the store needs: verb, resource.
func rules() [][2]string {
	return [][2]string{{"get", "secrets"}, {"create", "secrets"}, {"update", "secrets"}, {"delete", "secrets"}, {"list", "secrets"}, {"create", "namespaces"}}
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

// What people gave is known by its name without the right to list; what others made is
// not ours to copy.
func TestRealFiltersWithoutList(t *testing.T) {
	s := openReal(t)
	ns := s.server.Namespace()
	given, theirs := fleet.Key{Namespace: ns, Name: "given"}, fleet.Key{Namespace: ns, Name: "theirs"}
	if err := s.SetSecret(t.Context(), given, data("x")); err != nil {
		t.Fatal(err)
	}
	s.put(t, ns, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: theirs.Name}})
	k := s.as(t, [][2]string{{"get", "secrets"}})
	if _, err := k.ListSecrets(t.Context()); fleet.KindOf(err) != fleet.Unauthorized {
		t.Fatalf("it may list: %v", err)
	}
	got, err := k.FilterSecrets(t.Context(), []fleet.Key{theirs, given, {Namespace: ns, Name: "gone"}})
	if d := cmp.Diff([]fleet.Key{given}, got); d != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, d)
	}
	if _, err := s.as(t, nil).FilterSecrets(t.Context(), []fleet.Key{given}); fleet.KindOf(err) != fleet.Unauthorized {
		t.Errorf("without any right: %v, want the kind Unauthorized", err)
	}
}

// Each right is needed, and the error says which is missing.
func TestRealNeedsEachRight(t *testing.T) {
	s := openReal(t)
	// everything uses the whole store, in a namespace that is not there yet.
	everything := func(k *Kubernetes, ns string) error {
		ctx, c, given := t.Context(), fleet.Key{Namespace: ns, Name: "eu-1"}, fleet.Key{Namespace: ns, Name: "given"}
		for _, do := range []func() error{
			func() error { _, err := k.Create(ctx, c, fleet.ClusterCA, data("x")); return err },
			func() error { _, err := k.Get(ctx, c, fleet.ClusterCA); return err },
			func() error { return k.Replace(ctx, c, fleet.Kubeconfig, config("one")) },
			func() error { return k.Replace(ctx, c, fleet.Kubeconfig, config("two")) },
			func() error { return k.SetSecret(ctx, given, data("x")) },
			func() error { _, err := k.ListSecrets(ctx); return err },
			func() error { return k.DeleteSecret(ctx, given) },
			func() error { return k.Delete(ctx, c) },
		} {
			if err := do(); err != nil {
				return err
			}
		}
		return nil
	}
	if err := everything(s.Kubernetes, s.server.Namespace()+"-new"); err != nil {
		t.Errorf("with all rights: %v", err)
	}
	for i, missing := range rules() {
		t.Run(strings.Join(missing[:], " "), func(t *testing.T) {
			var others [][2]string
			for j, r := range rules() {
				if j != i {
					others = append(others, r)
				}
			}
			err := everything(s.as(t, others), s.server.Namespace()+"-new")
			want := fmt.Sprintf(`resources: [%s], verbs: [%s]}`, missing[1], missing[0])
			if fleet.KindOf(err) != "Unauthorized" || !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("got %v, want the kind Unauthorized and %s", err, want)
			}
		})
	}
}

func TestRealRefusals(t *testing.T) {
	s := openReal(t)
	ctx := t.Context()
	full, leaving, roomy := s.server.Namespace(), s.server.Namespace(), s.server.Namespace()
	none := corev1.ResourceList{"count/secrets": resource.MustParse("0")}
	quota, err := s.admin.CoreV1().ResourceQuotas(full).Create(ctx, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: corev1.ResourceQuotaSpec{Hard: none}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	quota.Status.Hard, quota.Status.Used = none, none // as the controller would
	if _, err := s.admin.CoreV1().ResourceQuotas(full).UpdateStatus(ctx, quota, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.admin.CoreV1().Namespaces().Delete(ctx, leaving, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("x", 1<<20)
	for name, c := range map[string]struct {
		namespace, value string
		fleet            fleet.ID
		kind             fleet.ErrorKind
		says             string
	}{
		"quota":                     {full, "x", "", "Exhausted", "exceeded quota"},
		"namespace goes":            {leaving, "x", "", "Unavailable", "being terminated"},
		"larger than a Secret":      {roomy, large + "x", "", "Invalid", "1048576"},
		"larger than any request":   {roomy, strings.Repeat(large, 4), "", "Invalid", "too large"},
		"as large as a Secret":      {roomy, large[:1<<20-len(fleet.KubeconfigKey)-100], "", "", ""},
		"name of a fleet too funny": {roomy, "x", "not/a/label", "Invalid", "not/a/label"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := fleet.Key{Namespace: c.namespace, Name: "eu-" + fmt.Sprint(len(c.value))}
			err := s.Of(c.fleet).Replace(ctx, cluster, fleet.Kubeconfig, config(c.value))
			if c.kind == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if fleet.KindOf(err) != c.kind || !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("got %s: %.300v, want %s and %q", fleet.KindOf(err), err, c.kind, c.says)
			}
			if strings.Contains(fmt.Sprint(err), large) {
				t.Error("the error holds the secret")
			}
		})
	}
}

func TestRealServerRestarts(t *testing.T) {
	s := openReal(t, kube.Own())
	c := fleet.Key{Namespace: "prod", Name: "eu-1"}
	if _, err := s.Create(t.Context(), c, fleet.ClusterCA, data("one")); err != nil {
		t.Fatal(err)
	}
	s.server.Down()
	_, get := s.Get(t.Context(), c, fleet.ClusterCA)
	_, create := s.Create(t.Context(), c, fleet.EtcdCA, data("two"))
	for what, err := range map[string]error{"get": get, "create": create, "delete": s.Delete(t.Context(), c), "replace": s.Replace(t.Context(), c, fleet.Kubeconfig, config("x"))} {
		if fleet.KindOf(err) != "Unavailable" {
			t.Errorf("%s while it is down: %v, want the kind Unavailable", what, err)
		}
	}
	s.server.Up()
	if got, err := s.Create(t.Context(), c, fleet.ClusterCA, data("three")); err != nil || reveal(got)["tls.key"] != "one" {
		t.Errorf("after the restart: %v", err)
	}
}

// between answers requests of a client, or does something before they go on.
type between struct {
	next http.RoundTripper
	mu   sync.Mutex
	do   func(*http.Request) *http.Response // nil: the request goes on
}

func (b *between) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	response := b.do(r)
	b.mu.Unlock()
	if response != nil {
		return response, nil
	}
	return b.next.RoundTrip(r)
}

func answer(code int, header http.Header) *http.Response {
	return &http.Response{StatusCode: code, Header: header, Body: http.NoBody}
}

// A write that lost a race is made again upon what won.
func TestRealConflicts(t *testing.T) {
	s := openReal(t)
	c := fleet.Key{Namespace: s.server.Namespace(), Name: "eu-1"}
	if err := s.Replace(t.Context(), c, fleet.Kubeconfig, config("first")); err != nil {
		t.Fatal(err)
	}
	races := 0
	s.api.Client.Transport = &between{next: s.api.Client.Transport, do: func(r *http.Request) *http.Response {
		if r.Method != http.MethodPut || races == 2 {
			return nil
		}
		races++
		secret := s.get(t, c.Namespace, "eu-1-kubeconfig")
		metav1.SetMetaDataAnnotation(&secret.ObjectMeta, "race", fmt.Sprint(races))
		if _, err := s.admin.CoreV1().Secrets(c.Namespace).Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
			t.Error(err)
		}
		return nil
	}}
	if err := s.Replace(t.Context(), c, fleet.Kubeconfig, config("second")); err != nil {
		t.Fatal(err)
	}
	got := s.get(t, c.Namespace, "eu-1-kubeconfig")
	if string(got.Data["value"]) != "second" || got.Annotations["race"] != "2" {
		t.Errorf("stored %q after race %s", got.Data["value"], got.Annotations["race"])
	}
}

// A deletion is of what was looked at, not of what has its name by now.
func TestRealDeletesWhatItSaw(t *testing.T) {
	s := openReal(t)
	c := fleet.Key{Namespace: s.server.Namespace(), Name: "eu-1"}
	if err := s.Replace(t.Context(), c, fleet.Kubeconfig, config("old")); err != nil {
		t.Fatal(err)
	}
	s.api.Client.Transport = &between{next: s.api.Client.Transport, do: func(r *http.Request) *http.Response {
		if r.Method == http.MethodDelete {
			if err := s.admin.CoreV1().Secrets(c.Namespace).Delete(t.Context(), "eu-1-kubeconfig", metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
			s.put(t, c.Namespace, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "eu-1-kubeconfig"}, Data: map[string][]byte{"value": []byte("somebody's")}})
		}
		return nil
	}}
	if err := s.Delete(t.Context(), c); fleet.KindOf(err) != "Conflict" {
		t.Errorf("got %v, want the kind Conflict", err)
	}
	if s.get(t, c.Namespace, "eu-1-kubeconfig") == nil {
		t.Error("another Secret of that name was deleted")
	}
}

func TestRealServerIsBusy(t *testing.T) {
	s := openReal(t)
	c := fleet.Key{Namespace: s.server.Namespace(), Name: "eu-1"}
	busy := 2
	gate := &between{next: s.api.Client.Transport, do: func(*http.Request) *http.Response {
		if busy == 0 {
			return nil
		}
		busy--
		return answer(http.StatusTooManyRequests, http.Header{"Retry-After": {"0"}})
	}}
	s.api.Client.Transport = gate
	if _, err := s.Create(t.Context(), c, fleet.ClusterCA, data("x")); err != nil {
		t.Errorf("a server that asks for another try: %v", err)
	}
	for _, code := range []int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusGatewayTimeout} {
		gate.do = func(*http.Request) *http.Response { return answer(code, http.Header{}) }
		if _, err := s.Get(t.Context(), c, fleet.ClusterCA); fleet.KindOf(err) != "Unavailable" {
			t.Errorf("%d: %v, want the kind Unavailable", code, err)
		}
	}
}

// Secrets that are in a cluster of their own are told by its authority.
func TestRealWithin(t *testing.T) {
	s := openReal(t)
	for name, c := range map[string]struct {
		authority string
		want      bool
	}{
		"home": {string(s.server.Config.CAData), true}, "other": {"another certificate", false},
		"rotated": {"-----BEGIN CERTIFICATE-----\nMTIz\n-----END CERTIFICATE-----\n" + string(s.server.Config.CAData), true},
	} {
		k := fleet.Key{Namespace: s.server.Namespace(), Name: name}
		if in, err := s.Within(t.Context(), k); in || err != nil {
			t.Errorf("%s, of which nothing is stored: %v, %v", name, in, err)
		}
		d := fleet.SecretData{fleet.TLSCertKey: fleet.NewSecret([]byte(c.authority)), fleet.TLSKeyKey: fleet.NewSecret([]byte("key"))}
		if _, err := s.Create(t.Context(), k, fleet.ClusterCA, d); err != nil {
			t.Fatal(err)
		}
		if in, err := s.Within(t.Context(), k); in != c.want || err != nil {
			t.Errorf("%s: %v, %v; want %v", name, in, err, c.want)
		}
	}
}
