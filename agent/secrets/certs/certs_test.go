package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// write makes a certificate of its own authority and writes it and its key.
func write(t *testing.T, f Files, serial int64) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), DNSNames: []string{"example.com"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, b := range map[string][]byte{
		f.Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		f.Key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	} {
		if err := os.WriteFile(file+".new", b, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil { // as a mounted Secret changes: another file
			t.Fatal(err)
		}
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func files(t *testing.T) Files {
	dir := t.TempDir()
	return Files{Certificate: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key")}
}

// A certificate is renewed without a restart; in the middle of that the old one serves.
func TestRenewed(t *testing.T) {
	f := files(t)
	first := write(t, f, 1)
	w, err := Watch(f)
	if err != nil {
		t.Fatal(err)
	}
	shown := func() int64 {
		c, err := w.Server(tls.NoClientCert).GetConfigForClient(nil)
		if err != nil {
			t.Fatal(err)
		}
		return c.Certificates[0].Leaf.SerialNumber.Int64()
	}
	if got := shown(); got != first.SerialNumber.Int64() {
		t.Errorf("it shows %d", got)
	}
	if err := os.WriteFile(f.Key, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := shown(); got != 1 {
		t.Errorf("with half a key it shows %d, want what was", got)
	}
	write(t, f, 2)
	if got := shown(); got != 2 {
		t.Errorf("after it was renewed it shows %d", got)
	}
}

// A replica is whoever has the same certificate, at whatever address.
func TestPeer(t *testing.T) {
	f, g := files(t), files(t)
	write(t, f, 1)
	write(t, g, 2)
	ours, err := Watch(f)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := Watch(g)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = ours.Server(tls.NoClientCert)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	for what, c := range map[string]struct {
		w    *Watched
		want string
	}{"a replica": {ours, ""}, "a stranger": {theirs, "another certificate"}} {
		client := http.Client{Transport: &http.Transport{TLSClientConfig: c.w.Peer()}}
		resp, err := client.Get(server.URL)
		if err == nil {
			_ = resp.Body.Close()
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestBadFiles(t *testing.T) {
	f := files(t)
	if _, err := Watch(f); err == nil || !strings.Contains(err.Error(), "certificate and key") {
		t.Errorf("no files: %v", err)
	}
	write(t, f, 1)
	f.ClientCA = f.Key
	if _, err := Watch(f); err == nil || !strings.Contains(err.Error(), "no CA certificate") {
		t.Errorf("no authority: %v", err)
	}
}
