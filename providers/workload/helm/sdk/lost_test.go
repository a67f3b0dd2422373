package sdk_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"fairlead.dev/fleet"
	"fairlead.dev/test/lab/kube"
)

// TestLostAnswers: a change that was carried out and got no answer is Unanswered. A read without
// an answer changed nothing, and is Unavailable.
func TestLostAnswers(t *testing.T) {
	y := newYard(t)
	proxy := newCutter(t, kube.Start(t))
	y.access.Kubeconfig = proxy.kubeconfig(t)
	for _, c := range []struct {
		name   string
		cut    string
		want   fleet.ErrorKind
		exists bool
	}{
		{"charts-lost", "write configmaps", fleet.Unanswered, true},
		{"charts-unread", "read secrets", fleet.Unavailable, false},
	} {
		y.begin()
		proxy.cut.Store(c.cut)
		f := y.install(y.release(c.name, nil))
		proxy.cut.Store("")
		if f.Failure != c.want {
			t.Errorf("%s: the change failed with %s %q, want %s", c.name, f.Failure, f.Message, c.want)
		}
		if exists := y.data(c.name) != nil; exists != c.exists {
			t.Errorf("%s: the ConfigMap exists: %v, want %v", c.name, exists, c.exists)
		}
	}
}

// A cutter leads to an API server, and cuts the connection in place of some answers.
type cutter struct {
	server *httptest.Server
	cut    atomic.Value // "read RESOURCE" or "write RESOURCE"
}

func newCutter(t *testing.T, k *kube.Server) *cutter {
	t.Helper()
	to, err := url.Parse(k.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(k.Config)
	if err != nil {
		t.Fatal(err)
	}
	c := new(cutter)
	c.cut.Store("")
	forward := httputil.NewSingleHostReverseProxy(to)
	forward.Transport = transport
	forward.ModifyResponse = func(r *http.Response) error {
		verb := map[bool]string{true: "read", false: "write"}[r.Request.Method == http.MethodGet]
		if what, resource, _ := strings.Cut(c.cut.Load().(string), " "); what == verb && strings.Contains(r.Request.URL.Path, "/"+resource) {
			panic(http.ErrAbortHandler)
		}
		return nil
	}
	c.server = httptest.NewServer(forward)
	t.Cleanup(c.server.Close)
	return c
}

func (c *cutter) kubeconfig(t *testing.T) fleet.Secret {
	t.Helper()
	b, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": []any{map[string]any{"name": "c", "cluster": map[string]any{"server": c.server.URL}}},
		"contexts": []any{map[string]any{"name": "c", "context": map[string]any{"cluster": "c", "user": "u"}}},
		"users":    []any{map[string]any{"name": "u", "user": map[string]any{}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return fleet.NewSecret(b)
}
