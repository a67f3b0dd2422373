package oci_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/oci"
	"fairlead.dev/sources/oci/ocitest"
)

// A pair is a certificate for this computer, which is its own authority, in PEM.
type pair struct{ cert, key []byte }

func newPair(t *testing.T, use x509.ExtKeyUsage) pair {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bot"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{use}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, &c, &c, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pair{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})}
}

// atServer returns the repository as the server at u has it, by the name localhost.
func atServer(u string, r ocitest.Repository) ocitest.Repository {
	r.URL = strings.Replace(u, "127.0.0.1", "localhost", 1)
	return r
}

// TestTLS: an authority of one's own, and a certificate of the client.
func TestTLS(t *testing.T) {
	registry := ocitest.New(t)
	r := registry.Repository("fleet")
	r.Artifact(t, "latest", at(1), files, nil)
	server, client, other := newPair(t, x509.ExtKeyUsageServerAuth), newPair(t, x509.ExtKeyUsageClientAuth), newPair(t, x509.ExtKeyUsageClientAuth)
	own, err := tls.X509KeyPair(server.cert, server.key)
	if err != nil {
		t.Fatal(err)
	}
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(client.cert)
	start := func(ask tls.ClientAuthType) string {
		s := httptest.NewUnstartedServer(registry)
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.TLS = &tls.Config{Certificates: []tls.Certificate{own}, ClientAuth: ask, ClientCAs: clients, MinVersion: tls.VersionTLS12}
		s.StartTLS()
		t.Cleanup(s.Close)
		return s.URL
	}
	plain, mutual := start(tls.NoClientCert), start(tls.RequireAndVerifyClientCert)
	auth := func(p pair) oci.Auth {
		return oci.Auth{Certificate: p.cert, CertificateKey: fleet.NewSecret(p.key)}
	}
	for name, c := range map[string]struct {
		url  string
		o    oci.Options
		good bool
		kind fleet.ErrorKind
	}{
		"its own authority":       {plain, oci.Options{CABundle: server.cert}, true, ""},
		"another authority":       {plain, oci.Options{CABundle: other.cert}, false, fleet.Unauthorized},
		"a client's certificate":  {mutual, oci.Options{CABundle: server.cert, Auth: auth(client)}, true, ""},
		"another one":             {mutual, oci.Options{CABundle: server.cert, Auth: auth(other)}, false, fleet.Unavailable},
		"none":                    {mutual, oci.Options{CABundle: server.cert}, false, fleet.Unavailable},
		"no authority of its own": {mutual, oci.Options{Auth: auth(client)}, false, fleet.Unauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			_, content, err := get(t, open(t, atServer(c.url, r), c.o))
			if !c.good {
				wantError(t, err, c.kind, "")
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := fs.Stat(content, "fleet.yaml"); err != nil {
				t.Error(err)
			}
		})
	}
	away := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.Contains(req.URL.Path, "/blobs/") {
			http.Redirect(w, req, registry.URL+req.URL.Path, http.StatusTemporaryRedirect)
			return
		}
		registry.ServeHTTP(w, req)
	}))
	away.TLS = &tls.Config{Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12}
	away.StartTLS()
	t.Cleanup(away.Close)
	_, _, err = get(t, open(t, atServer(away.URL, r), oci.Options{CABundle: server.cert}))
	wantError(t, err, fleet.Unauthorized, "refused to go on without TLS")
	for name, c := range map[string]struct {
		o     oci.Options
		words string
	}{
		"half a pair":       {oci.Options{Auth: oci.Auth{Certificate: client.cert}}, "both the certificate and its key"},
		"the wrong key":     {oci.Options{Auth: oci.Auth{Certificate: client.cert, CertificateKey: fleet.NewSecret(other.key)}}, "cannot be used"},
		"over plain http":   {oci.Options{Auth: auth(client), PlainHTTP: true}, "plain http"},
		"no authority":      {oci.Options{CABundle: []byte("x")}, "no certificate in PEM"},
		"no URL of a proxy": {oci.Options{Proxy: fleet.NewSecret([]byte("ftp://secret@x"))}, "is no URL of http, https or socks5"},
	} {
		c.o.URL = r.OCI()
		_, err := oci.New(c.o)
		wantError(t, err, fleet.Invalid, c.words)
		if strings.Contains(fmt.Sprint(err), "secret") {
			t.Errorf("%s: shows a secret: %v", name, err)
		}
	}
}

