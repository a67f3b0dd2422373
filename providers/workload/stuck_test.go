package workload_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"fairlead.dev/providers/workload"
)

// A balancer leads one connection to an API server whose etcd has gone, which takes
// requests and answers none. The next connection leads to another.
func TestAPIServerThatIsStuck(t *testing.T) {
	c := start(t)
	c.put(t, node("w-1", corev1.ConditionTrue, nil))
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
	var mu sync.Mutex
	first := ""
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if first == "" {
			first = r.RemoteAddr
		}
		stuck := r.RemoteAddr == first
		mu.Unlock()
		if stuck {
			<-r.Context().Done()
			return
		}
		proxy.ServeHTTP(rw, r)
	}))
	s.EnableHTTP2 = true // as API servers have it: one connection for all
	s.StartTLS()
	t.Cleanup(s.Close)
	a := c.access
	a.Kubeconfig = c.ca.kubeconfig(t, s.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), time.Now().Add(time.Hour))

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
