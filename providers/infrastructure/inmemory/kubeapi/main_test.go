package kubeapi_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"testing"
	"time"

	"fairlead.dev/providers/infrastructure/inmemory/kubeapi"
)

// A ca is a throw-away authority.
type ca struct {
	cert    *x509.Certificate
	key     *ecdsa.PrivateKey
	certPEM []byte
	keyPEM  []byte
}

func newCA(t testing.TB, name string) ca {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return ca{cert, key, pemOf("CERTIFICATE", der), keyPEM(t, key)}
}

func pemOf(typ string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: typ, Bytes: der})
}

func keyPEM(t testing.TB, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pemOf("EC PRIVATE KEY", der)
}

// client returns a client certificate that expires after life from now.
func (c ca) client(t testing.TB, life time.Duration) (certPEM, key []byte) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(life),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, c.cert, k.Public(), c.key)
	if err != nil {
		t.Fatal(err)
	}
	return pemOf("CERTIFICATE", der), keyPEM(t, k)
}

// A cluster is a server under test, with a client that may do everything.
type cluster struct {
	*kubeapi.Server
	ca   ca
	url  string
	http *http.Client
}

func start(t testing.TB, change func(*kubeapi.Options)) *cluster {
	t.Helper()
	authority, etcd := newCA(t, "kubernetes"), newCA(t, "etcd-ca")
	o := kubeapi.Options{
		CACert: authority.certPEM, CAKey: authority.keyPEM,
		EtcdCACert: etcd.certPEM, EtcdCAKey: etcd.keyPEM,
		CertSANs: []string{"127.0.0.1"}, Version: "v1.34.1",
	}
	if change != nil {
		change(&o)
	}
	s, err := kubeapi.New(o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	c := &cluster{Server: s, ca: authority, url: "https://" + l.Addr().String()}
	cert, key := authority.client(t, time.Hour)
	c.http = c.client(t, cert, key)
	return c
}

func (c *cluster) client(t testing.TB, cert, key []byte) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(c.ca.cert)
	config := &tls.Config{RootCAs: roots}
	if cert != nil {
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	tr := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// do sends a request and returns the status and the decoded answer. The body is
// JSON text, its type application/json unless said otherwise.
func (c *cluster) do(t testing.TB, method, path, body string, contentType ...string) (int, map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, c.url+path, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if len(contentType) > 0 {
		req.Header.Set("Content-Type", contentType[0])
	}
	resp, err := c.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, raw)
	}
	return resp.StatusCode, out
}