// TestProxy: the registry is reached through a proxy, which asks who it is.
func TestProxy(t *testing.T) {
	registry := ocitest.New(t)
	r := registry.Repository("fleet")
	r.Artifact(t, "latest", at(1), files, nil)
	var mu sync.Mutex
	asked := 0
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		probe := &http.Request{Header: http.Header{"Authorization": req.Header["Proxy-Authorization"]}}
		if user, password, _ := probe.BasicAuth(); user != "bot" || password != "secret" {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		mu.Lock()
		asked++
		mu.Unlock()
		registry.ServeHTTP(w, req)
	}))
	t.Cleanup(proxy.Close)
	through := func(user *url.Userinfo) fleet.Secret {
		u, err := url.Parse(proxy.URL)
		if err != nil {
			t.Fatal(err)
		}
		u.User = user
		return fleet.NewSecret([]byte(u.String()))
	}
	// The name is one that the proxy alone knows.
	there := ocitest.Repository{URL: "http://registry.invalid", Name: r.Name}
	if _, _, err := get(t, open(t, there, oci.Options{PlainHTTP: true, Proxy: through(url.UserPassword("bot", "secret"))})); err != nil || asked == 0 {
		t.Errorf("%d requests, %v", asked, err)
	}
	_, _, err := get(t, open(t, there, oci.Options{PlainHTTP: true, Proxy: through(url.UserPassword("bot", "wrong"))}))
	wantError(t, err, fleet.Unavailable, "407")
	if strings.Contains(fmt.Sprint(err), "wrong") {
		t.Errorf("shows the password: %v", err)
	}
}

// TestTokens: a registry that sends clients for a token, one that takes tokens itself, and
// one that keeps its content elsewhere, where no credential goes.
func TestTokens(t *testing.T) {
	registry := ocitest.New(t)
	r := registry.Repository("fleet")
	r.Artifact(t, "latest", at(1), files, nil)
	var mu sync.Mutex
	var elsewhere []string // what came there as Authorization
	cdn := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		elsewhere = append(elsewhere, req.Header.Get("Authorization"))
		mu.Unlock()
		req.URL.Path = strings.TrimPrefix(req.URL.Path, "/cdn")
		registry.ServeHTTP(w, req)
	}))
	t.Cleanup(cdn.Close)
	front := httptest.NewServer(nil)
	t.Cleanup(front.Close)
	front.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		user, password, _ := req.BasicAuth()
		switch {
		case req.URL.Path == "/token" && (user == "bot" && password == "secret" || req.PostFormValue("refresh_token") == "identity"):
			_, _ = io.WriteString(w, `{"token":"t","access_token":"t"}`)
		case req.URL.Path == "/token":
			w.WriteHeader(http.StatusUnauthorized)
		case req.Header.Get("Authorization") != "Bearer t":
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+front.URL+`/token",service="fleet",scope="repository:fleet:pull"`)
			w.WriteHeader(http.StatusUnauthorized)
		case strings.Contains(req.URL.Path, "/blobs/"):
			http.Redirect(w, req, strings.Replace(cdn.URL, "127.0.0.1", "localhost", 1)+"/cdn"+req.URL.Path, http.StatusTemporaryRedirect)
		default:
			registry.ServeHTTP(w, req)
		}
	})
	secret := func(s string) fleet.Secret { return fleet.NewSecret([]byte(s)) }
	for name, c := range map[string]struct {
		auth oci.Auth
		good bool
	}{
		"a user":            {oci.Auth{Username: "bot", Password: secret("secret")}, true},
		"a wrong password":  {oci.Auth{Username: "bot", Password: secret("wrong")}, false},
		"nobody":            {oci.Auth{}, false},
		"a token":           {oci.Auth{Bearer: secret("t")}, true},
		"a wrong token":     {oci.Auth{Bearer: secret("wrong")}, false},
		"an identity token": {oci.Auth{Refresh: secret("identity")}, true},
		"a wrong identity":  {oci.Auth{Refresh: secret("wrong")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := get(t, open(t, ocitest.Repository{URL: front.URL, Name: r.Name}, oci.Options{Auth: c.auth}))
			if c.good != (err == nil) || err != nil && (fleet.KindOf(err) != fleet.Unauthorized || strings.Contains(err.Error(), "wrong")) {
				t.Errorf("got %v of kind %q", err, fleet.KindOf(err))
			}
		})
	}
	if len(elsewhere) == 0 || strings.Join(elsewhere, "") != "" {
		t.Errorf("where the content is kept there came %q", elsewhere)
	}
}
