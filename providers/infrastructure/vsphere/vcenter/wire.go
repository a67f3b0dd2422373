package vcenter

import (
	"context"
	"crypto/sha1" //nolint:gosec // thumbprints as vCenter and CAPV have them
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"fairlead.dev/providers/driver/transport"
)

// A Call is one request that was made of a vCenter, for metrics and tests.
type Call struct {
	Service string // "vim", "pbm" or "rest"
	Method  string // of the service: "RetrievePropertiesEx", or "POST /rest/com/vmware/…"
	Status  int    // of HTTP; 0 where there was no answer. SOAP tells a fault by 500
	Took    time.Duration
}

type methodKey struct{}

// withMethod notes in ctx which method of SOAP a request is for.
func withMethod(ctx context.Context, service, method string) context.Context {
	return context.WithValue(ctx, methodKey{}, [2]string{service, method})
}

// told is what requests go through below the rate. It says of one without an answer
// whether it left, and tells of each.
type told struct {
	base    http.RoundTripper
	observe func(Call)
}

// RoundTrip implements http.RoundTripper.
func (t *told) RoundTrip(r *http.Request) (*http.Response, error) {
	var left atomic.Bool
	ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{WroteHeaders: func() { left.Store(true) }})
	began := time.Now()
	resp, err := t.base.RoundTrip(r.WithContext(ctx))
	if t.observe != nil {
		t.observe(callOf(r, resp, time.Since(began)))
	}
	if err != nil && !left.Load() {
		return nil, &transport.UnsentError{Err: err}
	}
	return resp, err
}

// CloseIdleConnections closes them, as transport.Transport expects.
func (t *told) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// answers is what requests go through above the rate. It makes errors, with their words,
// of answers that are neither a result nor a fault of SOAP.
type answers struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := a.base.RoundTrip(r)
	if err != nil || resp.StatusCode < 300 || isSOAP(r) && resp.StatusCode == http.StatusInternalServerError {
		return resp, err
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	return nil, &statusError{Method: r.Method, Code: resp.StatusCode, Body: body}
}

func isSOAP(r *http.Request) bool { return r.Header.Get("SOAPAction") != "" }

func callOf(r *http.Request, resp *http.Response, took time.Duration) Call {
	c := Call{Service: "rest", Method: r.Method + " " + plainPath(r.URL.Path), Took: took}
	if m, ok := r.Context().Value(methodKey{}).([2]string); ok && isSOAP(r) {
		c.Service, c.Method = m[0], m[1]
	}
	if resp != nil {
		c.Status = resp.StatusCode
	}
	return c
}

// plainPath is path without ids, which would make each request another method.
func plainPath(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if strings.HasPrefix(p, "id:") || strings.Count(p, "-") >= 4 {
			parts[i] = "id"
		}
	}
	return strings.Join(parts, "/")
}

// A statusError is an answer that is neither a result nor a fault of SOAP.
type statusError struct {
	Method string // of HTTP
	Code   int
	Body   []byte
}

func (e *statusError) Error() string { return e.answer().String() }

func (e *statusError) answer() transport.Answer {
	return transport.Answer{Method: e.Method, Status: e.Code, Code: restCode(e.Body), Words: transport.Text(e.Body, restMessage)}
}

// A certificateError says that the server is not proven to be the one.
type certificateError struct {
	thumbprint string // of the server, SHA-256
	given      string
	err        error
}

func (e *certificateError) Error() string {
	if e.given != "" {
		return fmt.Sprintf("its certificate has not the thumbprint %s, but %s, and %v (where that is right, correct the thumbprint)", e.given, e.thumbprint, e.err)
	}
	return fmt.Sprintf("%v; its certificate has the thumbprint %s (where that is right, set the thumbprint)", e.err, e.thumbprint)
}

func (e *certificateError) Unwrap() error { return e.err }

// tlsConfig proves servers as c says.
func (c Credential) tlsConfig() *tls.Config {
	want := plainThumbprint(c.Thumbprint)
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		// Verified below: a thumbprint is good without an authority and for any name.
		InsecureSkipVerify: true, //nolint:gosec // as said
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 {
				return errors.New("it shows no certificate")
			}
			leaf := s.PeerCertificates[0]
			long := fmt.Sprintf("%X", sha256.Sum256(leaf.Raw))
			switch {
			case want == "" && c.Insecure:
				return nil
			case want != "" && (want == long || want == fmt.Sprintf("%X", sha1.Sum(leaf.Raw))): //nolint:gosec // as above
				return nil
			}
			between := x509.NewCertPool()
			for _, cert := range s.PeerCertificates[1:] {
				between.AddCert(cert)
			}
			_, err := leaf.Verify(x509.VerifyOptions{DNSName: s.ServerName, Intermediates: between})
			if err != nil {
				return &certificateError{thumbprint: colons(long), given: c.Thumbprint, err: err}
			}
			return nil
		},
	}
}

// colons writes a thumbprint as vCenter does.
func colons(t string) string {
	var out []string
	for i := 0; i < len(t); i += 2 {
		out = append(out, t[i:i+2])
	}
	return strings.Join(out, ":")
}
