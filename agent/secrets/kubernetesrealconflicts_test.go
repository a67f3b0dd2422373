package secrets

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/test/lab/kube"
)

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
