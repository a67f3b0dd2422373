package secrets

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/agent/wiring/kube"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

// listing is an API server with the Secrets of one namespace. It counts requests.
type listing struct {
	secrets []corev1.Secret // sorted by name
	lists   bool            // may be listed
	page    int             // objects of a page, whatever is asked for

	mu       sync.Mutex
	requests map[string]int
}

func (l *listing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	verb := "list"
	if path.Base(r.URL.Path) != "secrets" {
		verb = "get"
	}
	l.mu.Lock()
	l.requests[verb]++
	l.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	refuse := func(code int, reason metav1.StatusReason) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: reason, Code: int32(code)})
	}
	if verb == "get" {
		i := slices.IndexFunc(l.secrets, func(s corev1.Secret) bool { return s.Name == path.Base(r.URL.Path) })
		if i < 0 {
			refuse(http.StatusNotFound, metav1.StatusReasonNotFound)
			return
		}
		_ = json.NewEncoder(w).Encode(l.secrets[i])
		return
	}
	if !l.lists {
		refuse(http.StatusForbidden, metav1.StatusReasonForbidden)
		return
	}
	var all []corev1.Secret
	for _, s := range l.secrets {
		label := r.URL.Query().Get("labelSelector")
		if _, has := s.Labels[label]; label == "" || has {
			if strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList") {
				s.Data, s.Type = nil, ""
			}
			all = append(all, s)
		}
	}
	from := 0
	_, _ = fmt.Sscan(r.URL.Query().Get("continue"), &from)
	list := corev1.SecretList{TypeMeta: metav1.TypeMeta{Kind: "SecretList", APIVersion: "v1"}}
	list.Items = all[from:min(from+l.page, len(all))]
	if from+l.page < len(all) {
		list.Continue = fmt.Sprint(from + l.page)
	}
	_ = json.NewEncoder(w).Encode(list)
}

// oneByOne hides that a store can list.
type oneByOne struct{ k *Kubernetes }

func (o oneByOne) Get(ctx context.Context, c fleet.Key, name fleet.SecretName) (fleet.SecretData, error) {
	return o.k.Get(ctx, c, name)
}

func (o oneByOne) Kept(ctx context.Context, c fleet.Key) ([]fleet.SecretName, error) {
	return o.k.Kept(ctx, c)
}

// said is what a store said of a secret, as text.
func said(s reconcile.StoredSecrets) map[string]string {
	out := make(map[string]string)
	for c, of := range s {
		for name, d := range of {
			out[c.String()+"-"+string(name)] = fmt.Sprintf("%q kept %v error %v", d.Data[fleet.TLSCertKey].Reveal(), d.Kept, d.Err)
		}
	}
	return out
}

// TestManySecretsAreListed: what a store has of many clusters takes a few requests, is
// the same as what it says one by one, and is got without the right to list as well.
func TestManySecretsAreListed(t *testing.T) {
	const clusters = 40
	l := &listing{lists: true, page: 25, requests: make(map[string]int)}
	secret := func(name, cluster string, data map[string][]byte) {
		s := corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name}, Data: data}
		if cluster != "" {
			s.Type, s.Labels = clusterv1.ClusterSecretType, map[string]string{clusterv1.ClusterNameLabel: cluster}
		}
		l.secrets = append(l.secrets, s)
	}
	var keys []fleet.Key
	for i := range clusters {
		name := fmt.Sprintf("c%02d", i)
		keys = append(keys, fleet.Key{Namespace: "prod", Name: name})
		for _, of := range fleet.Authorities() {
			secret(name+"-"+string(of), name, map[string][]byte{fleet.TLSCertKey: []byte(name)})
		}
	}
	secret("c00-kubeconfig", "c00", nil)                                                            // without content
	secret("c01-apiserver-etcd-client", "", map[string][]byte{fleet.TLSCertKey: []byte("brought")}) // by a person
	secret("release", "", map[string][]byte{"x": []byte("nobody's business")})
	server := httptest.NewServer(l)
	defer server.Close()
	k, err := openAt(kube.Access{Config: &rest.Config{Host: server.URL, QPS: -1}, Namespace: "prod"})
	if err != nil {
		t.Fatal(err)
	}
	want, err := reconcile.SecretsOf(t.Context(), oneByOne{k}, keys)
	if err != nil {
		t.Fatal(err)
	}
	if n := l.requests["get"]; n < 200 {
		t.Fatalf("one by one it takes %d requests", n)
	}
	clear(l.requests)
	got, err := reconcile.SecretsOf(t.Context(), k, keys)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(said(want), said(got)); diff != "" {
		t.Errorf("(-one by one +listed)\n%s", diff)
	}
	if l.requests["get"] > 1 || l.requests["list"] > 20 {
		t.Errorf("it took %v requests", l.requests)
	}
	l.lists = false
	clear(l.requests)
	if got, err = reconcile.SecretsOf(t.Context(), k, keys); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(said(want), said(got)); diff != "" {
		t.Errorf("without the right to list (-one by one +got)\n%s", diff)
	}
}
