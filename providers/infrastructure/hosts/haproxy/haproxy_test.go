package haproxy_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"fairlead.dev/providers/infrastructure/hosts/haproxy"
	"fairlead.dev/test/run/needs"
	"fairlead.dev/test/run/waits"
)

func TestConfig(t *testing.T) {
	for name, test := range map[string]struct {
		balancer haproxy.Balancer
		want     string
	}{
		"None": {haproxy.Balancer{Address: "10.0.0.1", Port: 6443}, "\tbind *:6443\n"},
		"Name": {
			haproxy.Balancer{Address: "api.example.com", Port: 443, Servers: []haproxy.Server{{"cp-0", "a.example.com", 6443}}},
			"\tbind *:443\n\tserver cp-0 a.example.com:6443\n",
		},
		"IPv6": {
			haproxy.Balancer{Address: "fd00::1", Port: 6443, Servers: []haproxy.Server{{"cp-0", "fd00::2", 6443}, {"cp-1", "10.0.0.3", 8443}}},
			"\tbind :::6443 v4v6\n\tserver cp-0 [fd00::2]:6443\n\tserver cp-1 10.0.0.3:8443\n",
		},
		"More": {
			haproxy.Balancer{Address: "10.0.0.1", Port: 443, More: []int32{9345}, Servers: []haproxy.Server{{"cp-0", "10.0.0.2", 6443}}},
			"init-addr last,libc,none\n\tbind *:9345\n\tserver cp-0 10.0.0.2:9345\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			config, err := test.balancer.Config()
			if err != nil {
				t.Fatal(err)
			}
			got := string(config)
			if !strings.HasSuffix(got, test.want) || strings.Count(got, "\n\tbind ") != 1+len(test.balancer.More) {
				t.Errorf("Config() =\n%s\nwant it to end in\n%s", got, test.want)
			}
			if said, err := exec.CommandContext(t.Context(), "haproxy", "-c", "-f", write(t, got)).CombinedOutput(); err != nil && installed() {
				t.Errorf("haproxy -c: %v: %s", err, said)
			}
		})
	}
}

func installed() bool {
	_, err := needs.LookPath("haproxy")
	return err == nil
}

func write(t *testing.T, config string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "haproxy.cfg")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// An apiServer answers with its name, and says of itself whether it is ready.
type apiServer struct {
	*httptest.Server
	ready atomic.Int32 // a status
}

func newAPIServer(t *testing.T, name string) *apiServer {
	s := new(apiServer)
	s.ready.Store(http.StatusOK)
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" {
			w.WriteHeader(int(s.ready.Load()))
			return
		}
		_, _ = io.WriteString(w, name)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *apiServer) server(t *testing.T, name string) haproxy.Server {
	t.Helper()
	a := s.Listener.Addr().(*net.TCPAddr)
	return haproxy.Server{Name: name, Address: a.IP.String(), Port: int32(a.Port)}
}

// TestServers: the real HAProxy leads to API servers that are ready, and to no other.
func TestServers(t *testing.T) {
	if !installed() || os.Getuid() != 0 {
		t.Skip("it needs root and HAProxy: apt-get install haproxy")
	}
	one, two := newAPIServer(t, "one"), newAPIServer(t, "two")
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().(*net.TCPAddr)
	_ = l.Close() // HAProxy opens it again
	b := haproxy.Balancer{Address: "127.0.0.1", Port: int32(address.Port), Servers: []haproxy.Server{one.server(t, "one"), two.server(t, "two")}}
	config, err := b.Config()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "haproxy", "-db", "-f", write(t, string(config)))
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })

	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // it is a test's own
	}}
	// answered returns who answers eight requests in a row; "" is nobody.
	answered := func() map[string]bool {
		seen := make(map[string]bool)
		for range 8 {
			res, err := client.Get("https://" + address.String())
			if err != nil {
				seen[""] = true
				continue
			}
			name, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			seen[string(name)] = true
		}
		return seen
	}
	want := func(when string, names ...string) {
		t.Helper()
		var got map[string]bool
		for deadline := time.Now().Add(waits.Limit); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
			got = answered()
			all := len(got) == len(names)
			for _, n := range names {
				all = all && got[n]
			}
			if all {
				return
			}
		}
		t.Fatalf("%s: answers of %v, want %q", when, got, names)
	}
	want("both ready", "one", "two")
	one.ready.Store(http.StatusInternalServerError)
	want("one on its way out", "two")
	one.ready.Store(http.StatusUnauthorized)
	want("one that tells strangers nothing", "one", "two")
	two.Close()
	want("one gone", "one")
	one.ready.Store(http.StatusInternalServerError)
	want("none ready", "")
}

// TestUnsafe: what could be more than a name or an address is refused.
func TestUnsafe(t *testing.T) {
	good := haproxy.Server{Name: "cp-0", Address: "10.0.0.2", Port: 6443}
	for name, edit := range map[string]func(*haproxy.Server){
		"LineInName":    func(s *haproxy.Server) { s.Name = "cp-0\nprogram x" },
		"SpaceInName":   func(s *haproxy.Server) { s.Name = "cp-0 10.0.0.9:1" },
		"NoName":        func(s *haproxy.Server) { s.Name = "" },
		"Long":          func(s *haproxy.Server) { s.Name = strings.Repeat("x", 300) },
		"LineInAddress": func(s *haproxy.Server) { s.Address = "10.0.0.2\nlisten x" },
		"Variable":      func(s *haproxy.Server) { s.Address = "$HOME" },
		"Socket":        func(s *haproxy.Server) { s.Address = "unix@/run/x" },
		"Port":          func(s *haproxy.Server) { s.Port = 70000 },
	} {
		s := good
		edit(&s)
		if got, err := (haproxy.Balancer{Address: "10.0.0.1", Port: 6443, Servers: []haproxy.Server{good, s}}).Config(); err == nil {
			t.Errorf("%s: Config() =\n%s\nwant an error", name, got)
		}
	}
	if _, err := (haproxy.Balancer{Address: "10.0.0.1", Port: 6443, Servers: []haproxy.Server{good, good}}).Config(); err == nil {
		t.Error("Config() with two servers of one name worked")
	}
}
