package workload_test

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"fairlead.dev/providers/distribution/kubeadm/inside"
	"fairlead.dev/providers/workload"
)

// A connectProxy is an HTTP proxy that connects those who give the password.
type connectProxy struct {
	mu        sync.Mutex
	addresses []string // that were asked for
}

func (p *connectProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.addresses = append(p.addresses, r.Host)
	p.mu.Unlock()
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte("fleet:s3cret"))
	if r.Method != http.MethodConnect || r.Header.Get("Proxy-Authorization") != want {
		http.Error(w, "who are you", http.StatusProxyAuthRequired)
		return
	}
	to, err := net.Dial("tcp", r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	from, read, err := http.NewResponseController(w).Hijack() // what is read ahead belongs to the tunnel
	if err != nil {
		_ = to.Close()
		return
	}
	_, _ = io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { _, _ = io.Copy(to, read); _ = to.Close() }()
	_, _ = io.Copy(from, to)
	_ = from.Close()
}

// TestThroughProxy: where only a proxy reaches the API server, requests and the tunnel to
// etcd both go through it.
func TestThroughProxy(t *testing.T) {
	c := startEtcd(t)
	p := &connectProxy{}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	through, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	through.User = url.UserPassword("fleet", "s3cret")
	client := workload.New(workload.Options{
		Proxy: http.ProxyURL(through),
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			if address != through.Host {
				return nil, errors.New("no route to " + address)
			}
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
	})
	t.Cleanup(client.Close)
	if _, err := client.Observe(t.Context(), c.access); err != nil {
		t.Errorf("observe: %v", err)
	}
	p.mu.Lock()
	requests := len(p.addresses)
	p.mu.Unlock()
	got, err := inside.New(client).Members(t.Context(), c.access)
	if err != nil || len(got.Members) != 3 {
		t.Errorf("etcd: %v, %v", got, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if tunnels := p.addresses[requests:]; len(tunnels) == 0 || slices.Contains(tunnels, "") {
		t.Errorf("the proxy was asked for %q after the look", tunnels)
	}
}

// TestProxyRefuses: what the proxy says reaches people, and its password does not.
func TestProxyRefuses(t *testing.T) {
	c := startEtcd(t)
	server := httptest.NewServer(&connectProxy{})
	t.Cleanup(server.Close)
	through, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	through.User = url.UserPassword("fleet", "wr0ng")
	client := workload.New(workload.Options{Proxy: func(r *http.Request) (*url.URL, error) {
		if r.URL.Path != "" { // a request, and no tunnel
			return nil, nil
		}
		return through, nil
	}})
	t.Cleanup(client.Close)
	_, err = inside.New(client).Members(t.Context(), c.access)
	if err == nil || !strings.Contains(err.Error(), "407") || strings.Contains(err.Error(), "wr0ng") {
		t.Errorf("got %v, want what the proxy answered without the password", err)
	}
}
