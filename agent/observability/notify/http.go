package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

const (
	// patience is how long one message may take.
	patience = 30 * time.Second
	// maxAnswer bounds what is read of an answer, in bytes.
	maxAnswer = 64 << 10
)

// A refusal is an answer that says no.
type refusal struct {
	status int
	words  string
	after  time.Duration // when to ask again; 0: it does not say
}

// Error implements error.
func (r *refusal) Error() string {
	text := fmt.Sprintf("it answers %d %s", r.status, http.StatusText(r.status))
	if r.words != "" {
		text += ": " + r.words
	}
	return text
}

// A client sends requests to one address, which no error shows: it may be a secret.
type client struct {
	http    *http.Client
	address *url.URL
}

// newClient returns a client for c. CA certificates are added to the system's. Redirects are
// not followed: the credential is for the address alone.
func newClient(c Credentials) (client, error) {
	address, err := url.Parse(c.Address)
	if err != nil || address.Host == "" || address.Scheme != "https" && address.Scheme != "http" {
		return client{}, errors.New("its address is no URL that begins with https:// or http://")
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: patience, DisableKeepAlives: true}
	if len(c.Authorities) > 0 {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(c.Authorities) {
			return client{}, errors.New("its ca.crt has no certificate")
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return client{address: address, http: &http.Client{
		Transport: transport, Timeout: patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// send sends body as JSON to the address, with path added, and returns what is answered.
func (c client) send(ctx context.Context, method, path, contentType string, body any, header map[string]string) ([]byte, error) {
	content, ok := body.([]byte)
	if !ok {
		var err error
		if content, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	to := *c.address
	if path != "" {
		to = *c.address.JoinPath(path)
	}
	r, err := http.NewRequestWithContext(ctx, method, to.String(), bytes.NewReader(content))
	if err != nil {
		return nil, errors.New("its address cannot be asked")
	}
	r.Header.Set("Content-Type", contentType)
	for name, value := range header {
		r.Header.Set(name, value)
	}
	a, err := c.http.Do(r)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the URL
		}
		return nil, err
	}
	defer a.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(a.Body, maxAnswer))
	if a.StatusCode/100 == 2 {
		return answer, err
	}
	no := &refusal{status: a.StatusCode, words: string(answer)} // guarded makes it a line
	if seconds, err := strconv.Atoi(a.Header.Get("Retry-After")); err == nil && seconds > 0 {
		no.after = time.Duration(seconds) * time.Second
	}
	return nil, no
}
