package workload_test

import (
	"cmp"
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm/inside"
	"fairlead.dev/providers/workload"
)

// balancer serves c on another address, but for requests that are stuck: these are
// taken and not answered.
func (c *cluster) balancer(t *testing.T, stuck func(*http.Request) bool) providers.Access {
	t.Helper()
	ended := make(chan struct{})
	a := c.front(t, func(_ http.ResponseWriter, r *http.Request) bool {
		if !stuck(r) {
			return false
		}
		select {
		case <-r.Context().Done():
		case <-ended:
		}
		return true
	})
	t.Cleanup(func() { close(ended) })
	return a
}

// front serves c on another address, but for requests that answer answers.
func (c *cluster) front(t *testing.T, answer func(http.ResponseWriter, *http.Request) bool) providers.Access {
	t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig(c.access.Kubeconfig.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(c.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = transport
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !answer(rw, r) {
			proxy.ServeHTTP(rw, r)
		}
	}))
	s.EnableHTTP2 = true // as API servers have it: one connection for all
	s.StartTLS()
	t.Cleanup(s.Close)
	a := c.access
	a.Kubeconfig = c.ca.kubeconfig(t, s.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), time.Now().Add(time.Hour))
	return a
}

// TestAPIServerThatIsStuck: a balancer leads one connection to an API server whose
// etcd has gone, which takes requests and answers none. The next connection leads to
// another.
func TestAPIServerThatIsStuck(t *testing.T) {
	c := start(t)
	c.put(t, node("w-1", corev1.ConditionTrue, nil))
	var mu sync.Mutex
	first := ""
	a := c.balancer(t, func(r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		first = cmp.Or(first, r.RemoteAddr)
		return r.RemoteAddr == first
	})
	const timeout = time.Second
	client := workload.New(workload.Options{Timeout: timeout})
	t.Cleanup(client.Close)
	if _, err := client.Observe(t.Context(), a); err == nil {
		t.Fatal("an API server that is stuck answered")
	}
	for end := time.Now().Add(patience); ; {
		w, err := client.Observe(t.Context(), a)
		if err == nil {
			if len(w.Nodes) != 1 {
				t.Errorf("nodes: %v", w.Nodes)
			}
			break
		}
		if time.Now().After(end) {
			t.Fatalf("no other connection was tried: %v", err)
		}
	}
}

// TestTunnelThatIsStuck: an API server that takes the request for a tunnel and
// answers nothing keeps no goroutine of whoever looks, once that gave up.
func TestTunnelThatIsStuck(t *testing.T) {
	c := startEtcd(t)
	asked := make(chan struct{}, 100)
	a := c.balancer(t, func(r *http.Request) bool {
		stuck := strings.HasSuffix(r.URL.Path, "/portforward")
		if stuck {
			asked <- struct{}{}
		}
		return stuck
	})
	client := workload.New(workload.Options{})
	t.Cleanup(client.Close)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := inside.New(client).Members(ctx, a)
		failed <- err
	}()
	<-asked
	cancel()
	if err := <-failed; err == nil {
		t.Fatal("an API server that is stuck answered")
	}
	eventually(t, "the end of the tunnel", func() bool {
		all := make([]byte, 1<<20)
		return !strings.Contains(string(all[:runtime.Stack(all, true)]), "dialPod")
	})
}

// TestNodesAreNotRemembered: which Nodes there are is not asked of the memory of an
// API server. One that is cut off from etcd has an old one, and a machine without a
// Node is deleted without a drain.
func TestNodesAreNotRemembered(t *testing.T) {
	c := start(t)
	var mu sync.Mutex
	var asked []string
	a := c.balancer(t, func(r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path == "/api/v1/nodes" {
			asked = append(asked, r.URL.Query().Get("resourceVersion"))
		}
		return false
	})
	client := workload.New(workload.Options{})
	t.Cleanup(client.Close)
	if _, err := client.Observe(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if d := gocmp.Diff([]string{""}, asked); d != "" {
		t.Errorf("versions of nodes that were asked for (-want +got):\n%s", d)
	}
}
