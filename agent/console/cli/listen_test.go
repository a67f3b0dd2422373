package cli

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"fairlead.dev/agent/secrets/certs"
)

// Where a token or a certificate is required, only the probes are served without.
func TestMetricsAreGuarded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("one\n two \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) {})
	shown := &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{}}}}
	for name, c := range map[string]struct {
		flags    listenFlags
		path, by string
		tls      *tls.ConnectionState
		want     int
	}{
		"nothing is asked for":      {path: "/metrics", want: 200},
		"nothing is shown":          {listenFlags{token: file}, "/metrics", "", nil, 401},
		"a token":                   {listenFlags{token: file}, "/metrics", "Bearer one", nil, 200},
		"another":                   {listenFlags{token: file}, "/metrics", "Bearer two", nil, 200},
		"a wrong one":               {listenFlags{token: file}, "/metrics", "Bearer three", nil, 401},
		"none":                      {listenFlags{token: file}, "/metrics", "Bearer ", nil, 401},
		"otherwise":                 {listenFlags{token: file}, "/metrics", "Basic one", nil, 401},
		"profiles":                  {listenFlags{token: file}, "/debug/pprof/heap", "", nil, 401},
		"the cloud":                 {listenFlags{token: file}, "/inmemory/v1/vms/list", "", nil, 401},
		"a probe":                   {listenFlags{token: file}, "/healthz", "", nil, 200},
		"another probe":             {listenFlags{token: file}, "/readyz", "", nil, 200},
		"beside a probe":            {listenFlags{token: file}, "/healthz/../metrics", "", nil, 401},
		"a certificate":             {listenFlags{files: certs.Files{ClientCA: "ca"}}, "/metrics", "", shown, 200},
		"no certificate":            {listenFlags{files: certs.Files{ClientCA: "ca"}}, "/metrics", "", &tls.ConnectionState{}, 401},
		"one that nobody asked for": {listenFlags{token: file}, "/metrics", "", shown, 401},
		"a token instead":           {listenFlags{token: file, files: certs.Files{ClientCA: "ca"}}, "/metrics", "Bearer one", nil, 200},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := c.flags.pages("", false).Access.Protect(mux)
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.URL.Path, r.TLS = c.path, c.tls
			if c.by != "" {
				r.Header.Set("Authorization", c.by)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if got := w.Code; got != c.want && !(c.want == 200 && got < 400) {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

// A token is refused over plain HTTP, and so are combinations that make no sense.
func TestListenFlags(t *testing.T) {
	for name, c := range map[string]struct {
		flags   listenFlags
		address string
		ok      bool
	}{
		"plain":                     {listenFlags{}, ":8080", true},
		"a token over plain HTTP":   {listenFlags{token: "t"}, ":8080", false},
		"a token on this computer":  {listenFlags{token: "t"}, "127.0.0.1:8080", true},
		"a token over TLS":          {listenFlags{token: "t", files: certs.Files{Certificate: "c", Key: "k"}}, ":8080", true},
		"a certificate without key": {listenFlags{files: certs.Files{Certificate: "c"}}, ":8080", false},
		"clients' over plain HTTP":  {listenFlags{files: certs.Files{ClientCA: "ca"}}, ":8080", false},
		"series of all clusters":    {listenFlags{clusters: "all"}, ":8080", true},
		"series of some clusters":   {listenFlags{clusters: "some"}, ":8080", false},
	} {
		if c.flags.clusters == "" {
			c.flags.clusters = unhealthyClusters
		}
		if err := c.flags.check(c.address); (err == nil) != c.ok || err != nil && exitCode(err) != 64 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (&listenFlags{token: os.DevNull}).pages("", false).Access.Protect(http.NotFoundHandler()); err == nil {
		t.Error("a file without a token is taken")
	}
}
