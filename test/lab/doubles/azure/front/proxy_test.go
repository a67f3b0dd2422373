package front_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"fairlead.dev/test/lab/doubles/azure/front"
)

// TestProxy: the names of Azure lead to the double, with its certificate, and others to where they are.
func TestProxy(t *testing.T) {
	c, err := front.Certificate()
	if err != nil {
		t.Fatal(err)
	}
	says := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { _, _ = io.WriteString(w, text+" of "+q.Host) })
	}
	p := front.NewProxy(says("the double"), c)
	server, other := httptest.NewServer(p), httptest.NewTLSServer(says("another"))
	defer server.Close()
	defer other.Close()
	roots := x509.NewCertPool()
	roots.AddCert(other.Certificate())
	if !roots.AppendCertsFromPEM(front.Authority(c)) {
		t.Fatal("the authority is no certificate")
	}
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(at), TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	defer client.CloseIdleConnections()
	elsewhere, err := url.Parse(other.URL)
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"https://management.azure.com/a": "the double of management.azure.com", "https://login.microsoftonline.com/b": "the double of login.microsoftonline.com",
		other.URL: "another of " + elsewhere.Host,
	} {
		for range 2 {
			res, err := client.Get(address)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if err != nil || string(text) != want {
				t.Errorf("%s: %q, %v, want %q", address, text, err, want)
			}
		}
	}
	if _, err := client.Get("https://127.0.0.1:1/"); err == nil {
		t.Error("what is not there answers")
	}
	if res, err := http.Get(server.URL); err != nil || res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("without CONNECT: %v, %v", res, err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	client.CloseIdleConnections()
	if _, err := client.Get("https://management.azure.com/a"); err == nil {
		t.Error("it answers after its end")
	}
}
