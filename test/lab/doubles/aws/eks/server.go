package eks

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// A server is an API server, as somebody reaches it.
type server struct {
	host  string // URL
	ca    []byte // PEM
	token string
	as    []tls.Certificate
}

// A refusal is an answer other than success.
type refusal struct {
	status int
	text   string
}

func (r refusal) Error() string { return r.text }

// call sends a request with a body of a type, and reads the answer. in and out may be nil.
func (s *server) call(ctx context.Context, method, path, kind string, in, out any) error {
	var body bytes.Buffer
	if in != nil {
		if err := json.NewEncoder(&body).Encode(in); err != nil {
			return err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, s.host+path, &body)
	if err != nil {
		return err
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	if s.token != "" {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, Certificates: s.as}}
	defer transport.CloseIdleConnections()
	const patience = 10 * time.Second
	resp, err := (&http.Client{Transport: transport, Timeout: patience}).Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return err
	case resp.StatusCode/100 != 2:
		return refusal{resp.StatusCode, fmt.Sprintf("%s %s: %s %s", method, path, resp.Status, answer)}
	case out == nil:
		return nil
	}
	return json.Unmarshal(answer, out)
}
